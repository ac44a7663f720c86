"""The facts about each provider. A row says where each fact is from.

(D) the provider's documentation, (S) the types of its own SDK, (E) the text of an error of its API, as several projects
report it. Read in November 2026.
"""

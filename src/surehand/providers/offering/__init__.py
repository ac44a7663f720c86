"""The tools of a view, made to fit a provider: names, schemas, descriptions, limits; and the way back."""

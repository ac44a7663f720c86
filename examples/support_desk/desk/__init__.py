"""The shop's side: its database, and the tools that a support desk works with."""

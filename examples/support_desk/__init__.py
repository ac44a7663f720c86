"""A shop's support desk: an agent's calls, played through Surehand on a real database. See README.md."""

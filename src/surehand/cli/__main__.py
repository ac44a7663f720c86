"""`python -m surehand.cli`: the same as the program `surehand`."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    main()

"""The command line: one file a command group, and the only room that knows Typer and Rich.

Reads the project file, opens an engine, makes one request, and prints the answer for people or as one JSON document.
Never decides anything: what a command may do is for the engine and its policies to say.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of the program `surehand`."""
    try:
        from .app import run

        code = run(sys.argv[1:], ends=True)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)

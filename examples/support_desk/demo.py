"""Where the demo starts: `python -m examples.support_desk`, this file as a script, or `surehand demo`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "support_desk"


def run(argv: Sequence[str] | None = None) -> int:
    """Plays the demo.

    Returns:
        0 if exactly the refunds exist that should and the audit verifies, 1 if not, 2 if the folder cannot be used,
        130 after Ctrl-C.
    """
    return importlib.import_module(".perform", __package__ or _package()).run(argv)


def _package() -> str:
    """Makes a package of this folder, wherever it is and whatever it is called: this file was loaded by itself."""
    folder = Path(__file__).resolve().parent
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return NAME


if __name__ == "__main__":
    raise SystemExit(run())

"""`surehand demo`: plays the support desk example."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .failures import FAILED
from .session import Session

_PACKAGED = Path(__file__).with_name("_support_desk")
_CHECKOUT = Path(__file__).parents[3] / "examples" / "support_desk"


def demo(
    ctx: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="For the example itself.")] = None,
) -> int:
    """Show the engine at work: a model's calls on a shop's support desk, each decided, done once, and recorded."""
    session = Session(ctx.obj)
    argv = list(arguments or [])
    if not session.json:
        return _play(argv)
    with contextlib.redirect_stdout(sys.stderr):
        code = _play(argv)
    session.out.document({"exit_code": code})
    return code


def _play(argv: list[str]) -> int:
    folder = next((place for place in (_PACKAGED, _CHECKOUT) if (place / "demo.py").is_file()), None)
    if folder is None:
        raise ConfigError("the support desk example is not part of this installation; run the demo from a checkout")
    spec = importlib.util.spec_from_file_location("surehand_demo", folder / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return int(module.run(argv))
    except SystemExit as ended:  # an argument parser's way to say that arguments are wrong
        return ended.code if isinstance(ended.code, int) else FAILED

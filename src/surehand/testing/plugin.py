"""Fixtures for whoever tests tools and agents with pytest: `surehand_engine`, `scripted_model`, `surehand_clock`.

pytest loads this wherever Surehand is installed, so it imports nothing of weight until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from ..engine import Engine
    from ..spec import Tool
    from .clock import FakeClock
    from .scripted import ScriptedModel, Seen, StepLike


@pytest.fixture
def surehand_clock() -> FakeClock:
    """A clock that goes on when it is told to: `surehand_clock.advance(hours=1)`."""
    from .clock import FakeClock

    return FakeClock()


@pytest.fixture
def surehand_engine(tmp_path: Path) -> Callable[..., Engine]:
    """Makes engines on an SQLite file of the test's own.

        async with surehand_engine(refund, cedar="...") as engine:

    Arguments are tools, `cedar` (the text of policies), and whatever else `surehand.open_engine` takes. Engines of one
    test share the file, as processes would.
    """

    def make(*tools: Tool, cedar: str = "", **options: Any) -> Engine:
        from ..compose import open_engine
        from ..policy import PolicySource

        if cedar and "policies" in options:
            raise TypeError("surehand_engine takes the text of policies as cedar, or policies, not both")
        given: dict[str, Any] = {"store": f"sqlite:///{tmp_path / 'surehand.db'}", "tools": tools, **options}
        if cedar:
            given["policies"] = [PolicySource("test.cedar", cedar)]
        return open_engine(**given)

    return make


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> Generator[Callable[..., ScriptedModel]]:
    """Makes scripted models: `scripted_model({"calls": [...]}, "Done.")`, or `scripted_model(path)` for a script file.

    Keywords are those of `ScriptedModel`. When the test has passed, each must have been played to its end.
    """
    from .scripted import ScriptedModel

    made: list[ScriptedModel] = []
    failed_before = request.session.testsfailed

    def make(*steps: StepLike | Path | Callable[[Seen], StepLike], **options: Any) -> ScriptedModel:
        first = steps[0] if len(steps) == 1 else None
        if isinstance(first, Path):
            model = ScriptedModel.from_file(first, **options)
        elif any(isinstance(step, Path) for step in steps):
            raise TypeError("scripted_model takes steps, or one path and nothing else")
        else:
            model = ScriptedModel(cast("tuple[StepLike, ...]", steps), **options)
        made.append(model)
        return model

    yield make
    if request.session.testsfailed == failed_before:
        for model in made:
            model.assert_done()

"""The pytest plugin, as it is loaded from the installed package, and the exports."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import surehand as sh
import surehand.testing
from surehand.testing import FakeClock, ScriptedModel, assert_decision

pytest_plugins = ["pytester"]

ALICE = sh.Caller(id="alice", tenant="acme")


@sh.tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def call() -> sh.ToolCall:
    return sh.ToolCall(id="c1", name="add", arguments={"a": 1, "b": 2})


async def test_an_engine_of_the_tests_own(surehand_engine: Callable[..., sh.Engine], tmp_path: Path) -> None:
    async with surehand_engine(add) as engine:
        assert (await engine.call(call(), ALICE)).structured == 3
    assert (tmp_path / "surehand.db").exists()
    async with surehand_engine(add) as engine:
        assert len(await engine.services.store.list_audit("acme")) == 1


async def test_an_engine_with_policies_and_a_clock(
    surehand_engine: Callable[..., sh.Engine], surehand_clock: FakeClock
) -> None:
    cedar = '@id("no") @reason("no sums") forbid (principal, action == Action::"call/add", resource);'
    async with surehand_engine(add, cedar=cedar, clock=surehand_clock) as engine:
        assert engine.services.clock is surehand_clock
        await assert_decision(engine, ALICE, call(), "deny", policies=["no"])
    with pytest.raises(TypeError, match="not both"):
        surehand_engine(add, cedar=cedar, policies="policies/")


def test_an_engine_without_an_event_loop(surehand_engine: Callable[..., sh.Engine]) -> None:
    with surehand_engine(add).sync as hand:
        assert hand.call(call(), ALICE).structured == 3


async def test_scripted_models(scripted_model: Callable[..., ScriptedModel], tmp_path: Path) -> None:
    model = scripted_model("One.", {"fail": 500}, dialect="anthropic", name="m")
    assert (await model.complete({}))["content"] == [{"type": "text", "text": "One."}]
    with pytest.raises(Exception, match="500"):
        await model.complete({})
    path = tmp_path / "script.json"
    path.write_text('{"steps": [{"text": "Two."}]}', encoding="utf-8")
    assert (await scripted_model(path).complete({}))["choices"][0]["message"]["content"] == "Two."
    with pytest.raises(TypeError, match="one path and nothing else"):
        scripted_model("One.", path)


def test_a_script_must_be_played_to_its_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio

        def test_played(scripted_model):
            asyncio.run(scripted_model("One.").complete({}))

        def test_not_played(scripted_model):
            scripted_model("One.")

        def test_swallowed(scripted_model):
            try:
                asyncio.run(scripted_model().complete({}))
            except AssertionError:
                pass

        def test_failed_by_itself(scripted_model):
            scripted_model("One.")
            raise ValueError("of its own")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:asyncio")
    result.assert_outcomes(passed=3, failed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*ScriptError: script: 1 of 1 steps were not played: 'One.'",
            "*ScriptError: script, the script ended after 0 steps, but the model was asked again.",
            "*ValueError: of its own",
        ]
    )


def test_the_plugin_is_light() -> None:
    listing = (
        "import pytest, sys; before = {*sys.modules}; import surehand.testing.plugin; print(*{*sys.modules} - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in loaded if "surehand" in name} == {
        "surehand",
        "surehand.lazy",
        "surehand.testing",
        "surehand.testing.plugin",
    }
    assert len(loaded) < 10


def test_what_is_exported() -> None:
    assert dir(surehand.testing) == sorted(surehand.testing.__all__)
    for name in surehand.testing.__all__:
        assert getattr(surehand.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = surehand.testing.Nothing  # pyright: ignore[reportAttributeAccessIssue]

"""Whatever an application passes to the engine's faces, a wrong argument is named, and nothing is done."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import surehand as sh
from tests.desk import Desk, pay_tool

OLGA = sh.Caller(id="olga", tenant="acme", roles=["admin", "auditor", "operator"])
FACES = ("approvals", "artifacts", "audit", "control", "grants", "limits", "runs", "unknown")
WRONG: dict[str, list[Any]] = {
    "str": [None, 5, b"x"],
    "str | None": [5],
    "bool": ["no", 1],
    "Caller": [None, "olga"],
    "Iterable[str]": ["beta"],
    "int": [None, "5", 1.5, True, -1, 10**30],
}
FIT: dict[str, Any] = {"str": "x", "Caller": OLGA, "int": 5, "float": 1.0}


def required(method: Any) -> dict[str, Any]:
    """Arguments that fit, for each parameter that needs one."""
    given = {name: one for name, one in inspect.signature(method).parameters.items() if one.default is one.empty}
    return {name: FIT.get(str(one.annotation)) for name, one in given.items()}


async def test_every_face_names_the_argument_that_is_wrong(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    methods = [
        *(getattr(engine, name) for name in ("resume", "wait", "undo")),
        *(
            method
            for face in FACES
            for name, method in inspect.getmembers(getattr(engine, face), inspect.iscoroutinefunction)
            if not name.startswith("_")
        ),
    ]
    tried = 0
    for method in methods:
        for name, parameter in inspect.signature(method).parameters.items():
            annotation = str(parameter.annotation)
            if annotation == "int" and name != "limit":
                continue
            for wrong in WRONG.get(annotation, ()):
                with pytest.raises(sh.ConfigError, match=f"{method.__name__}: {name} must be "):
                    await method(**{**required(method), name: wrong})
                tried += 1
    assert tried > 250
    assert {one.by for one in await engine.control.history(by=OLGA)} == {"surehand"}


@pytest.mark.parametrize("given", ["permit", [("a", "b")], [None]])
async def test_only_policies_are_published(desk: Desk, open_desk: Any, given: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(sh.ConfigError, match="sources must be PolicySource"):
        await engine.control.publish_policies(given, by=OLGA)


@pytest.mark.parametrize("given", [{"percent": "5"}, {"percent": None}, {"callers": [5]}, {"roles": [""]}])
async def test_a_trial_is_for_somebody_who_can_be(desk: Desk, open_desk: Any, given: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk, stage="canary"))
    with pytest.raises(sh.RegistryError) as refused:
        await engine.control.canary("pay", "1.0.0", by=OLGA, **given)
    assert refused.value.code == "not_permitted"


async def test_a_missing_argument_stays_an_error_of_the_caller(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk))
    with pytest.raises(TypeError, match="by"):
        await engine.control.kill(tool="pay", reason="x")  # pyright: ignore[reportCallIssue]

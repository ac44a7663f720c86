"""`open_engine`: every argument that cannot be is refused by name, and nothing is passed over."""

from pathlib import Path
from typing import Any

import pytest

import surehand as sh

CEDAR = """
@id("no-pay") @reason("not today")
forbid (principal, action == Action::"call/pay", resource);
"""


@sh.tool(key=["order"])
async def pay(order: str) -> str:
    """Pays an order."""
    return f"paid {order}"


def plain(order: str) -> str:
    """Is no tool."""
    return order


class Cap(sh.Interceptor):
    """Blocks everything."""

    async def before(self, call: sh.Proposed) -> sh.Block:
        """Blocks."""
        return sh.Block("capped")


class Idle(sh.Interceptor):
    """Misspells its method."""

    def befor(self, call: sh.Proposed) -> None:
        """Is never called."""


ANN = sh.Caller(id="ann", tenant="acme")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tools": [plain]}, "tools: 'plain' is not a tool; decorate it with @sh.tool"),
        ({"tools": pay}, "tools must be a list; put Tool 'pay' in brackets"),
        ({"tools": "desk"}, "tools must be a list of tools"),
        ({"tools": ["desk"]}, "tools: 'desk' is a string; modules are named in"),
        ({"tools": [pay.spec]}, "tools: 'pay' is a contract without a handler"),
        ({"tools": [1]}, "tools: 1 is not a tool"),
        ({"tools": 1}, "tools must be a list of tools"),
        ({"tools": {"pay": pay}}, "tools must be a list of tools"),
        ({"store": "refunds.db"}, "store: 'refunds.db' is not a URL; for a file write 'sqlite:///refunds.db'"),
        ({"store": ""}, "store: that is not a URL"),
        ({"store": "user:secret@host/db"}, "store: that is not a URL"),
        ({"store": "sqlite:///a\0b"}, "store must not hold a NUL"),
        ({"store": 5}, "store must have the method open"),
        ({"store": sh.Store}, "store is the class Store; pass an instance"),
        ({"policies": sh.PolicySource("a.cedar", CEDAR)}, "policies must be a list; put PolicySource 'a.cedar' in"),
        ({"policies": CEDAR}, 'is the text of policies, and a string is their path; pass [sh.PolicySource("name'),
        ({"policies": ["policies/"]}, "policies: 'policies/' stands in a list, which holds sh.PolicySource"),
        ({"policies": [1]}, "policies: 1 is not a sh.PolicySource"),
        ({"policies": [sh.PolicySource("a", 1)]}, "must be strings"),  # pyright: ignore[reportArgumentType]
        ({"policies": 1}, "policies must be a list of a path"),
        ({"policies": "a\0b"}, "cannot be a path"),
        ({"policies": "x" * 300}, "policies: "),
        ({"settings": {}}, "settings must be sh.Settings(...), not {}"),
        ({"registry": {}}, "registry must be a sh.Registry(), not {}"),
        ({"interceptors": [Cap]}, "interceptors: Cap is a class; pass an instance: Cap(...)"),
        ({"interceptors": Cap()}, "interceptors must be a list; put Interceptor Cap() in brackets"),
        ({"interceptors": [Idle()]}, "interceptors: Idle overrides neither before nor after"),
        ({"interceptors": [plain]}, "is no interceptor; derive its class from sh.Interceptor"),
        ({"resolver": plain}, "resolver must have the method refresh"),
        ({"clock": 5}, "clock must have the method now_us"),
        ({"settings": sh.Settings(keys="k", anchor="./k")}, "anchor and keys are the same file"),
        ({"settings": sh.Settings(keys="x.anchor")}, "anchor and keys are the same file"),
        ({"settings": sh.Settings(keys="s.db")}, "and keys are the same file"),
        ({"settings": sh.Settings(anchor="s.db-wal")}, "and anchor are the same file"),
        ({"settings": sh.Settings(keys=".")}, "keys: "),
        ({"settings": sh.Settings(keys="~nobody-of-that-name/k")}, "keys: "),
    ],
)
def test_an_argument_that_cannot_be_is_refused(
    given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"store": "sqlite:///s.db", **given}
    with pytest.raises((sh.ConfigError, sh.PolicyError), match=r".") as refused:
        sh.open_engine(**options)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    if said.endswith("same file"):
        assert list(tmp_path.iterdir()) == []


def test_one_file_by_two_names_is_one_file(tmp_path: Path) -> None:
    with_keys = sh.Settings(keys=str(tmp_path / "keys"))
    sh.open_engine(store="sqlite://", settings=with_keys)
    (tmp_path / "other").hardlink_to(tmp_path / "keys")
    (tmp_path / "third").symlink_to(tmp_path / "keys")
    before = (tmp_path / "keys").read_bytes()
    for name in ("other", "third"):
        with pytest.raises(sh.ConfigError, match="same file"):
            sh.open_engine(
                store="sqlite://", settings=sh.Settings(keys=str(tmp_path / "keys"), anchor=str(tmp_path / name))
            )
    assert (tmp_path / "keys").read_bytes() == before


async def test_a_store_may_be_a_path(tmp_path: Path) -> None:
    async with sh.open_engine(store=tmp_path / "s.db", tools=[pay]) as engine:
        assert (await engine.call(sh.ToolCall(id="1", name="pay", arguments={"order": "7"}), ANN)).content == "paid 7"
    assert (tmp_path / "s.db.keys").exists()


async def test_what_settings_say_holds_unless_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.cedar").write_text(CEDAR, encoding="utf-8")
    settings = sh.Settings(store="sqlite:///own.db", policies="no.cedar")
    call = sh.ToolCall(id="1", name="pay", arguments={"order": "1"})
    async with sh.open_engine(settings=settings, tools=[pay]) as engine:
        assert (await engine.call(call, ANN)).status in ("denied", "error")
    assert (tmp_path / "own.db").exists()
    async with sh.open_engine(settings=settings, tools=[pay], policies=[], store="sqlite://") as engine:
        assert (await engine.call(call, ANN)).status == "ok"


async def test_policies_from_a_generator_hold_for_every_catalog() -> None:
    sources: Any = (sh.PolicySource(name, CEDAR) for name in ["a.cedar"])
    async with sh.open_engine(store="sqlite://", tools=[pay], policies=sources) as engine:

        @sh.tool(read_only=True)
        async def look() -> str:
            """Changes the catalog."""
            return ""

        engine.registry.register(look)
        await engine.view(ANN)
        assert "no-pay" in engine.policies.rules

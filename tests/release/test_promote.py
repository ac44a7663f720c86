"""Nothing that is not fit is promoted, nor anything that moved since somebody read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.release import CheckedControl, diff, read_samples
from tests.release.test_check import ALL, pay_tool

pytestmark = pytest.mark.timeout(60)


@dataclass
class Recorded:
    """A control plane that notes what it was asked for."""

    asked: list[Any] = field(default_factory=list[Any])

    async def promote(self, name: str, version: str, **options: Any) -> str:
        self.asked.append((name, version, options["to"]))
        return "done"

    async def disable(self, name: str, version: str, **options: Any) -> str:
        self.asked.append((name, version, "disabled"))
        return "done"

    async def deprecate(self, name: str, version: str, **options: Any) -> str:
        self.asked.append((name, version, "deprecated"))
        return "done"


ADMIN = sh.Caller(id="ada", tenant="acme", roles=["admin"])


async def test_only_a_green_version_is_promoted(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(
        pay_tool(desk.done), pay_tool(desk.done, version="2.0.0", owner=None, health_check=None, stage="draft")
    )
    plane = Recorded()
    control = CheckedControl(engine, plane, alerts=True)
    with pytest.raises(sh.RegistryError) as refused:
        await control.promote("pay", "2.0.0", to="active", by=ADMIN)
    assert refused.value.code == "checks_failed"
    assert [line.split(":")[0] for line in str(refused.value).splitlines()[1:]] == [
        "  - owner", "  - health", "  - rollback",
    ]  # fmt: skip
    assert plane.asked == []
    assert await control.promote("pay", "1.0.0", to="active", by=ADMIN, rollback="2.0.0") == "done"
    assert await control.promote("pay", "2.0.0", to="disabled", by=ADMIN) == "done"  # taking away needs no check
    assert plane.asked == [("pay", "1.0.0", "active"), ("pay", "2.0.0", "disabled")]


async def test_who_may_not_publish_runs_nothing(open_desk: Any, desk: Any) -> None:
    engine, plane = await open_desk(pay_tool(desk.done)), Recorded()
    guest = sh.Caller(id="gus", tenant="acme", roles=["auditor"], scopes=["pay"])
    for to in ("test", "canary", "active"):
        with pytest.raises(sh.NotAllowedError, match=r"gus may not promote pay@1\.0\.0, since checks run its handler"):
            await CheckedControl(engine, plane, alerts=True).promote("pay", "1.0.0", to=to, by=guest)
    assert (plane.asked, desk.done) == ([], [])


async def test_what_moved_since_it_was_read_is_not_promoted(open_desk: Any, desk: Any) -> None:
    first, second = pay_tool(desk.done), pay_tool(desk.done, version="2.0.0", stage="draft")
    engine = await open_desk(first, second)
    plane = Recorded()
    control = CheckedControl(engine, plane, alerts=True)
    read = diff(first, second, policies=engine.policies)
    # The version is exchanged after it was read: the same name, another implementation behind it.
    engine.registry.replace(pay_tool(desk.done, version="2.0.0", stage="draft", credential="root"))
    for expect in (read.hash, read.hash[:12], "0" * 64, read.hash[:7]):
        with pytest.raises(sh.RegistryError) as refused:
            await control.promote("pay", "2.0.0", to="canary", by=ADMIN, rollback="1.0.0", expect=expect)
        assert refused.value.code == "moved"
    assert plane.asked == []
    read_again = await control.check("pay", "2.0.0", to="canary", rollback="1.0.0")
    assert read_again.diff is not None
    assert read_again.hash == read_again.diff.hash != read.hash
    await control.promote("pay", "2.0.0", to="canary", by=ADMIN, rollback="1.0.0", expect=read_again.hash[:12])
    assert plane.asked == [("pay", "2.0.0", "canary")]


async def test_what_moves_while_it_is_checked_is_not_promoted(open_desk: Any, desk: Any) -> None:
    engine: Any = None

    def exchange() -> bool:
        engine.registry.replace(pay_tool(desk.done, version="2.0.0", stage="draft", credential="root"))
        return True

    engine = await open_desk(
        pay_tool(desk.done), pay_tool(desk.done, version="2.0.0", stage="draft", health_check=exchange)
    )
    plane = Recorded()
    with pytest.raises(sh.RegistryError) as refused:
        await CheckedControl(engine, plane, alerts=True).promote(
            "pay", "2.0.0", to="canary", by=ADMIN, rollback="1.0.0"
        )
    assert (refused.value.code, plane.asked) == ("moved", [])


FILE = """
[[sample]]
tool = "pay"
kind = "good"
caller = "alice"
arguments = { order = "A-1", cents = 500 }

[[sample]]
tool = "pay@2.0.0"
kind = "denied"
caller = { tenant = "acme", roles = ["guest"] }
code = "POLICY_DENIED"

[[sample]]
tool = "refund"
kind = "slow"
timeout_s = 0.5
"""


def test_samples_of_a_file(tmp_path: Path, desk: Any) -> None:
    file = tmp_path / "samples.toml"
    file.write_text(FILE, encoding="utf-8")
    good, denied = read_samples(file, "pay", "2.0.0", callers={"alice": desk.alice})
    assert (good.kind, good.caller, good.arguments) == ("good", desk.alice, {"order": "A-1", "cents": 500})
    assert denied.caller == sh.Caller(id="sample", tenant="acme", roles=["guest"])
    assert len(read_samples(file, "pay", "1.0.0", callers={"alice": desk.alice})) == 1
    assert read_samples(file, "refund", callers={"alice": desk.alice})[0].timeout_s == 0.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[sample]]\nkind = 'good'", "sample 1: tool is missing"),
        ("[[sample]]\ntool = 'pay'", "sample 1: kind is missing"),
        ("[[sample]]\ntool = 'pay'\nkind = 'god'", "did you mean 'good'?"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\ncode = 'NO'", "code must be one of"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\ntimeout_s = 1", "for kind='slow' only"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\ncaller = 'bob'", "there is no caller 'bob'; there is alice"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\ncaller = 7", "caller must be a name, or a table"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\narguments = 7", "arguments must be a mapping"),
        ("[[sample]]\ntool = 'pay'\nkind = 'good'\nargs = {}", "there is no key 'args'"),
        ("[sample]\ntool = 'pay'", "as a table [[sample]]"),
        ("rows = 1", "as a table [[sample]]"),
        ("[[", "not a TOML file"),
    ],
)
def test_a_wrong_file_of_samples_is_refused(tmp_path: Path, desk: Any, text: str, says: str) -> None:
    file = tmp_path / "samples.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(sh.ConfigError) as refused:
        read_samples(file, "pay", callers={"alice": desk.alice})
    assert says in str(refused.value)


async def test_samples_are_given_for_a_tool_that_declares_none(open_desk: Any, desk: Any) -> None:
    engine = await open_desk(pay_tool(desk.done, samples=()))
    control = CheckedControl(engine, Recorded(), samples={"pay": ALL}, alerts=True)
    assert (await control.check("pay", "1.0.0", to="active")).green
    with pytest.raises(sh.SpecError, match="samples must be a list of Sample"):
        pay_tool(desk.done, samples=[{"kind": "good"}])

"""The commands of the support desk's guide, as they are printed, after the demo and one after the other."""

import re
import shlex
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from examples.support_desk import perform
from tests.cli.driver import Project, Ran

GUIDE = Path(perform.__file__).with_name("README.md")
CANARY, SHADOW, FOUR_EYES, GRANT = "Canary", "Shadow", "Four eyes", "Standing grant"

pytestmark = pytest.mark.timeout(120)


def commands(thing: str) -> list[list[str]]:
    """The commands below the words `**THING: `, as a shell splits them."""
    said = GUIDE.read_text(encoding="utf-8").partition(f"**{thing}: ")[2].partition("\n**")[0].partition("\n## ")[0]
    block = "\n".join(line[4:] for line in said.splitlines() if line.startswith("    "))
    return [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]


def inline(beginning: str) -> list[str]:
    """A command that stands within a sentence."""
    (found,) = re.findall(f"`({beginning}[^`]*)`", GUIDE.read_text(encoding="utf-8"))
    return shlex.split(found)


def facts(ran: Ran, name: str) -> list[str]:
    return [line.partition(": ")[2] for line in ran.out.splitlines() if line.startswith(f"{name}: ")]


def paid(folder: Path, order_id: str) -> list[int]:
    """Every refund of an order, from the shop's own books."""
    connection = sqlite3.connect(folder / "shop.db")
    try:
        query = "SELECT amount_cents FROM refunds WHERE order_id = ? ORDER BY id"
        return [amount for (amount,) in connection.execute(query, (order_id,))]
    finally:
        connection.close()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The folder that the demo leaves."""
    folder = tmp_path_factory.mktemp("desk") / "desk"
    shown = Project(folder.parent).run("demo", "--", "--dir", str(folder))
    assert shown.code == 0, shown
    return Project(folder)


def enter(project: Project, command: Sequence[str], ids: dict[str, str] | None = None) -> Ran:
    """Types a command, with the ids that were printed in the place of the dots."""
    program, *args = command
    assert program == "surehand"
    return project.run(*((ids or {}).get(one, one) for one in args))


def test_the_canary_is_for_half_of_the_runs_and_goes_back(played: Project) -> None:
    share, taken, left = commands(CANARY)
    before = enter(played, taken)
    assert (before.code, facts(before, "tool")) == (1, ["get_order@1.0.0"])
    assert enter(played, share).out == "get_order@1.1.0 is for 50 % of runs\n"
    for _ in range(2):
        new, old = enter(played, taken), enter(played, left)
        assert (new.code, facts(new, "tool"), facts(new, "status")) == (0, ["get_order@1.1.0"], ["ok"])
        assert (old.code, facts(old, "tool"), facts(old, "error")) == (
            1,
            ["get_order@1.0.0"],
            ["TOOL_ARGUMENT_INVALID"],
        )
    newest = enter(played, inline("surehand tools history")).out.splitlines()[0].split("\t")
    assert newest[1:6] == ["acme/operator", "canary", "get_order@1.1.0", "nobody", "50 % of runs"]
    back = inline("surehand tools promote")
    active = enter(played, ["active" if one == "test" else one for one in back])
    assert (active.code, "is not fit for 'active'" in active.err) == (1, True)
    assert enter(played, back).out == "get_order@1.1.0 is at test\n"
    assert facts(enter(played, taken), "tool") == ["get_order@1.0.0"]


def test_the_shadow_is_counted_and_stopped_nothing(played: Project) -> None:
    (shadow,) = commands(SHADOW)
    counted = [line.split("\t") for line in enter(played, shadow).out.splitlines()]
    ((_, denied, asked, allowed, _),) = [row for row in counted if row[0] == "refund-medium"]
    assert (denied, int(asked) > 0, allowed) == ("0", True, "0")
    assert paid(played.folder, "A-10421") == [2500, 4000]


def test_four_eyes_are_two_people_and_never_the_requester(played: Project) -> None:
    ask, first, own, second, resume = commands(FOUR_EYES)
    asked = enter(played, ask)
    assert (asked.code, facts(asked, "status")) == (3, ["pending"])
    ids = {"apr_...": facts(asked, "approval")[0], "call_...": facts(asked, "call")[0]}
    half = enter(played, first, ids)
    assert half.code == 0
    assert facts(half, "status")[-1] == "open"
    assert facts(half, "has")[-1] == "1 of 2 of finance"
    assert facts(half, "note") == [f"felix decides it with `surehand approvals approve {ids['apr_...']} --as felix`"]
    refused = enter(played, own, ids)
    assert (refused.code, "sam asked for this and may not decide it" in refused.err) == (1, True)
    again = enter(played, first, ids)
    assert (again.code, "fiona has already decided" in again.err) == (1, True)
    assert facts(enter(played, resume, ids), "status") == ["pending"]
    assert paid(played.folder, "A-10470") == []
    assert facts(enter(played, second, ids), "status")[-1] == "approved"
    for _ in range(2):
        assert facts(enter(played, resume, ids), "status") == ["ok"]
    assert paid(played.folder, "A-10470") == [29800]
    story = enter(played, ["surehand", "call", "show", ids["call_..."], "--as", "auditor"]).out
    assert [who for who in ("sam", "fiona", "felix") if f"{who} said approve" in story] == ["fiona", "felix"]


def test_the_grant_answers_in_advance(played: Project) -> None:
    give, call = commands(GRANT)
    given = enter(played, give)
    assert given.code == 0, given
    done = enter(played, call)
    assert (done.code, facts(done, "status")) == (0, ["ok"])
    assert paid(played.folder, "A-10388") == [18900, 18900]
    shown = enter(played, ["surehand", "call", "show", facts(done, "call")[0], "--as", "auditor"]).out
    assert "fiona" in shown
    assert len(enter(played, inline("surehand grants list")).out.splitlines()) == 1

"""Rows of expected decisions: what is judged, what differs, and what is no row."""

from __future__ import annotations

from pathlib import Path

import pytest

import surehand as sh
from surehand.policy import Policies
from surehand.registry import Registry
from surehand.rehearsal import RowResult, judge_rows, read_rows
from surehand.view import World
from tests.policy.samples import NOON_NS

ANN = sh.Caller(id="ann", tenant="acme", scopes=["pay"])
POLICIES = """
@id("large") @approvers("finance") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.amount > 100 };
@id("night") forbid (principal, action == Action::"call/pay", resource)
when { context.now.toTime() >= duration("22h") };
@id("planning") forbid (principal, action == Action::"call/pay", resource) when { context.run.state == "planning" };
@id("trial") @mode("shadow") forbid (principal, action == Action::"call/pay", resource)
when { context.arguments.to == "eve" };
"""
ROW = 'caller = "ann"\ntool = "pay"\narguments = { to = "bob", amount = 5 }\n'


@sh.tool(permissions=["pay"], key=["to"])
async def pay(to: str, amount: int, note: str = "") -> str:
    """Pays an amount in cents."""
    return "paid"


def world() -> World:
    registry = Registry()
    registry.register(pay)
    return World(registry.catalog, Policies.load([sh.PolicySource("p.cedar", POLICIES)], registry.catalog))


def judged(tmp_path: Path, text: str, name: str = "rows.toml") -> list[RowResult]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return judge_rows(read_rows(tmp_path / name, {"ann": ANN}), world(), now_ns=NOON_NS)


@pytest.mark.parametrize(
    ("row", "problems"),
    [
        ('expect = "allow"', []),
        ('expect = "deny"', ["decision: expected deny, is allow"]),
        ('expect = "allow"\npolicies = ["surehand.scopes"]\ngroups = []\nshadow = []', []),
        ('expect = "ask"\npolicies = ["large"]', [
            "decision: expected ask, is allow", "policies: expected large, is surehand.scopes",
        ]),
        ('expect = "ask"\narguments.amount = 101\ngroups = ["finance"]\npolicies = ["large"]', []),
        ('expect = "ask"\narguments.amount = 101\ngroups = ["legal"]', ["groups: expected legal, is finance"]),
        ('expect = "deny"\nnow = 2026-03-02T23:30:00+01:00\npolicies = ["night"]', []),
        ('expect = "allow"\nnow = "2026-03-02T21:30:00Z"', []),
        ('expect = "deny"\nrun_state = "planning"', []),
        ('expect = "allow"\narguments.to = "eve"\nshadow = ["trial"]', []),
        ('expect = "allow"\narguments.to = "eve"\nshadow = []', ["shadow: expected none, is trial"]),
        ('expect = "deny"\ncaller = { tenant = "acme" }', []),
        ('expect = "allow"\ncaller = { tenant = "acme", scopes = ["pay"] }\ntool = "pay@1.0.0"', []),
        ('expect = "deny"\ntool = "pya"', ["there is no tool 'pya'; there are pay"]),
        ('expect = "deny"\narguments = { to = "bob" }', ["no policy is asked, since the arguments are refused: "]),
    ],
)  # fmt: skip
def test_a_row_in_toml(tmp_path: Path, row: str, problems: list[str]) -> None:
    given: dict[str, str] = {}
    for line in ROW.splitlines():
        name, _, given[name] = line.partition(" = ")
    for line in row.splitlines():
        name, _, value = line.partition(" = ")
        if name.startswith("arguments."):
            arguments = {"to": '"bob"', "amount": "5", name.removeprefix("arguments."): value}
            given["arguments"] = "{ " + ", ".join(f"{one} = {text}" for one, text in arguments.items()) + " }"
        else:
            given[name] = value
    (found,) = judged(tmp_path, "[[row]]\n" + "\n".join(f"{name} = {value}" for name, value in given.items()))
    assert len(found.problems) == len(problems)
    assert all(got.startswith(want) for got, want in zip(found.problems, problems, strict=True))
    assert found.ok == (not problems)


def test_rows_as_json_lines_with_names_of_their_own(tmp_path: Path) -> None:
    lines = (
        '{"caller": "ann", "tool": "pay", "arguments": {"to": "x", "amount": 1}, "expect": "allow", '
        '"name": "small"}\n\n'
        '{"caller": {"tenant": "acme", "id": "x"}, "tool": "pay", "arguments": {"to": "x", "amount": 1}, '
        '"now": "2026-03-02T23:00:00Z", "expect": "deny"}\n'
    )
    assert [(one.name, one.ok) for one in judged(tmp_path, lines, "rows.jsonl")] == [
        ("small", True),
        ("rows.jsonl: row 2, pay", True),
    ]


def test_callers_of_the_file_come_first(tmp_path: Path) -> None:
    text = f'[callers.ann]\ntenant = "acme"\n[[row]]\n{ROW}expect = "deny"\n'
    assert judged(tmp_path, text)[0].ok


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "missing required field `row`"),
        ("row = []", "there is no row in it"),
        (f'[[row]]\n{ROW}expect = "maybe"', "Invalid enum value 'maybe'"),
        (f'[[row]]\n{ROW}expct = "deny"', "unknown field `expct`"),
        ('[[row]]\ntool = "pay"\nexpect = "deny"', "missing required field `caller`"),
        ('[[row]]\ncaller = "bob"\ntool = "pay"\nexpect = "deny"', "there is no caller 'bob'; known are ann"),
        (f'[[row]]\n{ROW}expect = "deny"\nnow = 2026-03-02T23:00:00', "timezone"),
        ('[[row]]\ncaller = { tenant = "" }\ntool = "pay"\nexpect = "deny"', "tenant must be a non-empty string"),
        ('[[row]]\ncaller = { tenant = "a", role = "b" }\ntool = "pay"\nexpect = "deny"', "unknown field `role`"),
        ("[[row", "Expected"),
    ],
)
def test_what_is_no_row(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(sh.ConfigError, match=r"rows\.toml") as caught:
        judged(tmp_path, text)
    assert expected in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sh.ConfigError, match="the rows cannot be read"):
        read_rows(tmp_path / "none.toml", {})
    (tmp_path / "bad.jsonl").write_text('{"caller": "ann"}\n{', encoding="utf-8")
    with pytest.raises(sh.ConfigError, match=r"line 1: .*missing required field"):
        read_rows(tmp_path / "bad.jsonl", {})


def test_the_row_of_the_guide_is_read(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
    (tmp_path / "rows.toml").write_text(guide.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    (row,) = read_rows(tmp_path / "rows.toml", {"sam": ANN})
    assert (row.tool, row.expect, row.groups, row.now_ns) == ("refund", "ask", ("finance",), 1_772_442_000 * 10**9)

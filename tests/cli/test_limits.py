"""`surehand limits show` and `surehand tools health`."""

from collections.abc import Callable, Iterator

import pytest

from tests.cli.driver import PROJECT, Project

pytestmark = pytest.mark.timeout(120)

LIMITS = """
[[budgets]]
name = "cents"
tools = ["pay"]
amount = "cents"
limit = 1000
raised_by = "finance"

[[rates]]
name = "each"
per = ["caller"]
calls = 3
window_s = 1000000000
"""


@pytest.fixture
def declare(project: Project) -> Iterator[Callable[[str], None]]:
    """Give what adds to the project file, which is as before afterwards."""
    file = project.folder / "surehand.toml"

    def add(more: str) -> None:
        file.write_text(PROJECT + more, encoding="utf-8")

    yield add
    file.write_text(PROJECT, encoding="utf-8")


def test_what_is_used_and_left(project: Project, declare: Callable[[str], None]) -> None:
    declare(LIMITS)
    assert project.run("call", "pay", "--args", '{"order": "x1", "cents": 700}', "--as", "alice").code == 0
    refused = project.run("call", "pay", "--args", '{"order": "x2", "cents": 700}', "--as", "alice", "--json")
    assert refused.code == 1
    assert refused.document["error"]["code"] == "BUDGET_EXCEEDED"
    cents, each = project.json("limits", "show", "--as", "alice")["limits"]
    assert cents == {
        "name": "cents",
        "kind": "budget",
        "scope": {},
        "limit": "1000",
        "used": "700",
        "reserved": "0",
        "left": "300",
        "renewed_in_s": None,
        "raised_by": "finance",
    }
    assert (each["kind"], each["scope"], each["used"], each["left"]) == ("rate", {"caller": "alice"}, "1", "2")
    shown = project.run("limits", "show", "--as", "alice").out.splitlines()
    assert shown[0].split("\t") == ["cents", "budget", "tenant", "1000", "700", "0", "300", "-", "finance"]
    everybody = project.json("limits", "show", "--all", "--as", "bob")["limits"]
    assert {one["scope"].get("caller") for one in everybody} == {None, "alice", "bob"}
    assert "choose --as bob" in project.run("limits", "show", "--all", "--as", "alice").err


def test_a_typo_is_told(project: Project, declare: Callable[[str], None]) -> None:
    declare(LIMITS.replace('"pay"', '"payy"'))
    ran = project.run("tools", "list", "--as", "alice")
    assert ran.code == 1
    assert "cents: there is no tool 'payy'" in ran.err


def test_health_is_for_those_who_may_read_the_audit(project: Project) -> None:
    assert project.json("tools", "health", "--as", "bob") == {"health": []}
    assert project.run("tools", "health", "--as", "bob").err.startswith("no breaker has opened")
    assert project.run("tools", "health", "--as", "alice").code == 1

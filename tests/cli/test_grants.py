"""`surehand grants`: given, used, shown, ended."""

import json
from typing import Any

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)

GIVE = ("grants", "give", "pay", "--of", "alice", "--policy", "pay-large", "--uses", "2", "--expires", "12h")
WHERE = '{"cents": {"at_most": 30000}, "order": {"one_of": ["g1", "g2"]}}'


def pay(project: Project, order: str, cents: int = 25000, *, code: int = 0) -> Any:
    arguments = json.dumps({"order": order, "cents": cents})
    return project.json("call", "pay", "--args", arguments, "--as", "alice", code=code)


def test_a_grant_from_giving_to_revoking(project: Project) -> None:
    given = project.run(*GIVE, "--where", WHERE, "--reason", "the monthly bill", "--as", "bob")
    assert given.code == 0
    assert "lifts: finance: payments over 100.00 need finance (pay-large)" in given.out.splitlines()
    assert "used: 0 of 2" in given.out.splitlines()
    (listed,) = project.json("grants", "list", "--as", "bob")["grants"]
    grant_id = listed["grant_id"]
    assert listed["where"] == json.loads(WHERE)
    assert (listed["caller"], listed["agent"], listed["environment"]) == ("alice", "desk-bot", "test")

    call_id = pay(project, "g1")["call_id"]
    pay(project, "g3", code=3)
    shown = project.run("call", "show", call_id, "--as", "alice")
    assert f"granted: by bob ({grant_id})" in shown.out.splitlines()
    (used,) = project.json("call", "show", call_id, "--as", "alice")["granted"]
    assert (used["giver"], used["grant_id"]) == ("bob", grant_id)
    assert project.json("grants", "show", grant_id, "--as", "alice")["used"] == 1

    assert "status: revoked" in project.run("grants", "revoke", grant_id, "--as", "bob").out.splitlines()
    pay(project, "g2", code=3)
    assert project.json("grants", "list", "--as", "bob")["grants"] == []
    assert [one["status"] for one in project.json("grants", "list", "--all", "--as", "bob")["grants"]] == ["revoked"]
    gone = project.json("grants", "show", grant_id, "--as", "eve", code=1)
    assert gone["error"]["code"] == "approval.not_found"


def test_approve_and_remember(project: Project) -> None:
    waiting = pay(project, "r1", code=3)
    remember = ("grants", "remember", waiting["approval_id"], "--uses", "1", "--expires", "7d", "--where", "{}")
    assert "pass --yes" in project.run(*remember, "--as", "bob").err
    code, said = project.on_terminal(*remember, "--as", "bob", answers=[("[y/N]", "n\n")])
    assert (code, "not approved; nothing changed" in said) == (1, True)
    code, said = project.on_terminal(*remember, "--as", "bob", answers=[("[y/N]", "y\n")])
    assert code == 0
    assert "Approve this, and calls like it as bob? [y/N]" in said
    assert "whatever the arguments are" in said
    assert project.json("call", "resume", waiting["call_id"], "--as", "alice")["structured"] == {"paid": 25000}
    assert pay(project, "r2")["status"] == "ok"
    pay(project, "r3", code=3)


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        (("--where", "{"), 2, "not JSON"),
        (("--where", "[]"), 2, "must be a JSON object"),
        (("--where", ""), 2, "not JSON"),
        (("--where", '{"cents": {"at_most": 1}, "cents": {"at_most": 100}}'), 2, "uplicate key"),
        (("--where", '{"cents": {"at_most": NaN}}'), 2, "not JSON"),
        (("--where", '{"cent": {"at_most": 1}}'), 1, "no argument 'cent'; there are cents, order"),
        (("--where", "{}", "--expires", "soon"), 2, "write 30m, 12h or 7d"),
        (("--where", "{}", "--expires", "9999d"), 1, "expires_s must be"),
        (("--where", "{}", "--of", "carol"), 2, "there is no caller 'carol'"),
        (("--where", "{}", "--policy", "pay-lagre"), 1, "no policy 'pay-lagre' asks about `pay`"),
        (("--where", "{}", "--as", "alice"), 1, "alice could not answer this"),
    ],
)
def test_what_is_no_grant(project: Project, changed: tuple[str, ...], code: int, says: str) -> None:
    ran = project.run(*GIVE, "--as", "bob", *changed)
    assert ran.code == code
    assert says in " ".join(ran.err.split())

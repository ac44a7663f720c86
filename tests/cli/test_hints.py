"""What a command says to do next: something that its caller may do, and that works as it stands there."""

import shlex

import pytest

from tests.cli.driver import Project, Ran

pytestmark = pytest.mark.timeout(120)


def hint(ran: Ran, name: str = "next") -> str:
    (line,) = [line for line in ran.out.splitlines() if line.startswith(f"{name}: ")]
    return line.removeprefix(f"{name}: ")


def test_a_call_without_a_key_is_told_how_to_give_one(project: Project) -> None:
    ran = project.run("call", "slow", "--as", "alice", "--args", '{"order": "x"}')
    assert ran.code == 1
    assert "next: " not in ran.out
    assert hint(ran, "note").startswith("pass --key KEY, your own name of this effect")


def test_tools_that_need_a_key_are_marked(project: Project) -> None:
    rows = {
        line.split("\t")[0]: line.split("\t") for line in project.run("tools", "list", "--as", "alice").out.splitlines()
    }
    assert rows["slow@1.0.0"][2] == "single effect, needs a key"
    assert rows["pay@1.0.0"][2] == "single effect"
    listed = {tool["name"]: tool["needs_key"] for tool in project.json("tools", "list", "--as", "alice")["tools"]}
    assert listed == {"echo": False, "pay": False, "show": False, "slow": True}
    (warning,) = project.json("policy", "check")["warnings"]
    assert warning.startswith("tool slow@1.0.0 has effects and declares no key=")
    assert f"warning: {warning}" in project.run("policy", "check").out.splitlines()


def test_a_mistyped_command_is_told(project: Project) -> None:
    assert "`surehand audit list`" in hint(project.run("call", "list", "--as", "alice"), "note")
    meant = project.run("call", "resum", "--as", "alice")
    assert hint(meant, "note") == "did you mean the command `surehand call resume`?"
    other = project.run("call", "runway", "--as", "alice")  # no slip of `run`
    assert "note: " not in other.out
    assert hint(meant) == hint(project.run("call", "vault", "--as", "alice")) == "surehand tools list --as alice"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["approvals", "approve", "call_1", "--yes"], "call_1 is a call; an approval begins with apr_"),
        (["approvals", "show", "call_1"], "`surehand approvals list`"),
        (["approvals", "reject", "call_1", "--reason", "x"], "is a call"),
        (["call", "resume", "apr_1"], "apr_1 is an approval; a call begins with call_"),
        (["call", "show", "apr_1"], "`surehand approvals show apr_1`"),
        (["call", "unknown", "check", "apr_1"], "is an approval"),
        (["call", "unknown", "resolve", "apr_1", "--done", "--evidence", "x"], "is an approval"),
    ],
)
def test_ids_that_are_mixed_up_are_told(project: Project, args: list[str], said: str) -> None:
    ran = project.run(*args, "--as", "bob")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_who_may_is_told_by_the_policies_in_force(project: Project) -> None:
    for command in (["audit", "list"], ["tools", "list", "--all"]):
        ran = project.run(*command, "--as", "alice")
        assert ran.err.endswith(": no policy permits reading the audit; it needs the role auditor; choose --as bob\n")
    ran = project.run("call", "unknown", "list", "--as", "alice")
    assert ran.err.endswith(": no policy permits resolving it; it needs the role operator; choose --as bob\n")
    assert project.run("tools", "list", "--all", "--as", "eve").err == "eve sees no tool\n"


def test_hints_of_an_approval_work_as_they_stand(project: Project) -> None:
    pay = ("call", "pay", "--args", '{"order": "hints", "cents": 20000}', "--as", "alice")
    approval_id = project.json(*pay, code=3)["approval_id"]
    waiting = project.run(*pay)
    assert hint(waiting, "note") == f"bob decides it with `surehand approvals approve {approval_id} --as bob`"
    assert project.run(*shlex.split(hint(waiting))[1:]).code == 3
    refused = project.run("approvals", "approve", approval_id, "--as", "alice", "--yes")
    assert (refused.code, refused.out) == (1, "")
    given = project.run("approvals", "approve", approval_id, "--as", "bob", "--yes")
    again = project.run("approvals", "approve", approval_id, "--as", "bob", "--yes")
    assert (again.code, again.out) == (1, "")
    assert "already approved" in again.err
    assert hint(project.run(*pay)) == hint(given)
    resumed = project.run(*shlex.split(hint(given))[1:])
    assert (resumed.code, resumed.out.splitlines()[0]) == (0, "status: ok")
    repeat = project.run(*shlex.split(hint(given))[1:])
    assert "replayed: yes: the stored result of this call, which had ended before" in repeat.out.splitlines()
    assert "replayed: yes: the stored result of an earlier identical call" in project.run(*pay).out.splitlines()


def test_a_settled_call_is_not_settled_again(project: Project) -> None:
    pay = ("call", "pay", "--args", '{"order": "lost", "cents": 1}', "--as", "alice")
    call_id = project.json(*pay, code=1)["call_id"]
    repeat = project.run(*pay).out.splitlines()
    assert "replayed: yes: an earlier call of this effect, of which nobody knows yet" in repeat
    asked = project.run("call", "unknown", "check", call_id, "--as", "alice")
    assert (asked.code, "next: " in asked.out) == (1, False)
    assert hint(asked, "note") == "nothing tells yet; bob may look, and say what happened"
    asked = project.run("call", "unknown", "check", call_id, "--as", "bob")
    assert "next: " not in asked.out
    assert f"`surehand call unknown resolve {call_id} --done --evidence TEXT --as bob`" in hint(asked, "note")
    settle = ("call", "unknown", "resolve", call_id, "--done", "--evidence", "seen at the bank", "--as", "bob")
    settled = project.run(*settle)
    assert hint(settled) == f"surehand call resume {call_id} --as alice"
    again = project.json(*settle, code=1)["error"]
    assert again["code"] == "already_settled"
    assert f"`surehand call show {call_id} --as bob`" in again["message"]
    shown = project.run("call", "show", call_id, "--as", "bob").out
    assert any(line.startswith("evidence: settled by evidence") for line in shown.splitlines())
    missing = project.json("call", "unknown", "resolve", "call_x", "--done", "--evidence", "x", "--as", "bob", code=1)
    assert missing["error"]["code"] == "not_found"
    empty = project.run("call", "unknown", "resolve", call_id, "--done", "--evidence", " ", "--as", "bob")
    assert empty.err == "surehand: evidence is empty; say how you know what happened\n"


def test_a_tenant_that_nobody_knows_is_not_verified(project: Project) -> None:
    project.json("call", "echo", "--args", '{"text": "x"}', "--as", "alice")
    assert project.json("audit", "verify", "--tenant", "nosuch", code=1)["error"]["code"] == "not_found"
    assert project.json("audit", "verify", "--tenant", "acme")["verified"] is True

"""`surehand approvals`: what is shown, who may answer, and what an answer is."""

import json

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def ask(project: Project, order: str) -> tuple[str, str]:
    """Makes a call that waits."""
    arguments = json.dumps({"order": order, "cents": 25000})
    document = project.json("call", "pay", "--args", arguments, "--as", "alice", code=3)
    return document["approval_id"], document["call_id"]


def test_an_approved_call_runs_once_when_resumed(project: Project) -> None:
    empty = project.run("approvals", "list", "--as", "bob")
    assert (empty.code, empty.out) == (0, "")
    assert empty.err == "no such approval; a call that a policy asks about appears here\n"
    pending = project.run("call", "pay", "--args", '{"order": "once", "cents": 25000}', "--as", "alice")
    assert (pending.code, pending.out.splitlines()[0]) == (3, "status: pending")
    (waiting,) = project.json("approvals", "list", "--as", "bob")["approvals"]
    approval_id, call_id = waiting["approval_id"], waiting["call_id"]
    resume = f"surehand call resume {call_id} --as alice"
    decide = f"`surehand approvals approve {approval_id} --as bob`"
    assert pending.out.splitlines()[-2:] == [f"note: bob decides it with {decide}", f"next: {resume}"]
    assert waiting["arguments"] == {"order": "once", "cents": 25000}
    assert (waiting["requester"]["id"], waiting["needs"][0]["group"]) == ("alice", "finance")
    assert waiting["created_at"] < waiting["expires_at"]

    given = project.run("approvals", "approve", approval_id, "--as", "bob", "--yes", "--digest", waiting["digest"])
    assert given.code == 0
    assert f"digest: {waiting['digest']}" in given.out
    assert '    "cents": 25000' in given.out
    assert given.out.splitlines()[-1] == f"next: {resume}"
    assert project.json("call", "resume", call_id, "--as", "alice")["structured"] == {"paid": 25000}
    used = project.json("approvals", "list", "--status", "consumed", "--status", "stale", "--as", "bob")["approvals"]
    assert [(one["approval_id"], one["approved_by"]) for one in used] == [(approval_id, ["bob"])]


def test_what_is_no_approval(project: Project) -> None:
    approval_id, _ = ask(project, "refused")
    no_terminal = project.run("approvals", "approve", approval_id, "--as", "bob")
    assert no_terminal.code == 2
    assert "pass --yes" in no_terminal.err
    wrong = project.json("approvals", "approve", approval_id, "--as", "alice", "--yes", code=1)
    assert wrong["error"]["code"] == "approval.not_entitled"
    moved = project.json("approvals", "approve", approval_id, "--as", "bob", "--yes", "--digest", "00", code=1)
    assert moved["error"]["code"] == "approval.mismatch"
    assert project.json("approvals", "show", approval_id, "--as", "bob")["status"] == "open"


def test_a_rejection_ends_it_and_tells_why(project: Project) -> None:
    approval_id, call_id = ask(project, "no")
    assert project.run("approvals", "reject", approval_id, "--as", "bob").code == 2
    foreign = project.json("approvals", "reject", approval_id, "--reason", "x", "--as", "eve", code=1)
    assert foreign["error"]["code"] == "approval.not_found"
    rejected = project.json("approvals", "reject", approval_id, "--reason", "wrong order", "--as", "bob")
    assert (rejected["status"], rejected["reason"], rejected["rejected_by"]) == ("rejected", "wrong order", ["bob"])
    result = project.run("call", "resume", call_id, "--as", "alice")
    assert result.code == 1
    assert "error: APPROVAL_REJECTED" in result.out
    assert "wrong order" in result.out


def test_a_person_sees_every_character_and_answers(project: Project) -> None:
    approval_id, _ = ask(project, "A-1\u202e\u20632\x9b")
    approve = ("approvals", "approve", approval_id, "--as", "bob")
    code, shown = project.on_terminal(*approve, answers=[("[y/N]", "\n")], NO_COLOR="1")
    assert code == 1
    assert shown.endswith("surehand: not approved; nothing changed\n")
    assert '    "order": "A-1\\u202e\\u20632\\x9b"' in shown
    assert not {"\u202e", "\u2063", "\x9b"} & set(shown)

    code, shown = project.on_terminal(*approve, answers=[("[y/N]", "^C")])
    assert (code, shown.splitlines()[-1]) == (130, "surehand: interrupted")

    code, shown = project.on_terminal(*approve, answers=[("Approve exactly this as bob? [y/N]", "y\n")])
    assert code == 0
    assert "\x1b[33mopen\x1b[0m" in shown
    assert "\x1b[32mapproved\x1b[0m" in shown

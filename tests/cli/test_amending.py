"""`surehand approvals edit`, `answer`, `withdraw`, `delegate`."""

import json

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def ask(project: Project, order: str) -> tuple[str, str]:
    """Makes a call that waits."""
    arguments = json.dumps({"order": order, "cents": 25000})
    document = project.json("call", "pay", "--args", arguments, "--as", "alice", code=3)
    return document["approval_id"], document["call_id"]


def test_an_edit_is_shown_and_run(project: Project) -> None:
    approval_id, call_id = ask(project, "edited")
    listed = project.run("approvals", "list", "--as", "bob").out
    assert "finance 0/1" in listed
    edited = project.json("approvals", "edit", approval_id, "--set", "cents=20000", "--reason", "less", "--as", "bob")
    assert (edited["status"], edited["revision"], edited["edited_by"]) == ("approved", 2, "bob")
    assert (edited["arguments"], edited["written"]["cents"]) == ({"order": "edited", "cents": 20000}, 25000)
    shown = project.run("approvals", "show", edited["approval_id"], "--as", "bob").out
    for line in (
        "revision: 2, edited by bob",
        "edited because: less",
        "has: 1 of 1 of finance",
        "what the model wrote:",
    ):
        assert line in shown
    result = project.json("call", "resume", call_id, "--as", "alice")
    assert (result["structured"], result["edited_by"]) == ({"paid": 20000}, "bob")
    story = project.run("call", "show", call_id, "--as", "bob").out
    assert "bob changed cents: less" in story


def test_what_follows_is_a_command_that_works(project: Project) -> None:
    for order, args in (
        ("next-edit", ("edit", "--set", "cents=20000")),
        ("next-answer", ("answer", "--text", "paid in cash")),
        (
            "next-remember",
            ("remember", "--uses", "1", "--expires", "1h", "--where", '{"cents": {"at_most": 1}}', "--yes"),
        ),
    ):
        approval_id, call_id = ask(project, order)
        group = "grants" if args[0] == "remember" else "approvals"
        ran = project.run(group, args[0], approval_id, *args[1:], "--as", "bob")
        assert (ran.code, ran.err) == (0, "")
        (following,) = [line for line in ran.out.splitlines() if line.startswith("next: ")]
        assert following == f"next: surehand call resume {call_id} --as alice"
    ended = project.run("approvals", "withdraw", ask(project, "next-none")[0], "--as", "alice")
    assert [line.split(":")[0] for line in ended.out.splitlines()] == ["approval", "status"]


def test_an_edit_that_is_refused_says_why(project: Project) -> None:
    approval_id, _ = ask(project, "kept")
    for given, words in (
        (("--set", "cents=much"), "cents"),
        (("--arguments", '{"order": "kept", "cents": 25000}'), "would run already"),
        (("--arguments", '{"order": "kept", "cents": 1, "extra": 2}'), "extra"),
    ):
        refused = project.json("approvals", "edit", approval_id, *given, "--as", "bob", code=1)
        assert refused["error"]["code"] == "approval.invalid"
        assert words in refused["error"]["message"]
    for given in (
        (),
        ("--set", "cents"),
        ("--set", "a=1", "--arguments", "{}"),
        ("--arguments", "[1]"),
        ("--arguments", ""),
    ):
        assert project.run("approvals", "edit", approval_id, *given, "--as", "bob").code == 2
    assert project.json("approvals", "show", approval_id, "--as", "bob")["status"] == "open"


def test_an_answer_instead_of_the_tool(project: Project) -> None:
    approval_id, call_id = ask(project, "answered")
    done = project.json(
        "approvals", "answer", approval_id, "--text", "by hand", "--structured", '{"paid": 1}', "--as", "bob"
    )
    assert (done["status"], done["answered_by"]) == ("answered", "bob")
    result = project.json("call", "resume", call_id, "--as", "alice")
    assert (result["status"], result["answered_by"], result["structured"]) == ("cancelled", "bob", {"paid": 1})


def test_the_requester_withdraws(project: Project) -> None:
    approval_id, call_id = ask(project, "withdrawn")
    wrong = project.json("approvals", "withdraw", approval_id, "--as", "bob", code=1)
    assert wrong["error"]["code"] == "approval.not_entitled"
    done = project.run("approvals", "withdraw", approval_id, "--reason", "not wanted", "--as", "alice")
    assert "status: withdrawn" in done.out
    assert project.json("call", "resume", call_id, "--as", "alice", code=1)["status"] == "cancelled"


def test_a_deputy_is_named_listed_and_dismissed(project: Project) -> None:
    named = project.json("approvals", "delegate", "--to", "dora", "--until", "3d", "--as", "bob")
    assert (named["principal"], named["deputy"]) == ("bob", "dora")
    assert "dora" in project.run("approvals", "deputies", "--as", "bob").out
    assert project.json("approvals", "dismiss", named["delegation_id"], "--as", "bob")["dismissed"] is True
    assert project.json("approvals", "deputies", "--as", "bob") == {"delegations": []}
    for until in ("soon", "2030-01-01T00:00", "-3d"):
        assert project.run("approvals", "delegate", "--to", "dora", "--until", until, "--as", "bob").code == 2

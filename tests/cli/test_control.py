"""Switches, stages, policy sets and their history, from the command line."""

from pathlib import Path

import pytest

from tests.cli.driver import POLICY, Project, make

pytestmark = pytest.mark.timeout(180)

CALLERS = """
[callers.olga]
tenant = "acme"
roles = ["admin", "auditor"]

[callers.otto]
tenant = "acme"
roles = ["security", "admin"]
"""
FOUR_EYES = """
@id("two") @approvers("security") forbid (principal, action == Action::"publish", resource);
"""
NEXT = '''

@sh.tool(name="echo", version="2.0.0", stage="canary", read_only=True, permissions=["desk:use"])
def echo_again(text: str) -> str:
    """Gives text back."""
    return text
'''


@pytest.fixture
def operated(tmp_path: Path) -> Project:
    """A project of the test's own, with operators."""
    project = make(tmp_path / "operated")
    file = project.folder / "surehand.toml"
    file.write_text(file.read_text(encoding="utf-8") + CALLERS, encoding="utf-8")
    return project


def test_a_kill_in_a_hurry(operated: Project) -> None:
    slip = operated.run("kill", "pya", "--as", "olga")
    assert (slip.code, "did you mean 'pay'" in slip.err) == (1, True)
    assert operated.run("kill", "pay", "--as", "alice").code == 1
    killed = operated.run("kill", "pay", "--as", "olga", "--reason", "double payments")
    assert (killed.code, killed.out) == (0, "tool/pay is switched off\n")
    refused = operated.json("call", "run", "pay", "--args", '{"order": "o", "cents": 5}', "--as", "alice", code=1)
    assert refused["error"]["code"] == "TOOL_UNAVAILABLE"
    hidden = operated.json("tools", "list", "--all", "--of", "alice", "--as", "olga")["hidden"]
    assert hidden["pay"] == "tool pay is switched off: double payments"
    assert operated.json("revive", "--as", "olga") == {"off": {"tool/pay": "double payments"}}
    assert operated.json("revive", "pay", "--as", "olga")["status"] == "done"
    assert operated.run("revive", "--as", "olga").err == "nothing is switched off\n"
    newest = operated.json("tools", "history", "--as", "olga")["changes"][:2]
    assert [(one["action"], one["target"], one["reason"]) for one in newest] == [
        ("revive", "tool/pay", ""),
        ("kill", "tool/pay", "double payments"),
    ]


@pytest.mark.parametrize(
    ("switch", "note"),
    [
        (["--tenant", "acmee"], "the project file knows no tenant 'acmee'; did you mean 'acme'?"),
        (["--agent", "desk-bott"], "the project file knows no agent 'desk-bott'; did you mean 'desk-bot'?"),
        (["--tenant", "acme"], None),
        (["--agent", "desk-bot"], None),
    ],
)
def test_a_kill_says_whom_nobody_knows(operated: Project, switch: list[str], note: str | None) -> None:
    with (operated.folder / "surehand.toml").open("a", encoding="utf-8") as file:
        file.write('\n[agents.desk-bot]\ntools = ["pay"]\n')
    killed = operated.json("kill", *switch, "--as", "olga")
    assert (killed["status"], killed.get("notes")) == ("done", note and [note])
    told = operated.run("kill", *switch, "--as", "olga").out.splitlines()
    assert told[1:] == ([] if note is None else [note])


def test_stages_and_a_second_person(operated: Project) -> None:
    (operated.folder / "policies" / "two.cedar").write_text(FOUR_EYES, encoding="utf-8")
    version = f"pay@{operated.json('tools', 'show', 'pay', '--as', 'alice')['version']}"
    asked = operated.json("tools", "deprecate", version, "--use", "transfer", "--as", "olga", code=3)
    assert (asked["status"], [need["group"] for need in asked["needs"]]) == ("pending", ["security"])
    waiting = operated.json("changes", "list", "--as", "otto")["changes"]
    assert [(one["change_id"], one["target"], one["use"]) for one in waiting] == [
        (asked["change_id"], version, "transfer")
    ]
    seen = operated.run("changes", "show", asked["change_id"], "--as", "otto").out
    assert {"use: transfer", f"target: {version}", "requester: olga"} <= set(seen.splitlines())
    assert operated.run("changes", "show", asked["change_id"], "--as", "alice").code == 1
    assert operated.run("changes", "confirm", asked["change_id"], "--as", "olga").code == 1
    assert operated.run("changes", "confirm", asked["change_id"], "--as", "otto").out == f"{version} is changed\n"
    shown = operated.json("tools", "show", "pay", "--as", "alice")
    assert (shown["stage"], shown["notice"]) == ("deprecated", "deprecated; use transfer")
    paid = operated.run("call", "pay", "--args", '{"order": "old", "cents": 5}', "--as", "alice")
    assert "notice: deprecated; use transfer" in paid.out.splitlines()
    row = operated.run("tools", "history", "pay", "--as", "olga").out.splitlines()[0].split("\t")
    assert row[1:6] == ["acme/olga, with otto", "deprecate", version, "active", "deprecated"]
    assert operated.run("tools", "promote", version, "--to", "canary", "--unchecked", "--as", "olga").code == 1
    unfit = operated.run("tools", "promote", version, "--to", "active", "--as", "olga")
    assert (unfit.code, "is not fit for 'active'" in unfit.err, "  - owner: " in unfit.err) == (1, True, True)
    again = operated.json("tools", "promote", version, "--to", "active", "--unchecked", "--as", "olga", code=3)
    assert operated.json("changes", "reject", again["change_id"], "--as", "otto")["status"] == "rejected"
    assert operated.run("tools", "disable", version, "--as", "olga").out == f"{version} is disabled\n"


def test_a_share_is_told_to_who_confirms_it_and_in_the_history(operated: Project) -> None:
    (operated.folder / "policies" / "two.cedar").write_text(FOUR_EYES, encoding="utf-8")
    with (operated.folder / "desk.py").open("a", encoding="utf-8") as file:
        file.write(NEXT)
    told = "10 % of runs, acme/alice, role tester"
    share = ("echo@2.0.0", "--percent", "10", "--caller", "acme/alice", "--role", "tester", "--as", "olga")
    asked = operated.json("tools", "canary", *share, code=3)
    assert operated.run("changes", "list", "--as", "otto").out.split("\t")[1:4] == ["canary", "echo@2.0.0", told]
    assert operated.json("changes", "list", "--as", "otto")["changes"][0]["to"] == told
    assert operated.run("changes", "confirm", asked["change_id"], "--as", "otto").code == 0
    row = operated.run("tools", "history", "echo", "--as", "olga").out.splitlines()[0].split("\t")
    assert row[1:6] == ["acme/olga, with otto", "canary", "echo@2.0.0", "nobody", told]
    assert operated.json("call", "echo", "--args", '{"text": "x"}', "--as", "alice")["version"] == "2.0.0"


def test_what_policies_say_is_shown_to_who_confirms_them(operated: Project) -> None:
    two = FOUR_EYES.replace("publish", "admin")
    (operated.folder / "policies" / "two.cedar").write_text(two, encoding="utf-8")
    own = operated.folder / "next" / "tenants" / "acme"
    own.mkdir(parents=True)
    nobody = '@id("stop") forbid (principal, action == Action::"call/pay", resource);'
    (own / "stop.cedar").write_text(nobody, encoding="utf-8")
    (operated.folder / "next" / "two.cedar").write_text(two, encoding="utf-8")
    asked = operated.json("policy", "publish", "next", "--as", "olga", code=3)
    seen = operated.run("changes", "show", asked["change_id"], "--as", "otto").out.splitlines()
    assert seen[-2:] == ["tenants/acme/stop.cedar, for acme:", f"  {nobody}"]
    (waiting,) = operated.json("changes", "list", "--as", "otto")["changes"]
    assert {"file": "tenants/acme/stop.cedar", "tenant": "acme", "text": nobody} in waiting["policies"]


def test_a_policy_set_is_published_and_taken_back(operated: Project) -> None:
    before = operated.json("policy", "versions", "--as", "olga")
    assert (before["from"], before["versions"]) == ("project", [])
    strict = operated.folder / "strict.cedar"
    strict.write_text(POLICY.replace("cents >", "cents >= 0 || context.arguments.cents >"), encoding="utf-8")
    assert operated.run("policy", "publish", str(strict), "--as", "alice").code == 1
    done = operated.run("policy", "publish", "strict.cedar", "--as", "olga", "--reason", "audit")
    assert (done.code, done.out) == (0, "policies published: 1 file\n"), done
    after = operated.json("policy", "versions", "--as", "olga")
    assert (after["from"], after["in_force"]) == ("published", after["versions"][0]["digest"])
    assert after["versions"][0]["reason"] == "audit"
    assert any("policy versions" in line for line in operated.run("doctor").out.splitlines())
    assert operated.run("policy", "rollback", "nothing", "--as", "olga").code == 1
    assert operated.run("policy", "rollback", "project", "--as", "olga").code == 0
    last = operated.json("policy", "versions", "--as", "olga")
    assert (last["from"], last["in_force"]) == ("project", before["in_force"])

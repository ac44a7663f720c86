"""`surehand policy check`: every problem, before anything is in force."""

from pathlib import Path

import pytest

from tests.cli.driver import POLICY, Project

pytestmark = pytest.mark.timeout(120)


def test_policies_that_fit(project: Project) -> None:
    ran = project.run("policy", "check")
    assert ran.code == 0
    assert ran.out.startswith("policy: ok, 1 of the project and ")
    assert not (project.folder / "state.db").exists()
    document = project.json("policy", "check")
    assert (document["ok"], document["policies"], document["problems"]) == (True, 1, [])
    assert f"digest: {document['digest']}" in ran.out.splitlines()


def test_every_problem_is_told_and_nothing_runs(project: Project, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cedar"
    broken.write_text(POLICY.replace("cents >", "sents >") + "permit (principal, action, resource)", encoding="utf-8")
    ran = project.run("policy", "check", str(broken))
    assert ran.code == 1
    count = int(ran.out.split()[1])
    assert count == sum(line.startswith("problem: broken.cedar") for line in ran.out.splitlines()) > 1
    document = project.json("policy", "check", str(broken), code=1)
    assert (document["ok"], len(document["problems"])) == (False, count)

    own = project.folder / "policies" / "broken.cedar"
    own.write_bytes(broken.read_bytes())
    refused = project.run("tools", "list", "--as", "alice", "--json")
    own.unlink()
    assert refused.code == 1
    assert refused.document["error"]["code"] == "policy"
    assert refused.document["error"]["problems"]
    assert all(line.startswith("surehand: ") for line in refused.err.splitlines())


def test_names_of_nobody(project: Project, tmp_path: Path) -> None:
    """A role that no caller has is worth a warning; where the project lists its roles, an error."""
    (tmp_path / "p.cedar").write_text(POLICY.replace("finance", "finanse"), encoding="utf-8")
    (warning, *_) = project.json("policy", "check", str(tmp_path))["warnings"]
    assert 'policy "pay-large": no caller of the project has the role "finanse"' in warning
    listed = project.folder / "listed.toml"
    text = (project.folder / "surehand.toml").read_text(encoding="utf-8")
    listed.write_text('roles = ["finance"]\n' + text, encoding="utf-8")
    document = project.json("policy", "check", str(tmp_path), "--project", "listed.toml", code=1)
    assert document["problems"] == ['p.cedar: policy "pay-large": there is no role "finanse"; did you mean finance?']
    assert project.json("policy", "check", "--project", "listed.toml")["warnings"] == [warning_of_keys(project)]


def warning_of_keys(project: Project) -> str:
    (warning,) = project.json("policy", "check")["warnings"]
    assert "declares no key=" in warning
    return warning


ROWS = """
[[row]]
caller = "alice"
tool = "pay"
arguments = { order = "1", cents = 5 }
expect = "allow"
[[row]]
name = "large"
caller = "alice"
tool = "pay"
arguments = { order = "1", cents = 50000 }
expect = "ask"
groups = ["finance"]
"""


def test_rows_that_hold_and_rows_that_differ(project: Project, tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text(ROWS, encoding="utf-8")
    ran = project.run("policy", "test", str(rows))
    assert (ran.code, ran.out) == (0, "policy: 2 of 2 rows as expected\n")
    draft = tmp_path / "draft.cedar"
    draft.write_text(POLICY.replace("finance", "legal"), encoding="utf-8")
    differs = project.run("policy", "test", str(rows), "--policies", str(draft))
    assert differs.code == 1
    assert differs.out.splitlines() == [
        "row: large",
        "differs: groups: expected finance, is legal",
        "reason: payments over 100.00 need legal",
        "policy: 1 of 2 rows as expected",
    ]
    document = project.json("policy", "test", str(rows), "--policies", str(draft), code=1)
    assert (document["ok"], document["rows"], document["failed"]) == (False, 2, 1)
    assert [one["ok"] for one in document["results"]] == [True, False]
    assert not (project.folder / "state.db").exists()
    broken = project.json("policy", "test", str(draft), code=1)
    assert broken["error"]["code"] == "config"


def test_a_draft_and_shadows_on_what_was_called(project: Project, tmp_path: Path) -> None:
    shadow = project.folder / "policies" / "trial.cedar"
    shadow.write_text(
        '@id("trial") @mode("shadow") forbid (principal, action == Action::"call/pay", resource)\n'
        "when { context.arguments.cents > 10 };",
        encoding="utf-8",
    )
    draft = tmp_path / "draft.cedar"
    draft.write_text(POLICY.replace("10000", "10"), encoding="utf-8")
    try:
        for order, cents in (("a", 5), ("b", 50)):
            project.run("call", "pay", "--args", f'{{"order": "{order}", "cents": {cents}}}', "--as", "alice")
        found = project.json("policy", "replay", str(draft), "--as", "bob")
        told = project.run("policy", "replay", str(draft), "--as", "bob").out.splitlines()
        counted = project.json("policy", "shadow", "--as", "bob")
        table = project.run("policy", "shadow", "--as", "bob").out.splitlines()
        refused = project.json("policy", "replay", str(draft), "--as", "alice", code=1)
    finally:
        shadow.unlink()
    assert (found["judged"], found["newly_allow"], found["newly_ask"], found["newly_deny"]) == (2, 0, 1, 0)
    (changed,) = found["changed"]
    assert (changed["before"], changed["after"], changed["policies"]) == ("allow", "ask", ["pay-large"])
    assert "newly asked: 1" in told
    assert told[-1].split("\t")[1:] == [changed["call_id"], "pay@1.0.0", "alice", "allow -> ask", "pay-large"]
    assert counted["policies"] == [
        {"policy_id": "trial", "allowed": 0, "asked": 0, "denied": 1, "calls": [changed["call_id"]]}
    ]
    assert table[-1] == f"trial\t1\t0\t0\t{changed['call_id']}"
    assert refused["error"]["code"] == "not_allowed"
    assert project.run("policy", "shadow", "--as", "bob").err.startswith("no policy is in shadow mode")

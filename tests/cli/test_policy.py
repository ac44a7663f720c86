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

"""`surehand audit`: the record, and what verification finds."""

import sqlite3

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def test_the_record_is_listed_verified_and_defended(project: Project) -> None:
    empty = project.run("audit", "list", "--as", "bob")
    assert (empty.code, empty.err) == (0, "nothing is recorded yet; make a call with `surehand call NAME`\n")
    assert project.run("audit", "verify").out.startswith("audit: nothing is recorded yet")
    project.json("call", "pay", "--args", '{"order": "a1", "cents": 5}', "--as", "alice")

    rows = [line.split("\t") for line in project.run("audit", "list", "--as", "bob").out.splitlines()]
    assert [row[1] for row in rows] == ["call.finished", "call.settled", "call.started"]
    assert {tuple(row[3:5]) for row in rows} == {("pay@1.0.0", "alice")}
    (newest,) = project.json("audit", "list", "--limit", "1", "--as", "bob")["records"]
    assert (newest["kind"], newest["facts"]["status"], newest["at"][-1]) == ("call.finished", "ok", "Z")
    assert project.json("audit", "list", "--as", "alice", code=1)["error"]["code"] == "not_allowed"

    verified = project.run("audit", "verify")
    assert (verified.code, verified.out) == (0, "audit: verified\ntenant acme: ok, 3 records\n")
    with sqlite3.connect(project.folder / "state.db") as database:
        database.execute("UPDATE surehand_audit SET body = replace(body, 'alice', 'mallory') WHERE seq = 2")
    database.close()
    found = project.run("audit", "verify", "--tenant", "acme")
    assert (found.code, found.out.splitlines()[0]) == (1, "audit: NOT verified")
    assert "body_edited at 2" in found.out
    assert project.json("audit", "verify", code=1)["tenants"][0]["findings"][0]["kind"] == "body_edited"

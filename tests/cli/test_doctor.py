"""`surehand doctor`: what it finds, that it says what to do, and that it changes nothing."""

from pathlib import Path
from typing import Any

import apsw
import pytest

from surehand.cli.belongings import clock
from tests.cli.driver import PROJECT, Project, make

pytestmark = pytest.mark.timeout(120)


def checks(project: Project, *args: str, code: int = 0) -> dict[str, Any]:
    """What was found, by what was looked at."""
    document = project.json("doctor", *args, code=code)
    assert document["ok"] == (code == 0)
    return {one["check"]: one for one in document["checks"]}


def test_a_new_project_is_well_and_stays_untouched(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    before = sorted(path.name for path in project.folder.iterdir())
    ran = project.run("doctor")
    assert ran.code == 0
    assert sorted(path.name for path in project.folder.iterdir() if path.name != "__pycache__") == before
    states = [line.split(": ")[:2] for line in ran.out.splitlines()]
    assert {state for state, _ in states} == {"ok", "warning"}
    assert [check for state, check in states if state == "warning"] == ["tools", "anchor"]
    assert any(line.startswith("ok: SQLite: 3.") for line in ran.out.splitlines())


def test_a_project_at_work(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    project.json("call", "pay", "--args", '{"order": "a", "cents": 5}', "--as", "alice")
    well = checks(project)
    assert {name: well[name]["state"] for name in ("key file", "keys", "store", "unknown calls", "orphans")} == {
        "key file": "ok", "keys": "ok", "store": "ok", "unknown calls": "ok", "orphans": "ok",
    }  # fmt: skip
    assert "mode 0600" in well["key file"]["found"]
    assert well["unsealed records"]["found"] == "none"

    project.run("call", "pay", "--args", '{"order": "lost", "cents": 5}', "--as", "alice")
    open_work = checks(project)["unknown calls"]
    assert (open_work["state"], open_work["found"]) == ("warning", "1")
    assert "`surehand call unknown list`" in open_work["advice"]

    keys = project.folder / "state.db.keys"
    keys.chmod(0o644)
    assert "chmod 600" in checks(project, code=1)["key file"]["found"]
    kept = keys.read_bytes()
    keys.unlink()
    assert checks(project, code=1)["key file"]["state"] == "problem"
    assert not keys.exists()
    other = make(tmp_path / "other")
    other.json("call", "echo", "--args", '{"text": "x"}', "--as", "alice")
    keys.write_bytes((other.folder / "state.db.keys").read_bytes())
    keys.chmod(0o600)
    assert checks(project, code=1)["keys"]["state"] == "problem"
    keys.write_bytes(kept)

    database = apsw.Connection(str(project.folder / "state.db"))
    database.execute("UPDATE surehand_version SET version_num = '9999'")
    database.close()
    assert "upgrade surehand" in checks(project, code=1)["store"]["advice"]


def test_work_of_the_dead_is_counted_and_left(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    process = project.start("call", "slow", "--as", "alice", "--args", '{"order": "s"}', "--key", "k")
    while not (project.folder / "started").exists():
        assert process.poll() is None
    process.kill()
    process.communicate()
    toml = PROJECT.replace("[callers.alice]", "[limits]\nlease_s = 0.01\n[callers.alice]", 1)
    (project.folder / "surehand.toml").write_text(toml, encoding="utf-8")
    for _ in range(2):
        found = checks(project)
        assert (found["orphans"]["found"], found["unknown calls"]["found"]) == ("1", "none")
        assert int(found["unsealed records"]["found"]) >= 1


ANCHOR = PROJECT.replace("[c", 'anchor = "state.db-wal"\n[c', 1)


@pytest.mark.parametrize(
    ("file", "text", "check", "said"),
    [
        pytest.param("surehand.toml", 'stroe = "x"', "project", "there is no setting 'stroe'", id="project"),
        pytest.param("desk.py", "import nothing_like_it", "tools", "cannot be imported", id="tools"),
        pytest.param("policies/pay.cedar", "forbid (x)", "policies", "pay.cedar", id="policies"),
        pytest.param("state.db", "x" * 4096, "store", "not a SQLite database", id="store"),
        pytest.param("surehand.toml", ANCHOR, "anchor", "the database's", id="anchor"),
    ],
)
def test_a_problem_is_told(tmp_path: Path, file: str, text: str, check: str, said: str) -> None:
    project = make(tmp_path / "desk")
    (project.folder / file).write_text(text, encoding="utf-8")
    found = checks(project, code=1)
    assert found[check]["state"] == "problem"
    assert said in found[check]["found"]


def test_postgresql_and_its_clock(postgres_url: str, tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    toml = PROJECT.replace("sqlite:///state.db", postgres_url)
    (project.folder / "surehand.toml").write_text(toml, encoding="utf-8")
    assert "no tables yet" in checks(project)["store"]["found"]
    project.json("call", "pay", "--args", '{"order": "a", "cents": 5}', "--as", "alice")
    found = checks(project)
    assert {found[name]["state"] for name in ("PostgreSQL", "clock", "store", "keys", "anchor")} == {"ok"}
    gone = toml.replace(postgres_url, "postgresql://nobody:secret@127.0.0.1:1/none")
    (project.folder / "surehand.toml").write_text(gone, encoding="utf-8")
    unreachable = checks(project, code=1)["store"]["found"]
    assert "cannot be reached" in unreachable
    assert "secret" not in unreachable


@pytest.mark.parametrize(("at", "state"), [(100.5, "ok"), (104.0, "warning"), (95.0, "warning"), (500.0, "problem")])
def test_a_clock_that_is_off_is_told(at: float, state: str) -> None:
    finding = clock(at, before=100.0, after=101.0)
    assert finding.state == state
    assert bool(finding.advice) == (state != "ok")

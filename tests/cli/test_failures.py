"""What goes wrong before an engine opens: one clear line, the right code, never a traceback."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.driver import PROGRAM, Project, environment, make

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("args", "code", "kind", "said"),
    [
        pytest.param(["tools", "list"], 2, "usage", "callers are alice, bob, eve", id="which-caller"),
        pytest.param(["tools", "list", "--as", "mallory"], 2, "usage", "'mallory'", id="unknown-caller"),
        pytest.param(["tools", "list", "--project", "no.toml"], 1, "config", "--project FILE", id="no-project"),
        pytest.param(["tools", "lst"], 2, "usage", "Did you mean 'list'?", id="no-command"),
        pytest.param(["tools"], 2, "usage", "surehand tools --help", id="half-a-command"),
        pytest.param(["tools", "list", "--colour"], 2, "usage", "--colour", id="no-option"),
        pytest.param(["call", "echo", "--args", "@no.json", "--as", "alice"], 2, "usage", "no.json", id="no-file"),
        pytest.param(["call", "echo", "--turn", "1", "--as", "alice"], 2, "usage", "--run", id="turn-of-no-run"),
    ],
)  # fmt: skip
def test_a_failure_is_a_line_and_a_document(project: Project, args: list[str], code: int, kind: str, said: str) -> None:
    ran = project.run("--json", *args)
    assert ran.code == code
    assert ran.document["error"]["code"] == kind
    assert said in ran.document["error"]["message"]
    if args != ["tools"]:
        assert ran.err == f"surehand: {ran.document['error']['message']}\n"


def test_without_a_command_there_is_help(project: Project) -> None:
    ran = project.run("approvals")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: surehand approvals ")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        pytest.param("surehand.toml", "store = [", "not a TOML file", id="not-toml"),
        pytest.param("surehand.toml", 'stroe = "x"', "there is no setting 'stroe'", id="no-setting"),
        pytest.param(
            "surehand.toml", 'tools = ["desk"]', "names no caller; add a table [callers.NAME]", id="no-caller"
        ),
        pytest.param("desk.py", "import nothing_like_it", "cannot be imported", id="no-module"),
        pytest.param("desk.py", "def broken(:", "desk.py:1", id="not-python"),
        pytest.param("desk.py", "\n\nraise ValueError('\\x1b[31mred')", "desk.py:3: \\x1b[31mred", id="raises"),
    ],
)
def test_a_broken_project_is_told(tmp_path: Path, file: str, text: str, said: str) -> None:
    project = make(tmp_path / "broken")
    (project.folder / file).write_text(text, encoding="utf-8")
    ran = project.run("tools", "list", *(["--as", "alice"] if file == "desk.py" else []))
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert ran.err.startswith("surehand: ")
    assert ran.err.count("\n") == 1


def test_a_reader_that_leaves_is_no_failure_of_ours(project: Project) -> None:
    listing = subprocess.Popen(
        [PROGRAM, "tools", "show", "pay", "--as", "alice"],
        cwd=project.folder,
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.stderr is not None
    with listing.stderr as err:
        assert err.read() == ""
    assert listing.wait(timeout=30) == 1


def test_the_project_may_come_from_the_environment(project: Project, tmp_path: Path) -> None:
    elsewhere = Project(tmp_path)
    toml = str(project.folder / "surehand.toml")
    assert elsewhere.run("policy", "check", SUREHAND_PROJECT=toml).code == 0
    assert elsewhere.run("policy", "check", "--project", "no.toml", SUREHAND_PROJECT=toml).code == 1

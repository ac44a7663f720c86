"""`surehand init`: a project that runs, by the very commands that it prints."""

import shlex
from pathlib import Path

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def test_the_printed_commands_run_as_they_stand(tmp_path: Path) -> None:
    written = Project(tmp_path).run("init", "my shop")
    assert (written.code, written.err) == (0, "")
    before, _, after = written.out.partition("next:\n")
    change, *commands = [shlex.split(line) for line in after.splitlines()]
    assert change == ["cd", "my shop"]
    shop = Project(tmp_path / change[1])
    assert {line.removeprefix("wrote: my shop/") for line in before.splitlines()} == {
        str(path.relative_to(shop.folder)) for path in shop.folder.rglob("*") if path.is_file()
    }
    readme = (shop.folder / "README.md").read_text(encoding="utf-8")
    assert [shlex.split(line) for line in readme.splitlines() if line.startswith("    ")] == commands
    assert all(program == "surehand" for program, *_ in commands)
    (_, *run), (_, *explain), (_, *verify) = commands

    code, shown = shop.on_terminal(*run, answers=[("Approve exactly this as mia? [y/N]", "y\n")], TERM="dumb")
    assert code == 0
    assert "reason: completed" in shown.splitlines()
    paid = shop.folder / "refunds.txt"
    assert paid.read_text(encoding="utf-8") == "A-1 18000\n"
    explained = shop.run(*explain)
    assert (explained.code, "decision: ask" in explained.out.splitlines()) == (0, True)
    verified = shop.run(*verify)
    assert (verified.code, verified.out.splitlines()[0]) == (0, "audit: verified")

    again = shop.run(*run)  # no terminal is needed where nobody must be asked
    assert again.code == 0
    assert "call 2.1 refund: Refunding order A-1: ok, the stored result of an earlier identical call" in again.out
    assert paid.read_text(encoding="utf-8") == "A-1 18000\n"
    assert shop.run("policy", "check", "--json").document["warnings"] == []
    assert shop.run("tools", "lint", "--strict").out == "lint: clean\n"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    here = Project(tmp_path)
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    refused = here.run("init", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (1, "config")
    assert "README.md already" in refused.document["error"]["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    (tmp_path / "file").touch()
    assert here.run("init", "file/below").code == 1
    document = here.run("init", "new", "--json").document
    assert document["folder"] == str(tmp_path.resolve() / "new")
    assert all((tmp_path / "new" / name).is_file() for name in document["files"])

"""The tree of commands: what all share, what it costs to start, and that the reference names all of it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from surehand import __version__
from surehand.approval import ApprovalStatus
from surehand.cli.app import command, run
from surehand.cli.approvals import Status

REFERENCE = Path(__file__).parents[2] / "docs" / "cli.md"
SHARED = {"--project", "--as", "--json", "--help"}


def leaves(one: Any, path: str = "surehand") -> Iterator[tuple[str, Any]]:
    """Every command that does something."""
    inner = getattr(one, "commands", None)
    if inner is None:
        yield path, one
    else:
        for name, child in inner.items():
            yield from leaves(child, f"{path} {name}")


def options(one: Any) -> set[str]:
    """The options of a command, in all their spellings."""
    return {name for param in one.params for name in (*param.opts, *param.secondary_opts) if name.startswith("-")}


def sections() -> dict[str, str]:
    """The reference, by command."""
    found = re.split(r"^### `(.+)`$", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_the_reference_names_every_command_and_option() -> None:
    commands = dict(leaves(command()))
    assert sections().keys() == commands.keys()
    for path, one in commands.items():
        named = set(re.findall(r"--[a-z][a-z-]*", sections()[path]))
        assert options(one) - SHARED <= named, path


def test_the_reference_names_no_option_that_is_not_there() -> None:
    commands = dict(leaves(command()))
    known = SHARED | options(command()) | {name for one in commands.values() for name in options(one)}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", REFERENCE.read_text(encoding="utf-8"))) <= known


def test_every_command_takes_the_shared_options_and_has_help() -> None:
    for path, one in leaves(command()):
        assert SHARED - {"--help"} <= options(one), path
        assert one.help, path
        assert all(param.help for param in one.params), path


def test_every_state_of_an_approval_can_be_listed() -> None:
    assert {status.value for status in Status} == {*get_args(ApprovalStatus), "all"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"surehand {__version__}\n"
    assert run(["--version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": __version__}


@pytest.mark.parametrize(
    "args", [["--json", "tools", "list"], ["tools", "--json", "list"], ["tools", "list", "--json"]]
)
def test_shared_options_stand_anywhere(args: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run([*args, "--project", str(tmp_path / "no.toml")]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "config"


def test_help_loads_nothing_that_is_slow() -> None:
    listing = "import sys; from surehand.cli.app import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: surehand ")
    slow = {"sqlalchemy", "cedarpy", "pydantic", "pydantic_core", "jsonschema_rs", "cryptography", "rich"}
    assert not slow & set(done.stderr.split())

"""Stdout is the answer's alone, whatever the project's code prints, and there always is an answer."""

import json
from pathlib import Path

import pytest

from tests.cli.driver import Project, make

pytestmark = pytest.mark.timeout(120)

LOUD = '''\
import os
import subprocess
import sys
import time

import surehand as sh

print("module loads")


@sh.tool(read_only=True)
def loud() -> str:
    """Prints in every way there is."""
    print("by print")
    os.write(1, b"by descriptor\\n")
    subprocess.run(["echo", "by a program"], check=True)
    return "done"


@sh.tool(read_only=True, timeout_s=0.2)
def endless() -> str:
    """Goes on printing after it was given up."""
    while True:
        print("still here")
        time.sleep(0.001)


@sh.tool(read_only=True)
async def leave() -> str:
    """Wants to exit."""
    sys.exit(0)


@sh.tool(read_only=True)
def leave_thread() -> str:
    """Wants to exit."""
    sys.exit(0)
'''


@pytest.fixture(scope="module")
def loud(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose code prints."""
    project = make(tmp_path_factory.mktemp("loud") / "desk")
    (project.folder / "desk.py").write_text(LOUD, encoding="utf-8")
    (project.folder / "policies" / "pay.cedar").write_text(
        '@id("none") @reason("no") forbid (principal, action == Action::"call/loud", resource)\n'
        'when { context.environment == "none" };',
        encoding="utf-8",
    )
    return project


def test_what_a_handler_prints_is_no_answer(loud: Project) -> None:
    ran = loud.run("call", "loud", "--as", "alice", "--json")
    assert (ran.code, ran.document["content"]) == (0, "done")
    for said in ("module loads", "by print", "by descriptor", "by a program"):
        assert said in ran.err
    for_people = loud.run("call", "loud", "--as", "alice")
    assert [line.split(":")[0] for line in for_people.out.splitlines()] == ["status", "tool", "call", "  done"]


def test_a_module_that_prints_does_not_spoil_a_check(loud: Project) -> None:
    ran = loud.run("policy", "check", "--json")
    assert (ran.code, ran.document["ok"], ran.err) == (0, True, "module loads\n")


def test_a_handler_that_was_given_up_does_not_spoil_the_answer(loud: Project) -> None:
    ran = loud.run("call", "endless", "--as", "alice", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (1, "TOOL_TIMEOUT")
    assert "still here" in ran.err


@pytest.mark.parametrize("tool", ["leave", "leave_thread"])
def test_a_handler_that_exits_is_no_success(loud: Project, tool: str) -> None:
    ran = loud.run("call", tool, "--as", "alice", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["error"]


def test_code_of_the_project_that_exits_is_told(loud: Project, tmp_path: Path) -> None:
    project = make(tmp_path / "exits")
    tools = LOUD.replace("sys.exit(0)", "pass") + "\n\nclass Exit(sh.Interceptor):\n    def __init__(self):\n        "
    (project.folder / "desk.py").write_text(tools + "sys.exit(0)\n", encoding="utf-8")
    toml = (project.folder / "surehand.toml").read_text(encoding="utf-8")
    toml = toml.replace('policies = "policies"', 'interceptors = ["desk:Exit"]')
    (project.folder / "surehand.toml").write_text(toml, encoding="utf-8")
    ran = project.run("tools", "list", "--as", "alice", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (1, "unexpected")
    assert "the project's code ended the process with 0" in ran.err

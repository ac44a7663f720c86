"""`surehand demo`: finds the example, passes arguments on, and keeps stdout to one document with `--json`."""

import pytest

from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def test_the_demo_plays(project: Project) -> None:
    ran = project.run("demo", "--json")
    assert (ran.code, ran.document) == (0, {"exit_code": 0})
    assert "audit: verified" in ran.err


def test_arguments_are_the_examples(project: Project) -> None:
    assert "--dir" in project.run("demo", "--", "--help").out
    wrong = project.run("demo", "--bogus", "--json")
    assert (wrong.code, wrong.document) == (2, {"exit_code": 2})

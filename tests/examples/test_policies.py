"""The example policies: they fit their tools, every row holds, and no policy is without a row."""

from pathlib import Path

import pytest

import surehand as sh
from surehand.compose import load_world

FOLDER = Path(__file__).parents[2] / "examples" / "policies"


@pytest.mark.timeout(60)
def test_every_row_of_the_example_policies_holds() -> None:
    results = sh.policy_rows(FOLDER / "rows.toml", project=FOLDER / "surehand.toml")
    assert [(one.name, one.problems) for one in results if one.problems] == []
    settings, folder = sh.read_project(FOLDER / "surehand.toml")
    world = load_world(settings, folder)
    own = {rule.id for rule in world.policies.rules.values() if rule.source != "built-in"}
    assert own == {name for one in results if one.decision != "allow" for name in one.policies}
    assert world.policies.warnings == ()


def test_the_guide_and_the_readme_explain_each_file() -> None:
    files = {file.name for file in (FOLDER / "policies").iterdir()}
    assert len(files) == 6
    for page in (FOLDER / "README.md", FOLDER.parents[1] / "docs" / "policies.md"):
        text = page.read_text(encoding="utf-8")
        assert [name for name in sorted(files) if f"`{name}`" not in text] == []

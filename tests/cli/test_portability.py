"""`surehand tools lint --portability` and `surehand tools export`."""

import pytest

from surehand.providers import PROVIDERS, dialect
from tests.cli.driver import Project

pytestmark = pytest.mark.timeout(120)


def test_the_matrix_tells_of_each_tool_and_provider(project: Project) -> None:
    cells = project.json("tools", "lint", "--portability")["portability"]
    tools = {one["tool"] for one in cells}
    assert "pay@1.0.0" in tools
    assert len(cells) == len(tools) * len(PROVIDERS)
    pay = {one["provider"]: one for one in cells if one["tool"] == "pay@1.0.0"}
    assert (pay["openai-chat"]["plain"], pay["openai-chat"]["strict"]) == ("whole", "lossless")
    assert (pay["groq"]["plain"], pay["groq"]["strict"]) == ("whole", None)


def test_rows_name_the_providers_that_share_an_outcome(project: Project) -> None:
    lines = project.run("tools", "lint", "pay", "--portability").out.splitlines()
    rows = [line.split("\t") for line in lines]
    assert {row[0] for row in rows} == {"pay@1.0.0"}
    named = [name for row in rows for name in row[1].split(", ")]
    assert sorted(named) == sorted(PROVIDERS)
    assert any("groq" in row[1] and row[2:4] == ["whole", "none"] for row in rows)


@pytest.mark.parametrize("name", ["openai-chat", "anthropic", "deepseek"])
def test_an_export_is_what_the_request_takes(project: Project, name: str) -> None:
    tools = project.run("tools", "export", "--for", name, "--as", "alice").document
    written = project.json("tools", "export", "--for", name, "--as", "alice")
    assert written["tools"] == tools
    assert written["provider"] == name
    assert "pay" in written["wire_names"].values()
    listed = project.json("tools", "list", "--as", "alice")["tools"]
    assert sorted(written["wire_names"].values()) == sorted(one["name"] for one in listed)
    assert written["verdicts"] == {}


def test_a_strict_export_says_what_became_of_each_tool(project: Project) -> None:
    written = project.json("tools", "export", "--for", "openai-chat", "--strict", "--as", "alice")
    assert written["verdicts"]["pay"] == "lossless"
    ran = project.run("tools", "export", "--for", "deepseek", "--strict", "--as", "alice")
    assert "pay: unsupported, sent without strict: the provider has no strict mode" in ran.err


def test_a_provider_that_nobody_knows_is_named(project: Project) -> None:
    ran = project.run("tools", "export", "--for", "nobody", "--as", "alice")
    assert ran.code != 0
    assert "there is no provider 'nobody'; choose one of anthropic, " in ran.err
    with pytest.raises(Exception, match="nobody"):
        dialect("nobody")

"""What the documents say runs as it stands there."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.policy import Policies, read_policies
from surehand.policy.sources import builtin_source
from surehand.providers import registered
from surehand.registry import Catalog
from surehand.spec.fields import ToolFields

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


async def run(code: str, names: dict[str, Any]) -> None:
    compiled = compile(code, "<doc>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(compiled, names)
    if inspect.isawaitable(result):
        await result


@pytest.fixture
def same_providers() -> Iterator[None]:
    """What a page registers is gone after it: other tests go by the providers that there are."""
    known: dict[str, Any] = registered._known  # pyright: ignore[reportPrivateUsage]
    before = dict(known)
    yield
    known.clear()
    known.update(before)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
@pytest.mark.usefixtures("same_providers")
async def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "doc"}
    for block in blocks(page, "python"):
        before, _, main = block.partition("asyncio.run(main())")
        await run(before, names)
        if main:
            await names["main"]()
    if page.name == "README.md":
        said = capsys.readouterr().out.splitlines()
        assert said[0].startswith("pending - ")
        assert said[1:] == ["ok - refunded 50000 cents of order 7", "True", "True"]
        await names["main"]()  # as when the program is run again
        assert capsys.readouterr().out.splitlines() == [said[1], "True", "True"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


def test_the_project_file_of_the_guide_is_read(tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "project.md", "toml")
    (tmp_path / "surehand.toml").write_text(block, encoding="utf-8")
    settings, folder = sh.read_project(tmp_path / "surehand.toml")
    assert folder == tmp_path.resolve()
    assert settings.callers["sam"].agent == "support-bot"
    assert settings.limits.result_chars == 20_000


def test_every_public_name_and_stage_has_its_place() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (ROOT / "src/surehand").iterdir() if path.suffix == ".py" or path.is_dir()}
    for room in rooms - {"__init__", "__pycache__", "py"}:
        assert f"`{room}`" in architecture, room
    for name in sh.__all__:
        assert getattr(sh, name) is not None


def test_the_guide_names_every_option_of_a_tool() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    table = page.partition("## Options of `@sh.tool`")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    named = {name: row[1] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert named.keys() == ToolFields.__optional_keys__
    spec = sh.ToolSpec(name="x", description="X.")
    for name, default in named.items():
        value = getattr(spec, name, None)
        if isinstance(value, str | bool) and name not in ("name", "description"):
            assert default.startswith((f'`"{value}"`', f"`{value}`", '`""`')), name
        elif isinstance(value, float):
            assert float(default.split()[0].replace(",", "")) == value, name


def test_the_guide_names_every_built_in_policy() -> None:
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    builtin = builtin_source("approver", "deny").text
    for policy_id in re.findall(r'@id\("(.+?)"\)', builtin):
        assert f"`{policy_id}`" in page, policy_id
    for role in re.findall(r'Role::"(.+?)"', builtin):
        assert f"| `{role}` |" in page, role


def test_the_guide_names_every_setting() -> None:
    page = (ROOT / "docs" / "project.md").read_text(encoding="utf-8")
    for name in sh.Settings.__dataclass_fields__:
        told = {"read_only_records": "read_only =", "filters": "agents."}.get(name, name)
        assert any(f"\n{begin}{told}" in page for begin in ("", "[", "[[")), name


def test_the_security_page_names_tests_that_exist() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_the_example_policies_of_the_guide_parse(tmp_path: Path) -> None:
    @sh.tool(permissions=["refunds:write"], key=["order_id"])
    async def refund(order_id: int, amount_cents: int) -> str:
        """Refunds part of an order."""
        return "refunded"

    @sh.tool(permissions=["pay"], key=["invoice"])
    async def pay(invoice: str, to: str) -> str:
        """Pays an invoice."""
        return "paid"

    registry = sh.Registry()
    registry.register(refund)
    registry.register(pay)
    catalog: Catalog = registry.catalog
    whole = [block for block in blocks(ROOT / "docs" / "policies.md", "cedar") if "..." not in block]
    (tmp_path / "guide.cedar").write_text("\n".join(whole), encoding="utf-8")
    policies = Policies.load(read_policies(tmp_path), catalog)
    assert {"refund-large", "surehand.medium"} <= set(policies.rules)

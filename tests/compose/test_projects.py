"""`open_project`: modules of tools and interceptors, found, imported, and told apart."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import surehand as sh

TOOL = '''
import surehand as sh

@sh.tool(read_only=True)
async def {name}() -> str:
    """Looks."""
    return "{name}"
'''
AROUND = """
import surehand as sh

class Block(sh.Interceptor):
    name = "block"

    def before(self, call):
        return sh.Block("blocked by the project")

class Needs(sh.Interceptor):
    def __init__(self, cap):
        self.cap = cap

    def after(self, call, result):
        return sh.Rewrite(f"{result.content}, capped at {self.cap}")

class Idle(sh.Interceptor):
    pass

capped = Needs(5)
number = 5
"""
CALLER = '[callers.ann]\ntenant = "acme"\n'


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test's modules are its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def project(folder: Path, settings: str, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    file = folder / "surehand.toml"
    file.write_text(f'store = "sqlite://"\n{settings}\n{CALLER}', encoding="utf-8")
    return file


async def ask(engine: sh.Engine, name: str) -> sh.ToolResult:
    async with engine:
        return await engine.call(sh.ToolCall(id="1", name=name), sh.Caller(id="ann", tenant="acme"))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("def broken(:", "SyntaxError at {folder}/broken.py:1"),
        ("\nundefined", "NameError at {folder}/broken.py:2"),
        ("\n\nimport sys; sys.exit(0)", "it wants to exit at {folder}/broken.py:3 with 0"),
        ("class Odd(BaseException): pass\nraise Odd", "Odd at {folder}/broken.py:2"),
        ("import nothing_like_it", "No module named 'nothing_like_it'"),
        ("import json\njson.loads('')", "JSONDecodeError at {folder}/broken.py:2"),
        ("pay = 1", "holds no tool; decorate functions with @sh.tool"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(module: str, said: str, tmp_path: Path) -> None:
    file = project(tmp_path, 'tools = ["broken"]', broken=module)
    with pytest.raises(sh.ConfigError, match=r"^tools: module 'broken' ") as refused:
        sh.open_project(file)
    assert said.format(folder=tmp_path.resolve()) in str(refused.value)


def test_ctrl_c_during_an_import_ends_it(tmp_path: Path) -> None:
    file = project(tmp_path, 'tools = ["broken"]', broken="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        sh.open_project(file)


def test_a_contract_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    text = 'import surehand as sh\n\n@sh.tool(read_only=True)\ndef odd(*args: str) -> str:\n    "Is odd."\n'
    file = project(tmp_path, 'tools = ["odd"]', odd=text)
    with pytest.raises(sh.SpecError, match=r"tool 'odd': .* at .*odd\.py:3"):
        sh.open_project(file)


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sh.ConfigError, match=r"No module named 'nowhere', neither in .* nor where Python looks"):
        sh.open_project(project(tmp_path, 'tools = ["nowhere"]'))


def test_a_folder_of_that_name_holds_no_tool(tmp_path: Path) -> None:
    (tmp_path / "spaces_only").mkdir()
    with pytest.raises(sh.ConfigError, match="'spaces_only' holds no tool"):
        sh.open_project(project(tmp_path, 'tools = ["spaces_only"]'))


def test_two_tools_of_one_name_and_version_are_refused(tmp_path: Path) -> None:
    look = TOOL.format(name="look")
    with pytest.raises(sh.RegistryError, match=r"look@1\.0\.0 is already registered"):
        sh.open_project(project(tmp_path, 'tools = ["one_of", "two_of"]', one_of=look, two_of=look))


async def test_a_tool_that_two_modules_hold_is_one(tmp_path: Path) -> None:
    again = "from home_of import look\n"
    file = project(
        tmp_path, 'tools = ["home_of", "again_of", "home_of"]', home_of=TOOL.format(name="look"), again_of=again
    )
    assert (await ask(sh.open_project(file), "look")).content == "look"


async def test_interceptors_of_the_file_come_first(tmp_path: Path) -> None:
    class Last(sh.Interceptor):
        def after(self, call: sh.Proposed, result: sh.ToolResult) -> sh.Rewrite:
            return sh.Rewrite(f"{result.content}, last before")

    settings = 'tools = ["looks"]\ninterceptors = ["around:capped"]'
    file = project(tmp_path, settings, looks=TOOL.format(name="look"), around=AROUND)
    assert (await ask(sh.open_project(file), "look")).content == "look, capped at 5"
    inner = await ask(sh.open_project(file, interceptors=[Last()]), "look")
    assert inner.content == "look, last before, capped at 5"


async def test_a_class_is_made_without_arguments(tmp_path: Path) -> None:
    settings = 'tools = ["looks"]\ninterceptors = ["around:Block"]'
    file = project(tmp_path, settings, looks=TOOL.format(name="look"), around=AROUND)
    assert (await ask(sh.open_project(file), "look")).content == "blocked by the project"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("around:Blok", "there is no 'Blok' in module 'around'; did you mean 'Block'?"),
        ("around:Needs", "'around:Needs' cannot be made without arguments (TypeError: "),
        ("around:Idle", "Idle overrides neither before nor after"),
        ("around:number", "'around:number' is no interceptor"),
        ("around:sh", "'around:sh' is no interceptor"),
        ("looks:Block", "module 'looks' holds no interceptor"),
        ("nowhere:Block", "No module named 'nowhere'"),
    ],
)
def test_what_is_no_interceptor_is_told(place: str, said: str, tmp_path: Path) -> None:
    settings = f'tools = ["looks"]\ninterceptors = ["{place}"]'
    file = project(tmp_path, settings, looks=TOOL.format(name="look"), around=AROUND)
    with pytest.raises(sh.ConfigError, match=r"^interceptors: ") as refused:
        sh.open_project(file)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["keys", "anchor"])
def test_the_project_file_is_no_place_for_keys(name: str, tmp_path: Path) -> None:
    file = project(tmp_path, f'{name} = "surehand.toml"')
    before = file.read_text(encoding="utf-8")
    with pytest.raises(sh.ConfigError, match=f"the project file and {name} are the same file"):
        sh.open_project(file)
    assert file.read_text(encoding="utf-8") == before


async def test_a_project_takes_a_resolver_and_a_clock(tmp_path: Path) -> None:
    class Frozen:
        def now_us(self) -> int:
            return 1_700_000_000_000_000

        def monotonic(self) -> float:
            return 1.0

    class Nobody:
        async def refresh(self, stored: sh.Caller, by: sh.Caller) -> sh.Caller | None:
            return None

    file = project(tmp_path, "")
    engine = sh.open_project(file, clock=Frozen(), resolver=Nobody())
    assert engine.services.clock.now_us() == 1_700_000_000_000_000
    assert isinstance(engine.services.resolver, Nobody)
    with pytest.raises(sh.ConfigError, match="resolver is the class Nobody"):
        sh.open_project(file, resolver=Nobody)  # pyright: ignore[reportArgumentType]

"""The rules of the layout that neither ruff nor import-linter can state. CONTRIBUTING.md lists all of them.

A rule may have exceptions: each is an entry with its reason, and an entry that nothing needs any more fails too.
"""

import ast
import configparser
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = "surehand"

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8
ATTICS = {"common", "core", "helpers", "manager", "utils"}

# Where a library may be imported: rooms, or modules in them. An empty set: nowhere.
LIBRARIES: Mapping[str, frozenset[str]] = {
    library: frozenset(rooms)
    for libraries, rooms in {
        "alembic apsw psycopg psycopg_pool sqlalchemy": ["storage"],
        "anthropic boto3 botocore google mistralai openai": ["agent"],
        "cedarpy": ["policy"],
        "anyio mcp mcp_types": ["sources.mcp"],
        "httpcore2 httpx2": ["sources"],
        "pydantic": ["spec", "sources.mcp"],
        "rich typer": ["cli"],
        "yaml": ["sources"],
        "fastjsonschema httpx jsonschema requests respx": [],
    }.items()
    for library in libraries.split()
}

# What `import surehand` must leave alone: slow to import, or an optional extra.
LAZY = {
    "alembic",
    "anthropic",
    "apsw",
    "boto3",
    "botocore",
    "cedarpy",
    "fastapi",
    "google",
    "httpcore2",
    "httpx2",
    "mcp",
    "mcp_types",
    "mistralai",
    "openai",
    "psycopg",
    "rich",
    "sqlalchemy",
    "typer",
    "yaml",
}

# Exceptions, "module" or "module:qualified.name" -> why.
LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}
MANY_PARAMETERS: dict[str, str] = {}
LIBRARY_GUESTS: dict[str, str] = {}  # "module:library" -> why


class Module(NamedTuple):
    """A module of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The module's name within the package."""
        return self.name.removeprefix(PACKAGE).removeprefix(".")


class Function(NamedTuple):
    """A function and its name with its module's."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    is_method: bool


@cache
def modules() -> tuple[Module, ...]:
    """Parse the package."""
    found: list[Module] = []
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, text, ast.parse(text)))
    assert found
    return tuple(found)


@cache
def functions() -> tuple[Function, ...]:
    """Find every function, method and nested function."""
    return tuple(function for module in modules() for function in _functions(module.tree, f"{module.name}:", False))


def _functions(parent: ast.AST, prefix: str, in_class: bool) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {name.id for name in node.decorator_list if isinstance(name, ast.Name)}
            yield Function(prefix + node.name, node, in_class and "staticmethod" not in decorators)
            yield from _functions(node, f"{prefix}{node.name}.", False)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.", True)
        else:
            yield from _functions(node, prefix, in_class)


def imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Give the top-level name and the line of each absolute import, wherever in the module it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0], node.lineno


def parameters(function: Function) -> int:
    """Count a function's parameters, less `self` or `cls`."""
    arguments = function.node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    stars = [star for star in (arguments.vararg, arguments.kwarg) if star]
    return len(named) + len(stars) - function.is_method


def length(function: Function) -> int:
    """Count a function's lines, less its decorators."""
    assert function.node.end_lineno is not None
    return function.node.end_lineno - function.node.lineno + 1


def check(breaches: Mapping[str, str], exceptions: Mapping[str, str]) -> None:
    """Compare what breaks a rule with what is allowed to."""
    assert all(reason.strip() for reason in exceptions.values()), "an exception needs a reason"
    problems = [f"{name}: {what}" for name, what in breaches.items() if name not in exceptions]
    problems += [f"{name}: listed as an exception, but keeps the rule" for name in exceptions.keys() - breaches.keys()]
    assert not problems, "\n" + "\n".join(sorted(problems))


def test_modules_are_short() -> None:
    lines = {module.name: len(module.text.splitlines()) for module in modules()}
    check({name: f"{n} lines" for name, n in lines.items() if n > MAX_MODULE_LINES}, LONG_MODULES)


@pytest.mark.parametrize(
    ("measure", "most", "unit", "exceptions"),
    [
        pytest.param(length, MAX_FUNCTION_LINES, "lines", LONG_FUNCTIONS, id="length"),
        pytest.param(parameters, MAX_PARAMETERS, "parameters", MANY_PARAMETERS, id="parameters"),
    ],
)
def test_functions_are_small(
    measure: Callable[[Function], int], most: int, unit: str, exceptions: dict[str, str]
) -> None:
    sizes = {function.name: measure(function) for function in functions()}
    check({name: f"{n} {unit}" for name, n in sizes.items() if n > most}, exceptions)


def test_every_name_says_what_is_inside() -> None:
    check({module.name: "an attic" for module in modules() if ATTICS & set(module.name.split("."))}, {})


def test_public_modules_have_docstrings() -> None:
    public = [module for module in modules() if not any(re.match("_(?!_)", part) for part in module.name.split("."))]
    check({module.name: "no docstring" for module in public if not ast.get_docstring(module.tree)}, {})


def test_libraries_stay_in_their_rooms() -> None:
    breaches: dict[str, str] = {}
    for module in modules():
        for library, line in imported(module.tree):
            rooms = LIBRARIES.get(library)
            if rooms is not None and not any(f"{module.room}.".startswith(f"{room}.") for room in rooms):
                breaches[f"{module.name}:{library}"] = f"line {line}: {library} belongs to {sorted(rooms) or 'nobody'}"
    check(breaches, LIBRARY_GUESTS)


def test_importing_the_package_is_cheap() -> None:
    listing = "import surehand, sys; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert PACKAGE in loaded
    assert not LAZY.intersection(loaded)


def test_every_edge_is_kept_from_the_pipeline() -> None:
    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter", encoding="utf-8")
    layers = linter["importlinter:contract:layers"]["layers"].splitlines()
    (edges,) = ({room.strip(" ()") for room in line.split("|")} - {"engine"} for line in layers if "storage" in line)
    existing = {f"{PACKAGE}.{edge}" for edge in edges if f"{PACKAGE}.{edge}" in {module.name for module in modules()}}
    assert set(linter["importlinter:contract:edges"]["source_modules"].split()) == existing


def repository_files() -> list[Path]:
    """List what git tracks or is about to."""
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def test_files_name_no_place_of_one_machine() -> None:
    home = re.compile(rb"""(?<![\w./}*-])/(?:home|opt|root|Users|work)/\w""")
    files = repository_files()
    assert Path(__file__) in files
    breaches: dict[str, str] = {}
    for path in files:
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if home.search(line):
                breaches[f"{path.relative_to(ROOT)}:{number}"] = "an absolute path of some machine"
    check(breaches, {})


def test_locks_name_no_registry() -> None:
    assert not (ROOT / "uv.lock").exists()
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    assert [lock.stem for lock in locks] == ["all", "base", "dev", "tau2"]
    for lock in locks:
        assert not re.search(r"://|^\s*(-i|-f|--(index|extra|find))", lock.read_text(encoding="utf-8"), re.MULTILINE)

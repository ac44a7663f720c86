"""Where policy texts come from: files, folders, and the built-in ones that ship with the package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Literal

from ..errors import PolicyError

BUILTIN_GROUP = "approver"
"""The approver group as the built-in file writes it."""
_TENANTS = "tenants"
"""The folder with a folder for each tenant that has policies of its own."""
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|;', re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True, slots=True)
class PolicySource:
    """One policy text and what to call it in messages."""

    name: str
    """A file name or a label."""
    text: str
    """Cedar, any number of policies."""
    tenant: str | None = None
    """The only tenant that they hold for; `None` for all."""


def read_policies(
    path_or_paths: str | PathLike[str] | Iterable[str | PathLike[str]],
) -> list[PolicySource]:
    """Reads policy files; of a folder its `*.cedar` files in sorted order, then its `tenants/TENANT/*.cedar`.

    Other folders inside it are left alone. Those below `tenants` hold for the tenant that their folder is named after.

    Raises:
        PolicyError: A path does not exist, holds no policy file, or is not UTF-8; or something else is in `tenants`.
    """
    single = isinstance(path_or_paths, str | PathLike)
    paths = [Path(path_or_paths)] if single else [Path(path) for path in path_or_paths]
    problems: list[str] = []
    sources: list[PolicySource] = []
    for path in paths:
        found = [*_in_folder(path, problems)] if path.is_dir() else [(path.name, path, None)]
        if not found:
            problems.append(f"{path}: no *.cedar file in this folder; add one, or leave the setting out")
        for name, file, tenant in found:
            try:
                sources.append(PolicySource(name, file.read_text(encoding="utf-8"), tenant))
            except UnicodeDecodeError:
                problems.append(f"{file}: not UTF-8; save it as UTF-8")
            except OSError as error:
                problems.append(f"{file}: cannot be read ({error.strerror}); check the path")
    if not paths:
        problems.append("no policy path is given; name a folder or a *.cedar file")
    if problems:
        raise PolicyError(problems)
    return sources


def _in_folder(folder: Path, problems: list[str]) -> Iterator[tuple[str, Path, str | None]]:
    """Each file with its name in messages and the tenant that it is for."""
    yield from ((file.name, file, None) for file in sorted(folder.glob("*.cedar")))
    of_tenants = folder / _TENANTS
    there = sorted(of_tenants.iterdir()) if of_tenants.is_dir() else []
    for own in (one for one in there if not one.name.startswith(".")):
        files = sorted(own.glob("*.cedar"))
        if not files:
            problems.append(
                f"{own}: not a folder with *.cedar files; write {of_tenants}/TENANT/NAME.cedar, or remove it"
            )
        yield from ((f"{_TENANTS}/{own.name}/{file.name}", file, own.name) for file in files)


def builtin_source(approver_group: str, irreversible: Literal["ask", "deny"]) -> PolicySource:
    """The built-in policies in force, as readable text."""
    text = _packaged("builtin.cedar").replace(f'@approvers("{BUILTIN_GROUP}")', f'@approvers("{approver_group}")')
    if irreversible == "deny":
        text = f"{text}\n{_packaged('irreversible.cedar')}"
    return PolicySource("built-in", text)


def _packaged(name: str) -> str:
    return (files(__name__.rpartition(".")[0]) / name).read_text(encoding="utf-8")


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Each policy of a text with the line it begins on. A semicolon ends a policy and is nothing else in Cedar."""
    start = 0
    for token in _TOKEN.finditer(text):
        if token.group() == ";":
            yield _placed(text, start, token.end())
            start = token.end()
    if _COMMENT.sub("", text[start:]).strip():
        yield _placed(text, start, len(text))


def _placed(text: str, start: int, end: int) -> tuple[int, str]:
    leading = re.compile(r"(?:\s|//[^\n]*)*").match(text, start, end)
    begin = leading.end() if leading else start
    return text.count("\n", 0, begin) + 1, text[begin:end]

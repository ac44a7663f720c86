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
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|;', re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True, slots=True)
class PolicySource:
    """One policy text and what to call it in messages."""

    name: str
    """A file name or a label."""
    text: str
    """Cedar, any number of policies."""


def read_policies(
    path_or_paths: str | PathLike[str] | Iterable[str | PathLike[str]],
) -> list[PolicySource]:
    """Reads policy files; of a folder its `*.cedar` files in sorted order, without subfolders.

    Raises:
        PolicyError: A path does not exist, holds no policy file, or is not UTF-8.
    """
    single = isinstance(path_or_paths, str | PathLike)
    paths = [Path(path_or_paths)] if single else [Path(path) for path in path_or_paths]
    problems: list[str] = []
    sources: list[PolicySource] = []
    for path in paths:
        found = sorted(path.glob("*.cedar")) if path.is_dir() else [path]
        if not found:
            problems.append(f"{path}: no *.cedar file in this folder; add one, or leave the setting out")
        for file in found:
            try:
                sources.append(PolicySource(file.name, file.read_text(encoding="utf-8")))
            except UnicodeDecodeError:
                problems.append(f"{file}: not UTF-8; save it as UTF-8")
            except OSError as error:
                problems.append(f"{file}: cannot be read ({error.strerror}); check the path")
    if not paths:
        problems.append("no policy path is given; name a folder or a *.cedar file")
    if problems:
        raise PolicyError(problems)
    return sources


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

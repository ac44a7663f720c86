"""Takes a docstring (Google, NumPy or Sphinx) apart: what the model reads about the tool, and about each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

_GOOGLE = re.compile(r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):")
_NUMPY = re.compile(r"(Other )?Parameters")
_FIELD = re.compile(r"[:@](param|parameter|arg|argument|key|keyword|type)\s[^:]*:")


def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description without the section on arguments, and the description of each argument."""
    if not text or not text.strip():
        return "", {}
    import docstring_parser  # 14 ms, only where a tool is made from a function

    clean = inspect.cleandoc(text)
    try:
        parsed = docstring_parser.parse(clean)
    except docstring_parser.ParseError:
        return clean, {}
    arguments = [
        meta for meta in parsed.meta if isinstance(meta, docstring_parser.DocstringParam) and _is_argument(meta)
    ]
    if not arguments:
        return clean, {}
    described = {meta.arg_name.lstrip("*"): " ".join((meta.description or "").split()) for meta in arguments}
    return "\n".join(_without_arguments(clean.splitlines())).strip(), described


def _is_argument(meta: object) -> bool:
    words: list[str] = getattr(meta, "args", [])
    return bool(words) and words[0] not in ("attribute", "attr")


def _without_arguments(lines: Sequence[str]) -> Iterator[str]:
    """The lines outside the sections on arguments."""
    ends_at = ""
    for index, line in enumerate(lines):
        ruled = index + 1 < len(lines) and set(lines[index + 1].strip()) == {"-"}
        if ruled and _NUMPY.fullmatch(line.rstrip()):
            ends_at = "next heading"
        elif _GOOGLE.fullmatch(line.rstrip()) or _FIELD.match(line):
            ends_at = "next line at the margin"
        elif ruled or (ends_at == "next line at the margin" and line[:1].strip()):
            ends_at = ""
        if not ends_at:
            yield line

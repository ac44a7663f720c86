"""A file of sample calls: rows of one or several tools, for release checks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from ..errors import ConfigError, SpecError
from ..spec import Sample
from ..types import Caller

_MAX_CHARS: Final = 4 * 1024 * 1024
_KEYS: Final = ("tool", "kind", "caller", "arguments", "status", "code", "timeout_s")


def read_samples(
    path: str | Path, name: str, version: str = "", *, callers: Mapping[str, Caller] | None = None
) -> list[Sample]:
    """The samples of one tool in a TOML file of tables `[[sample]]`.

    Args:
        path: The file.
        name: Of the tool. A row's `tool` is a name or `name@version`.
        version: Which one; rows of another version are left out.
        callers: Those that a row's `caller` may name. It may also be a table such as `{ tenant = "acme" }`.

    Raises:
        ConfigError: The file cannot be read, or a row is wrong; the message names it.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_CHARS + 1)
        if len(text) > _MAX_CHARS:
            raise ConfigError(f"{path}: more than {_MAX_CHARS} characters; that is no file of samples")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"the samples {path} cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error
    rows = document.get("sample", [])
    if not isinstance(rows, list) or document.keys() - {"sample"}:
        raise ConfigError(f"{path}: write each sample as a table [[sample]], and nothing else")
    found: list[Sample] = []
    for number, row in enumerate(cast("list[Any]", rows), 1):
        try:
            of, sample = _sample(row, callers or {})
        except (ConfigError, SpecError) as error:
            raise ConfigError(f"{path}: sample {number}: {error}") from error
        if of in (name, f"{name}@{version}"):
            found.append(sample)
    return found


def _sample(row: Any, callers: Mapping[str, Caller]) -> tuple[str, Sample]:
    if not isinstance(row, dict):
        raise ConfigError("it must be a table")
    values = cast("dict[str, Any]", row)
    if unknown := values.keys() - set(_KEYS):
        raise ConfigError(f"there is no key {sorted(unknown)[0]!r}; known are {', '.join(_KEYS)}")
    of = values.pop("tool", None)
    if not isinstance(of, str) or not of:
        raise ConfigError('tool is missing; write tool = "NAME" or tool = "NAME@VERSION"')
    if "kind" not in values:
        raise ConfigError("kind is missing; write good, bad, denied or slow")
    if "caller" in values:
        values["caller"] = _caller(values["caller"], callers)
    return of, Sample(**values)


def _caller(value: Any, callers: Mapping[str, Caller]) -> Caller:
    if isinstance(value, str):
        if value not in callers:
            known = ", ".join(sorted(callers)) or "none"
            raise ConfigError(f"there is no caller {value!r}; there is {known}")
        return callers[value]
    try:
        return Caller(**cast("Any", {"id": "sample", **value}))
    except TypeError:
        raise ConfigError(
            'caller must be a name, or a table such as { tenant = "acme", roles = ["support"] }'
        ) from None

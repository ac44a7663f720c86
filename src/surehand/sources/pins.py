"""Pins: a definition from outside is approved by its hash, and a changed one is another version that waits.

The version of such a tool is made of the hash, so that what was approved is what is there, in every process, and a
definition that comes back as it was is the version that it was.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ..errors import ConfigError
from ..spec import ToolSpec
from ..spec.hashes import content_hash

_HASH_CHARS: Final = 12


class Pins(msgspec.Struct, frozen=True, kw_only=True):
    """The versions that a project has approved: tool name -> version."""

    versions: Mapping[str, str] = {}


def definition_hash(spec: ToolSpec) -> str:
    """Of what people approve: name, texts, schemas, effects, hints and where it runs."""
    return content_hash(
        [
            spec.name,
            spec.description,
            spec.display,
            spec.parameters,
            spec.output_schema,
            spec.read_only,
            spec.risk,
            spec.target,
            spec.source,
            spec.tags,
        ]
    )


def version_of(spec: ToolSpec) -> str:
    """The version that a definition has by its hash."""
    return f"1.0.0+{definition_hash(spec)[:_HASH_CHARS]}"


def read_pins(file: Path) -> Pins:
    """The pins of a file; none where there is none.

    Raises:
        ConfigError: The file cannot be read, or is not of this form.
    """
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Pins()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: it cannot be read: {error}") from error
    tools = data.get("tools", {})
    if not isinstance(tools, dict) or data.keys() - {"tools"}:
        raise ConfigError(f'{file}: write a table [tools] with lines `"name" = "version"`, and nothing else')
    wrong = [name for name, version in tools.items() if not isinstance(version, str)]  # pyright: ignore[reportUnknownVariableType]
    if wrong:
        raise ConfigError(f"{file}: the version of {wrong[0]!r} must be a text")
    return Pins(versions=tools)  # pyright: ignore[reportUnknownArgumentType]


def write_pins(file: Path, pins: Pins) -> None:
    """Writes the file anew, in the order of the names."""
    lines = [f'"{name}" = "{version}"' for name, version in sorted(pins.versions.items())]
    head = "# Definitions of tools from outside that this project has approved: `surehand sources pin`.\n\n[tools]\n"
    file.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")

"""The matrix of tools and providers."""

from typing import Any

import pytest

import surehand as sh
from surehand.testing.dialect_wire import EITHER, MAP, spec_of

ROWS: list[tuple[str, dict[str, Any], str, str, str | None, str]] = [
    ("plain", {"type": "object", "properties": {}}, "openai-chat", "whole", "lossless", ""),
    ("map", MAP, "openai-chat", "whole", "unsupported", "properties/counts"),
    ("map", MAP, "groq", "whole", None, ""),
    ("either", EITHER, "anthropic", "changed", "lossy", "combinators at the root"),
    ("odd", {"type": "object", "properties": {"$top": {"type": "string"}}}, "anthropic", "changed", "lossy", "`$top`"),
]


@pytest.mark.parametrize(("name", "parameters", "provider", "plain", "strict", "why"), ROWS)
def test_a_cell(name: str, parameters: dict[str, Any], provider: str, plain: str, strict: str | None, why: str) -> None:
    (cell,) = sh.portability([spec_of(name, parameters)], providers=[provider])
    assert (cell.tool, cell.provider, cell.plain, cell.strict) == (f"{name}@1.0.0", provider, plain, strict)
    assert why in "; ".join(cell.notes)
    assert bool(cell.notes) == bool(why)


def test_every_provider_has_a_cell_for_every_tool() -> None:
    from surehand.providers import PROVIDERS

    cells = sh.portability([spec_of("a"), spec_of("b")])
    assert [(one.tool, one.provider) for one in cells] == [
        (tool, provider) for tool in ("a@1.0.0", "b@1.0.0") for provider in sorted(PROVIDERS)
    ]


def test_a_provider_that_nobody_knows() -> None:
    with pytest.raises(sh.ConfigError, match="no provider 'nobody'"):
        sh.portability([spec_of("a")], providers=["nobody"])

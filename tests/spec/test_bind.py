"""Handlers for contracts that were written first."""

import functools
from typing import Any

import pytest

from surehand.errors import SpecError
from surehand.spec import ToolSpec, bind_tool, raw_tool
from surehand.spec.bind import is_async, require_runner

SPEC = ToolSpec(
    name="add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    injected={"tenant": "tenant"},
)


def add(a: int, b: int = 0, *, tenant: str) -> int:
    return a + b


def raw(context: object, arguments: str) -> str:
    return arguments


async def wait(context: object, arguments: str) -> str:
    return arguments


def test_bind_tool() -> None:
    tool = bind_tool(SPEC, add, check=lambda arguments: None)
    assert (tool.raw, tool.bind, tool.canonical, tool.dump) == (False, None, None, None)
    assert tool.spec.target.endswith(":add")
    assert tool.spec.contract_hash == SPEC.contract_hash
    assert tool.check is not None


def test_raw_tool() -> None:
    tool = raw_tool(SPEC, raw, undo=add)
    assert tool.raw
    assert tool.undo is add
    assert raw_tool(ToolSpec(name="a", description="A.", target="mcp:server"), raw).spec.target == "mcp:server"


def test_any_keywords() -> None:
    assert bind_tool(SPEC, lambda **arguments: arguments)(a=1) == {"a": 1}
    assert raw_tool(SPEC, functools.partial(raw)).spec.target.endswith(":raw")
    assert bind_tool(SPEC, dict).handler is dict


@pytest.mark.parametrize(
    "handler", [lambda: 1, lambda a: a, lambda a, b, c, tenant: a, lambda a, b, /, tenant: a, "add", None]
)
def test_bind_tool_refuses(handler: Any) -> None:
    with pytest.raises(SpecError, match="tool 'add'"):
        bind_tool(SPEC, handler)


@pytest.mark.parametrize("handler", [lambda: 1, lambda context: 1, lambda a, b, c: 1, 5])
def test_raw_tool_refuses(handler: Any) -> None:
    with pytest.raises(SpecError, match="tool 'add'"):
        raw_tool(SPEC, handler)


class Callable:
    async def __call__(self, context: object, arguments: str) -> str:
        return arguments


def test_runner_fits() -> None:
    def made(runner: Any) -> ToolSpec:
        return ToolSpec(name="a", description="A.", runner=runner)

    assert raw_tool(made("inline"), raw).spec.runner == "inline"
    for handler in (wait, functools.partial(wait, None), Callable()):
        assert is_async(handler)
        with pytest.raises(SpecError, match="runner='thread'"):
            require_runner(made("thread"), handler)
    assert not is_async(raw)

    def many(context: object, arguments: str) -> Any:
        yield arguments

    with pytest.raises(SpecError, match="generator"):
        raw_tool(made("auto"), many)


@pytest.mark.parametrize("bound", [bind_tool, raw_tool])
def test_a_contract_is_needed(bound: Any) -> None:
    with pytest.raises(SpecError, match="bound to a ToolSpec"):
        bound("add", add)

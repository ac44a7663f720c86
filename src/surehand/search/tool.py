"""`search_tools`: an ordinary read-only tool, governed and recorded like any other."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, cast

from ..call import ToolResult
from ..errors import RegistryError
from ..providers import PROVIDERS
from ..registry import SEARCH_TOOL, Registry
from ..spec import Tool, ToolSpec, bind_tool
from ..types import Caller, Output
from ..view import ToolView
from .rank import relevant

_log = logging.getLogger("surehand.search")
_MOST: Final = 20
_SAID_CHARS: Final = 200
_SPEC: Final[dict[str, Any]] = {
    "name": SEARCH_TOOL,
    "description": (
        "Finds tools that you may call and were not shown, by words of what they do. Use it when no tool that you have "
        "fits the task; do not use it for anything but tools. Changes nothing. Returns at most 20 names with what they "
        "do, never a tool that you may not see; you can call them from your next turn on."
    ),
    "display": "Searching tools: {query}",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 400,
                "description": "What the tool should do, in a few words, such as `refund an order`.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": _MOST,
                "default": 5,
                "description": "How many tools at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {
            "tools": {
                "type": "array",
                "maxItems": _MOST,
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
                    "required": ["name", "description"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["tools"],
        "additionalProperties": False,
    },
    "read_only": True,
    "owner": "surehand",
    "source": "surehand",
    "injected": {"caller": "caller"},
}


def offer_search(registry: Registry, most: int) -> None:
    """Registers `search_tools` once there are more tools than a model is shown. One of the project's own stays.

    Args:
        registry: Where; an engine must be attached to it before the tool is called.
        most: Tools that are shown at once; a provider may take fewer.
    """
    catalog = registry.catalog
    least = min([most, *(one.profile.tools_max for one in PROVIDERS.values() if one.profile.tools_max is not None)])
    if len(catalog.current) <= least or any(name == SEARCH_TOOL for name, _ in catalog.entries):
        return
    try:
        registry.register(_search_tool(registry))
    except RegistryError as error:
        _log.error("tools beyond the first %d of a view cannot be found: %s", most, error)


def _search_tool(registry: Registry) -> Tool:
    async def search_tools(query: str, caller: Caller, limit: int = 5) -> Output:
        """Looks through what this caller may see now, by the function that guards their calls."""
        view: ToolView = registry.list_allowed(caller)
        names = relevant(view, query, limit)
        tools = [{"name": name, "description": _first_line(view, name)} for name in names]
        lines = [f"- {one['name']}: {one['description']}" for one in tools]
        told = f"{len(lines)} found; you can call them from your next turn on:" if lines else "None found; try others."
        return Output(text="\n".join([told, *lines]), structured={"tools": tools})

    return bind_tool(ToolSpec(**_SPEC), search_tools)


def _first_line(view: ToolView, name: str) -> str:
    entry = view.get(name)
    line = "" if entry is None else entry.spec.description.strip().partition("\n")[0]
    return line if len(line) <= _SAID_CHARS else f"{line[: _SAID_CHARS - 3]}..."


def found(result: ToolResult) -> list[str]:
    """The names that a result of `search_tools` holds; of any other result none."""
    held: object = result.structured
    if result.name != SEARCH_TOOL or result.status != "ok" or not isinstance(held, Mapping):
        return []
    tools: object = cast("Mapping[str, Any]", held).get("tools")
    listed = cast("list[Any]", tools) if isinstance(tools, list) else []
    named = [cast("Mapping[str, Any]", one).get("name") for one in listed if isinstance(one, Mapping)]
    return [name for name in named if isinstance(name, str)]

"""The retail domain of tau2 (its tools, its tasks, its evaluator), and its tools behind an engine."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import surehand as sh

_TABLES = ("products", "users", "orders")


def _tau2(name: str) -> Any:
    """A module of tau2. Its harness imports pandas for a type that the evaluator never makes."""
    if "pandas" not in sys.modules:
        stand_in = types.ModuleType("pandas")
        stand_in.DataFrame = object  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        sys.modules["pandas"] = stand_in
    importlib.import_module("loguru").logger.remove()
    return importlib.import_module(f"tau2.{name}")


class _Shared(dict[str, Any]):
    """A table that all environments share, until one of them reads a row: then the row is its own."""

    def __init__(self, rows: dict[str, Any]) -> None:
        super().__init__(rows)
        self._own: dict[str, Any] = {}
        """Key -> the row as it was."""

    def __getitem__(self, key: str) -> Any:
        if key not in self._own:
            self._own[key] = super().__getitem__(key)
            super().__setitem__(key, deepcopy(self._own[key]))
        return super().__getitem__(key)

    def changed(self) -> dict[str, Any]:
        """The rows that are not as they were."""
        return {key: row.model_dump() for key, was in sorted(self._own.items()) if (row := self[key]) != was}


@cache
def _database() -> Any:
    """The database as it is shipped. A copy is told from another by what changed in it: to hash all takes long."""

    def model_dump(self: Any) -> dict[str, Any]:
        return {name: getattr(self, name).changed() for name in _TABLES}

    whole = _tau2("domains.retail.data_model").RetailDB
    return type("Shop", (whole,), {"model_dump": model_dump}).load(_tau2("domains.retail.utils").RETAIL_DB_PATH)


@cache
def tasks() -> dict[str, Any]:
    """Task id -> task: all of the domain."""
    return {task.id: task for task in _tau2("domains.retail.environment").get_tasks()}


def environment(*, solo_mode: bool = False) -> Any:
    """A new environment on the database as it is shipped."""
    whole = _database()
    tables = {name: _Shared(getattr(whole, name)) for name in _TABLES}
    return _tau2("domains.retail.environment").get_environment(type(whole).model_construct(**tables), solo_mode)


def score(task: Any, trajectory: list[Any]) -> float:
    """What tau2's own evaluator says of the database that a conversation leaves: 1.0 or 0.0."""
    evaluator = _tau2("evaluator.evaluator_env").EnvironmentEvaluator
    return evaluator.calculate_reward(environment, task, trajectory).reward


class Store:
    """The shop: an environment whose tools can be put behind an engine."""

    def __init__(self) -> None:
        self.environment = environment()
        self.trajectory: list[Any] = []
        """What really reached the tools, as messages that the evaluator replays."""
        self.writes = {
            name for name, tool in self.environment.tools.tools.items() if tool.__tool_type__.value == "write"
        }

    def tools(self) -> list[sh.Tool]:
        """Its 15 tools: writes are of high risk, so that a person is asked; the rest are reads."""
        return [self._tool(tool) for tool in self.environment.get_tools()]

    def hash(self) -> str:
        """Of everything in the database."""
        return self.environment.get_db_hash()

    def _tool(self, tool: Any) -> sh.Tool:
        described = tool.openai_schema["function"]
        write = tool.name in self.writes
        spec = sh.ToolSpec(
            name=tool.name,
            description=described["description"],
            parameters={**described["parameters"], "additionalProperties": False},
            risk="high" if write else "low",
            read_only=not write,
            owner="retail",
        )
        return sh.Registry().register(spec, self._handler(tool.name))

    def _handler(self, name: str) -> Callable[..., str]:
        messages = _tau2("data_model.message")

        def handle(**arguments: Any) -> str:
            call = messages.ToolCall(id=f"call_{len(self.trajectory)}", name=name, arguments=arguments)
            response = self.environment.get_response(call)
            self.trajectory.append(messages.AssistantMessage(role="assistant", tool_calls=[call]))
            self.trajectory.append(response)
            if response.error:
                raise sh.BusinessError(response.content)
            return response.content

        return handle

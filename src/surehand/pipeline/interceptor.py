"""`Interceptor`: the application's code around a call, and hooks, which are one interceptor."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..call import ToolResult
from ..errors import ConfigError
from ..spec import ToolSpec
from ..types import QUORUM_MAX, SELF, Caller, group_names


def _require(verdict: object, name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{type(verdict).__name__}: {name} must be a {kind.__name__}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Block:
    """Do not run this call. The model reads the reason."""

    reason: str

    def __post_init__(self) -> None:
        _require(self, "reason", self.reason, str)


@dataclass(frozen=True, slots=True)
class Modify:
    """Go on with these arguments. They are validated and authorized as if the model had written them."""

    arguments: dict[str, Any]

    def __post_init__(self) -> None:
        _require(self, "arguments", self.arguments, dict)


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person of this group must say yes, besides whoever policy asks."""

    approvers: str
    """A role, or several with commas: each must say yes."""
    reason: str
    quorum: int = 1
    """How many distinct people of each role must say yes, at most 20; more than one only of roles, never of `self`."""
    escalate_to: str = ""
    """A role whose yes counts too once nobody has answered for `Limits.escalate_after_s`."""

    def __post_init__(self) -> None:
        _require(self, "approvers", self.approvers, str)
        _require(self, "reason", self.reason, str)
        _require(self, "quorum", self.quorum, int)
        _require(self, "escalate_to", self.escalate_to, str)
        groups = group_names(self.approvers)
        most = 1 if SELF in groups else QUORUM_MAX
        if isinstance(self.quorum, bool) or not 1 <= self.quorum <= most:
            raise ValueError(f"quorum must be from 1 to {QUORUM_MAX}, and 1 where the requester confirms")
        if self.escalate_to and (group_names(self.escalate_to) != (self.escalate_to,) or SELF in groups):
            raise ValueError(f"escalate_to must be one role, beside roles, not {self.escalate_to!r:.80}")


@dataclass(frozen=True, slots=True)
class Withhold:
    """After the call: the model must not see the content. The effect stays done."""

    reason: str

    def __post_init__(self) -> None:
        _require(self, "reason", self.reason, str)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """After the call: the model gets this text instead; structured data is dropped."""

    content: str

    def __post_init__(self) -> None:
        _require(self, "content", self.content, str)


Before: TypeAlias = Block | Modify | AskPerson | tuple[Modify | AskPerson, ...] | None
After: TypeAlias = Withhold | Rewrite | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What an interceptor sees before a call. The arguments are a copy of its own."""

    call_id: str
    tool_call_id: str
    spec: ToolSpec
    caller: Caller
    arguments: dict[str, Any]
    """As the model wrote them, or as the interceptor before left them; injected ones are not among them."""


class Interceptor:
    """Base class: override either method, or both. They may be async or not; sync ones must not block.

    `before` runs in order, before validation. What it raises, or taking longer than `Limits.hook_timeout_s`,
    denies the call. `after` runs in reverse order, for those whose `before` completed, on short-circuited
    calls too; if it fails the content is withheld, the effect stays done.
    """

    name: str = ""

    def before(self, call: Proposed) -> Before | Awaitable[Before]:
        """Decides about a call before it is validated. `None` lets it pass."""
        return None

    def after(self, call: Proposed, result: ToolResult) -> After | Awaitable[After]:
        """Sees the result before the model does. `None` lets it pass."""
        return None


HookEvent = Literal["tool.pre", "tool.post"]


@dataclass
class Hooks(Interceptor):
    """The plug in the socket: functions registered for `tool.pre` and `tool.post`, in order."""

    name: str = "hooks"
    pre: list[Callable[[Proposed], Any]] = field(default_factory=list[Callable[[Proposed], Any]])
    post: list[Callable[[Proposed, ToolResult], Any]] = field(
        default_factory=list[Callable[[Proposed, ToolResult], Any]]
    )

    def add(self, event: str, function: Callable[..., Any]) -> None:
        """Registers a hook.

        Raises:
            ConfigError: There is no such event.
        """
        if event == "tool.pre":
            self.pre.append(function)
        elif event == "tool.post":
            self.post.append(function)
        else:
            raise ConfigError(f"hook: there is no event {event!r}; use 'tool.pre' or 'tool.post'")

    async def before(self, call: Proposed) -> Before:
        """Runs the `tool.pre` hooks: the first block ends it, later hooks see earlier changes, asks add up."""
        verdicts: list[Modify | AskPerson] = []
        for hook in self.pre:
            given: Before = await settled(hook(call))
            if isinstance(given, Block):
                return given
            for verdict in as_verdicts(given):
                verdicts.append(verdict)
                if isinstance(verdict, Modify):
                    call = replace(call, arguments=deepcopy(verdict.arguments))
        return tuple(verdicts)

    async def after(self, call: Proposed, result: ToolResult) -> After:
        """Runs the `tool.post` hooks in reverse; the first that changes something decides."""
        for hook in reversed(self.post):
            given: After = await settled(hook(call, result))
            if given is not None:
                return given
        return None


async def settled(value: Any) -> Any:
    """Awaits what can be awaited."""
    return await value if inspect.isawaitable(value) else value


def as_verdicts(given: Before) -> tuple[Modify | AskPerson, ...]:
    """What a `before` that did not block returned, one by one.

    Raises:
        TypeError: It is none of the things that a `before` may return.
    """
    verdicts: list[Modify | AskPerson] = []
    for verdict in given if isinstance(given, tuple) else () if given is None else (given,):
        if not isinstance(verdict, Modify | AskPerson):
            raise TypeError(f"an interceptor returned {type(verdict).__name__}")
        verdicts.append(verdict)
    return tuple(verdicts)

"""A tool call, its result, and what a handler may be told about the call it serves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from .errors import ConfigError, ToolError
from .provenance import Provenance
from .types import MAX_NAME_CHARS, Caller, Trust

Status = Literal["waiting", "ready", "running", "ok", "error", "denied", "cancelled", "unknown"]
"""A call's states in the ledger."""
ResultStatus = Literal["pending", "ok", "error", "denied", "cancelled", "unknown"]
"""What a caller sees: `pending` stands for waiting, ready and running."""

_LAST = 2**31 - 1
"""Databases keep turns and positions as such numbers."""
_TOLD_CHARS = 2000
"""Of a result, in the event of it: enough for a person, not the whole of it again."""
OPEN: frozenset[Status] = frozenset({"waiting", "ready", "running"})
"""States that a caller sees as `pending`."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a model asked for."""

    id: str
    """The model's id of the call. Only ever echoed; never a key."""
    name: str
    arguments: dict[str, Any] | str = ""
    """A JSON object, or its text exactly as the model wrote it. Empty text means no arguments."""
    version: str | None = None
    """A pinned version; `None` takes the catalog's current one."""
    truncated: bool = False
    """Whether the model's output was cut off in this call: then it must not run, even if what there is reads well."""


class RunStep(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a call in a run: a stable key for calls that have no other.

    Raises:
        ConfigError: `run_id` is no text of 1 to 256 characters, or a number is no whole number from 0.
    """

    run_id: str
    turn: int
    """Counted from 0; recorded as `step_index`."""
    position: int = 0
    """Of the call within its turn, from 0."""
    provenance: Provenance | None = None
    """What the model had read before it asked for the call; `None` for nothing from outside."""

    def __post_init__(self) -> None:
        """Two calls with no run would be one effect: the second would get the result of the first."""
        if not _is_name(self.run_id) or len(self.run_id) > MAX_NAME_CHARS:
            raise ConfigError(f"RunStep: run_id must be a text of 1 to {MAX_NAME_CHARS} characters; name the run")
        for field, value in (("turn", self.turn), ("position", self.position)):
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LAST:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigError(f"RunStep: {field} must be a whole number from 0 to {_LAST}")


def checked_key(key: str | None) -> str | None:
    """An application's name of an effect. One that is empty would make different effects the same.

    Raises:
        ConfigError: It is empty, or no text.
    """
    if key is not None and not _is_name(key):
        raise ConfigError("idempotency_key must be a text that is not empty; leave it out if there is none")
    return key


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not any(0xD800 <= ord(c) <= 0xDFFF for c in value)


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a result that is stored beside it."""

    id: str
    media_type: str
    size_bytes: int
    sha256: str


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a model gets back for one call."""

    call_id: str
    """Ours, unique for ever."""
    tool_call_id: str
    """The model's id of the call."""
    name: str
    version: str | None
    status: ResultStatus
    content: str
    """The text for the model; never empty."""
    structured: Any = None
    """The same result as a JSON value, where there is one."""
    artifacts: tuple[Artifact, ...] = ()
    error: ToolError | None = None
    is_error: bool = False
    """True for every status but `ok` and `pending`, and for an effect whose output had to be withheld; not for an
    answer that a person gave instead."""
    approval_id: str | None = None
    answered_by: str | None = None
    """The person who gave this result instead of the tool, which did not run."""
    edited_by: str | None = None
    """The person who changed the arguments before the call ran; the content says which."""
    replayed: bool = False
    """Whether this is the stored result of an earlier identical call."""
    cached: bool = False
    """Whether this is what the same read gave earlier (`ToolSpec.cache_ttl_s`, `fallback="cache"`)."""
    stale: bool = False
    """Whether a cached result is older than its tool wants, because the tool is unavailable."""
    fallback_for: str | None = None
    """`name@version` of the tool that was asked for, where another one answered in its place."""
    display: str = ""
    """For people: the tool's display text, filled in."""
    notice: str = ""
    """For the application: that the version is deprecated, what to use instead, and until when it is there."""
    trust: Trust = "trusted"
    """`untrusted` if the tool's contract says so, if an argument stood only in untrusted results, or if its handler
    read one."""


class Tools(Protocol):
    """The tools that a handler may call: those of its contract's `calls`, for the same person, through the engine."""

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        version: str | None = None,
        roles: Iterable[str] | None = None,
        scopes: Iterable[str] | None = None,
    ) -> ToolResult:
        """One call, through the whole pipeline; gives a result whatever happens to it, as `Engine.call` does.

        A call that a person is asked about gives `pending` and goes on without the handler when it is resumed. The
        n-th call of a handler is the same effect whenever the handler runs again for the same call.

        Args:
            name: Of the tool.
            arguments: By name, as JSON values.
            version: A pinned version; `None` takes the one that the run sees, or the current one.
            roles: Those of the caller's roles that the call may use; `None` for all.
            scopes: Likewise.

        Raises:
            ConfigError: The handler has ended, or `roles` or `scopes` has one that the caller has not.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a handler may be told: the first argument of a raw handler, the source of runtime injections."""

    call_id: str
    caller: Caller
    idempotency_key: str
    """Stable over retries and repeats of the same call; send it to whatever deduplicates."""
    deadline: float
    """On the clock of `time.monotonic()`, in seconds."""
    progress: Callable[[str], None]
    """Tells people how far a long call is; thread-safe."""
    logger: logging.LoggerAdapter[logging.Logger]
    tools: Tools
    """Calls other tools; see `calls` of the contract."""

    @property
    def tenant(self) -> str:
        """The caller's tenant."""
        return self.caller.tenant


def told(result: ToolResult) -> dict[str, Any]:
    """What the event `call.finished` says of a result, whoever tells it."""
    return {
        "version": result.version,
        "status": result.status,
        "code": None if result.error is None else result.error.code,
        "replayed": result.replayed,
        "cached": result.cached,
        "of": result.call_id,
        "display": result.display,
        "content": result.content[:_TOLD_CHARS],
        "cut": len(result.content) > _TOLD_CHARS,
    }

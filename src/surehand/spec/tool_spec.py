"""`ToolSpec`, the immutable contract of one `name@version`, and `Tool`, a contract bound to a handler."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec

from ..errors import SpecError
from ..types import Idempotency, Risk, Stage, Trust
from . import rules
from .frozen import frozen
from .hashes import content_hash
from .injected import DATA_SOURCES, RUNTIME_SOURCES
from .rules import Rule, check_fields
from .sample import Sample

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,127}")
"""Names that are kept. Each provider's own narrower rule is met when tools are exported."""
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_\-]{0,63}")

RetryKind: TypeAlias = Literal["none", "simple", "exponential"]
RunnerName: TypeAlias = Literal["auto", "inline", "thread"]
MAX_ATTEMPTS: Final = 100
FROM_CACHE: Final = "cache"
"""What `ToolSpec.fallback` says for an earlier result instead of another tool."""
_SECONDS: Final = rules.seconds(zero=True)
_ABOVE_ZERO: Final = rules.seconds(zero=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and how a failed attempt is repeated, where the contract lets it be repeated at all.

    Raises:
        SpecError: A field is not what it must be.
    """

    kind: RetryKind = "none"
    attempts: int = 3
    """All attempts, the first included."""
    wait_s: float = 0.1
    """Before the second attempt; `exponential` doubles it each time, with jitter."""

    def __post_init__(self) -> None:
        check_fields("retry", self, _RETRY)


_RETRY: Final[Mapping[str, Rule]] = {
    "kind": rules.one_of(get_args(RetryKind)),
    "attempts": rules.count(1, MAX_ATTEMPTS),
    "wait_s": _SECONDS,
}


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """The contract of one tool version. Build it from JSON Schema, with `Definition`, or with `@tool`.

    Raises:
        SpecError: A field is not what it must be, or contradicts another.
    """

    name: str
    version: str = "1.0.0"
    description: str
    display: str = ""
    """A template for people, such as `Searching orders {status}`; fields are argument names."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema 2020-12 of the arguments that the model writes."""
    output_schema: Mapping[str, Any] | None = None
    risk: Risk = "low"
    read_only: bool = False
    requires_approval: bool = False
    permissions: tuple[str, ...] = ()
    idempotency: Idempotency | None = None
    """`None` becomes `safe_retry` for a read-only tool and `single_effect` for any other."""
    key: tuple[str, ...] = ()
    """Names of arguments that say which effect this is: the same key is the same effect."""
    key_retention_s: float = 30 * 86400.0
    """How long a finished call keeps its key."""
    cache_ttl_s: float = 0.0
    """For how long a read-only result may be given again to the same caller for the same arguments; 0: never."""
    fallback: str = ""
    """What answers while a read-only tool is unavailable: the name of another read-only tool, or `cache` for an earlier
    result, however old within bounds."""
    upstream: str = ""
    """What it depends on, such as a host: tools that name the same one share its health. Else the host of a URL in
    `target`."""
    timeout_s: float = 30.0
    retry: Retry = Retry()
    sequential: bool = False
    """Whether two calls of this tool must never overlap in one process."""
    runner: RunnerName = "auto"
    """`auto`: async handlers in the event loop, others in a thread."""
    owner: str = ""
    tags: tuple[str, ...] = ()
    stage: Stage = "active"
    source: str = "python"
    target: str = ""
    """Where it runs, such as `module:function`; with runner and credential the binding."""
    credential: str = ""
    """Whose credential the target is reached with; empty for none."""
    injected: Mapping[str, str] = field(default_factory=dict[str, str])
    """Argument name -> injection source, for arguments that the model may not know."""
    trust: Trust | None = None
    """Of what it gives. `None` becomes `trusted` for the source `python` and `untrusted` for any other."""
    calls: tuple[str, ...] = ()
    """Names of the tools that its handler may call, through `CallContext.tools`."""
    undoes: str = ""
    """The tool whose calls it takes back, for the tool that is derived from an `undo`; no model is offered it."""

    def __post_init__(self) -> None:
        where = f"tool {self.name!r:.200}"
        check_fields(where, self, _SPEC)
        for name, pattern in (("name", NAME), ("version", VERSION)):
            if not pattern.fullmatch(getattr(self, name)):
                raise SpecError(f"{where}: {name} must match {pattern.pattern}, which {getattr(self, name)!r} does not")
        if not self.description.strip():
            raise SpecError(f"{where}: description is empty; the model chooses a tool by it")
        for name in ("permissions", "key", "tags", "calls"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("parameters", "output_schema", "injected"):
            object.__setattr__(self, name, _own(where, name, getattr(self, name)))
        if self.idempotency is None:
            object.__setattr__(self, "idempotency", "safe_retry" if self.read_only else "single_effect")
        if self.trust is None:
            object.__setattr__(self, "trust", "trusted" if self.source == "python" else "untrusted")
        self._check(where)

    def _check(self, where: str) -> None:
        def refuse(why: str) -> None:
            raise SpecError(f"{where}: {why}")

        if self.read_only and self.idempotency != "safe_retry":
            refuse(f"read_only contradicts idempotency={self.idempotency!r}; leave idempotency out")
        if self.cache_ttl_s and not self.read_only:
            refuse("cache_ttl_s needs read_only=True; only reads may be reused")
        if self.fallback and not self.read_only:
            refuse("fallback needs read_only=True; nothing stands in for an effect")
        if self.fallback == self.name:
            refuse("fallback names the tool itself")
        self._check_arguments(refuse)

    def _check_arguments(self, refuse: Callable[[str], None]) -> None:
        properties = self.parameters.get("properties", {})
        if not isinstance(properties, Mapping):
            refuse("parameters: properties is a mapping of names to schemas")
        for argument in self.key:
            if argument not in properties and argument not in self.injected:
                refuse(f"key names the argument {argument!r}, which it does not have")
        for why in self._wrong_injections(cast("Mapping[str, Any]", properties)):
            refuse(why)

    def _wrong_injections(self, properties: Mapping[str, Any]) -> Iterator[str]:
        for argument, source in self.injected.items():
            wrong = _SOURCE(source)
            if wrong is not None:
                yield f"the source of the injected argument {argument!r} must be {wrong}"
            if argument in properties:
                yield f"argument {argument!r} is injected, so it may not be in parameters"
            if source == "tools" and not self.calls:
                yield "it is given 'tools' and may call none; name them, as in calls=['lookup']"

    @property
    def id(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def repeatable(self) -> bool:
        """Whether running it again with the same key has no second effect."""
        return self.idempotency in ("safe_retry", "idempotency_key")

    @cached_property
    def contract_hash(self) -> str:
        """Covers everything that a model or a policy sees but the stage, and what makes two calls the same effect."""
        return content_hash(
            {
                "name": self.name,
                "version": self.version,
                "description": self.description,
                "parameters": self.parameters,
                "output_schema": self.output_schema,
                "risk": self.risk,
                "read_only": self.read_only,
                "requires_approval": self.requires_approval,
                "permissions": sorted(self.permissions),
                "idempotency": self.idempotency,
                "key": list(self.key),
                "owner": self.owner,
                "tags": sorted(self.tags),
                "source": self.source,
                "injected": self.injected,
                "calls": sorted(self.calls),
                "undoes": self.undoes,
                "trust": self.trust,
            }
        )

    @cached_property
    def binding_hash(self) -> str:
        """Covers where it runs. May change without a new version; approvals given before do not survive it."""
        where = {"target": self.target, "runner": self.runner, "credential": self.credential}
        health = {"fallback": self.fallback, "upstream": self.upstream}
        return content_hash({**where, **{name: value for name, value in health.items() if value}})


def _own(where: str, name: str, value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A copy that nobody can change."""
    try:
        return None if value is None else frozen(deepcopy(dict(value)))
    except Exception:
        raise SpecError(f"{where}: {name} holds what cannot be copied; it must be plain JSON") from None


_SOURCE: Final = rules.one_of(DATA_SOURCES + RUNTIME_SOURCES)
_SPEC: Final[Mapping[str, Rule]] = {
    "name": rules.text,
    "version": rules.text,
    "description": rules.text,
    "display": rules.text,
    "parameters": rules.mapping,
    "output_schema": rules.optional(rules.mapping),
    "risk": rules.one_of(get_args(Risk)),
    "read_only": rules.flag,
    "requires_approval": rules.flag,
    "permissions": rules.names,
    "idempotency": rules.optional(rules.one_of(get_args(Idempotency))),
    "key": rules.names,
    "key_retention_s": _ABOVE_ZERO,
    "cache_ttl_s": _SECONDS,
    "fallback": rules.text,
    "upstream": rules.text,
    "timeout_s": _ABOVE_ZERO,
    "retry": rules.instance_of(Retry, "a Retry, such as Retry(kind='simple')"),
    "sequential": rules.flag,
    "runner": rules.one_of(get_args(RunnerName)),
    "owner": rules.text,
    "tags": rules.names,
    "stage": rules.one_of(get_args(Stage)),
    "source": rules.text,
    "target": rules.text,
    "credential": rules.text,
    "injected": rules.mapping,
    "calls": rules.names,
    "undoes": rules.text,
    "trust": rules.optional(rules.one_of(get_args(Trust))),
}
"""Every field of `ToolSpec`; the tests see to that."""


@dataclass(frozen=True, slots=True)
class Done:
    """Evidence that the effect happened. `result` is what the handler would have returned."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class NotDone:
    """Evidence that the effect did not happen, and will not happen later."""


@dataclass(frozen=True, slots=True)
class StillUnknown:
    """No evidence yet."""


Evidence: TypeAlias = Done | NotDone | StillUnknown
StatusCheck: TypeAlias = Callable[[dict[str, Any], str], Evidence | Awaitable[Evidence]]
"""`status_check(arguments, key)`: all final arguments, and the key that the handler was given."""
Check: TypeAlias = Callable[[dict[str, Any]], Awaitable[None] | None]
"""`check(arguments)`: business rules over all final arguments; raises `BusinessError` to refuse."""
Preview: TypeAlias = Callable[[dict[str, Any]], Any]
"""`preview(arguments)`: what a call with these final arguments would do, as text or a JSON value; it only reads."""
HealthCheck: TypeAlias = Callable[[], object]
"""`health_check()`, sync or async: whether what the tool depends on can be used now. `False` or a raise is no."""
Handler: TypeAlias = Callable[..., Any]


def is_async(handler: Handler) -> bool:
    """Whether calling the handler gives an awaitable, so far as its definition tells."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A contract bound to the code that fulfils it.

    Raises:
        SpecError: What must be a function is none.
    """

    spec: ToolSpec
    handler: Handler
    """Called with validated keyword arguments, or, if `raw`, with `(CallContext, JSON text)`."""
    raw: bool = False
    bind: Callable[[bytes], dict[str, Any]] | None = None
    """Turns the JSON text of the arguments into typed ones. `None`: they are passed as they are.

    Raises `ValueError`, whose text is for the model, for values that the types refuse; never anything else.
    """
    canonical: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Typed arguments as the JSON values from which `bind` makes equal ones, so that all see what the handler sees.

    Secrets are among them as they are. Raises `ValueError`, for the model, where there are no such values. Set
    exactly if `bind` is.
    """
    dump: Callable[[Any], Any] | None = None
    """Turns what the handler returned into a JSON value, where its return type says how."""
    status_check: StatusCheck | None = None
    check: Check | None = None
    preview: Preview | None = None
    """Shown to the people who are asked."""
    undo: Handler | None = None
    """`undo(arguments, result, key)`: takes back what a call did; see `undo_tool`. Run by `Engine.undo` only."""
    health_check: HealthCheck | None = None
    samples: tuple[Sample, ...] = ()
    """Calls with what must come of them, for release checks."""
    declared: frozenset[str] | None = None
    """Names of the fields that its author wrote, as far as that is known: the others have their defaults."""
    is_async: bool = field(init=False, repr=False, compare=False)
    """Whether the handler belongs in the event loop, so far as its definition tells."""

    def __post_init__(self) -> None:
        named: object = getattr(self.spec, "name", None)
        check_fields(f"tool {named!r:.200}", self, _TOOL)
        object.__setattr__(self, "samples", tuple(self.samples))
        if (self.bind is None) is not (self.canonical is None):
            raise SpecError(f"tool {self.spec.name!r}: bind and canonical come together")
        object.__setattr__(self, "is_async", is_async(self.handler))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the handler itself, ungoverned: for unit tests of the function."""
        return self.handler(*args, **kwargs)

    def as_read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the handler will read them, for everybody else to see: the end of stage 3.

        Defaults that only the types know are filled in. What comes out is what `bind` makes equal values of, however
        often; it need not satisfy the schema, so validate it once more.

        Args:
            arguments: Valid by the schema. Not changed.

        Raises:
            ValueError: The types refuse a value, or make another of it each time they read it. For the model.
        """
        if self.bind is None or self.canonical is None:
            return arguments
        return self.canonical(self.bind(msgspec.json.encode(arguments)))


_TOOL: Final[Mapping[str, Rule]] = {
    "spec": rules.instance_of(ToolSpec, "a ToolSpec"),
    "handler": rules.function,
    "raw": rules.flag,
    **{
        name: rules.optional(rules.function)
        for name in ("bind", "canonical", "dump", "status_check", "check", "preview", "undo", "health_check")
    },
    "samples": rules.all_of(Sample, "Sample, such as sh.Sample(kind='good', arguments={...})"),
}

"""`diff`: what one version of a contract changes of another, and what that means for callers and policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from ..policy import Policies
from ..policy.argument_types import argument_types, find
from ..spec import Tool, ToolSpec, content_hash
from .change import Change, Effect, schema_changes, shown

_ORDERS: Final[dict[str, tuple[object, ...]]] = {
    "risk": ("low", "medium", "high"),
    "idempotency": ("safe_retry", "idempotency_key", "single_effect", "irreversible"),
    "requires_approval": (False, True),
    "read_only": (True, False),
}
"""Fields whose values can be ordered, from the least to fear to the most."""
_MEANINGS: Final[dict[str, str]] = {
    "description": "a model chooses the tool by this",
    "display": "people read this",
    "key": "effects are named otherwise: what was done under the other version is not recognized as done",
    "key_retention_s": "how long a repeat is recognized",
    "timeout_s": "how long a call may take",
    "cache_ttl_s": "how long a result may be reused",
    "retry": "how a failed attempt is repeated",
    "sequential": "whether two calls may overlap",
    "runner": "how the handler is run",
    "owner": "who answers for it",
    "tags": "policies and views may choose by these",
    "source": "where it comes from",
    "target": "where it runs; approvals given before do not survive this",
    "credential": "whose credential it uses; approvals given before do not survive this",
    "injected": "what the engine fills in",
    "name": "it is another tool",
    "stage": "how far it is in its life",
}
_TEXTS: Final = frozenset({"description", "display"})
_COMPARED: Final = ("name", "description", "display", "risk", "requires_approval", "read_only", "idempotency")
_OTHERS: Final = (
    "key", "key_retention_s", "timeout_s", "cache_ttl_s", "retry", "sequential", "runner", "owner", "tags", "source",
    "target", "credential", "injected",
)  # fmt: skip


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two versions."""

    before: str
    """`name@version`."""
    after: str
    hash: str
    """Of contract and binding of both: who read this diff approves exactly these; see `CheckedControl.promote`."""
    changes: tuple[Change, ...]
    """In the order of the contract; the version itself is none."""

    @property
    def same(self) -> bool:
        """Whether nothing differs but the version."""
        return not self.changes

    def of(self, *effects: Effect) -> tuple[Change, ...]:
        """The changes that have one of these effects."""
        return tuple(change for change in self.changes if change.effect in effects)


def diff(before: Tool | ToolSpec, after: Tool | ToolSpec, *, policies: Policies | None = None) -> Diff:
    """Compares two contracts.

    Args:
        before: The version that is known.
        after: The version that is to take its place.
        policies: Those in force, to find what they read of the one and not of the other.
    """
    old, new = (one.spec if isinstance(one, Tool) else one for one in (before, after))
    changes = [*_fields(old, new), *_arguments_and_output(old, new)]
    if policies is not None:
        changes += _blinded(old, new, policies)
    return Diff(before=old.id, after=new.id, hash=release_hash(old, new), changes=tuple(changes))


def release_hash(before: ToolSpec | None, after: ToolSpec) -> str:
    """Of contract and binding of a version and of the one before it; the stage, which a promotion moves, aside."""
    return content_hash([None if one is None else _pinned(one) for one in (before, after)])


def _pinned(spec: ToolSpec) -> dict[str, Any]:
    names = (*_COMPARED, "version", *_OTHERS, "permissions", "parameters", "output_schema")
    values = {name: getattr(spec, name) for name in names}
    return msgspec.to_builtins(
        {name: repr(one) if isinstance(one, float) else one for name, one in values.items()}
        | {"retry": [spec.retry.kind, spec.retry.attempts, repr(spec.retry.wait_s)]}
    )


def _fields(old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    for name in _COMPARED:
        yield from _field(name, getattr(old, name), getattr(new, name))
    yield from _permissions(old, new)
    for name in _OTHERS:
        yield from _field(name, getattr(old, name), getattr(new, name))


def _field(name: str, before: Any, after: Any) -> Iterator[Change]:
    if before == after:
        return
    order = _ORDERS.get(name)
    effect: Effect = "text" if name in _TEXTS else "changed"
    text = _MEANINGS.get(name, "")
    if order is not None:
        effect = "up" if order.index(after) > order.index(before) else "down"
        text = "more to fear than before" if effect == "up" else "policies and people are told to fear it less"
    yield Change(field=name, effect=effect, before=_told(before), after=_told(after), text=text)


def _told(value: Any) -> str:
    if isinstance(value, str | int | float | bool | None):
        return shown(value)
    return shown(msgspec.to_builtins(value))


def _permissions(old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    for name in sorted({*new.permissions} - {*old.permissions}):
        yield Change(field="permissions", effect="up", after=shown(name), text="callers need it too")
    for name in sorted({*old.permissions} - {*new.permissions}):
        yield Change(field="permissions", effect="down", before=shown(name), text="callers need it no longer")


def _arguments_and_output(old: ToolSpec, new: ToolSpec) -> Iterator[Change]:
    yield from schema_changes("parameters", old.parameters, new.parameters)
    before, after = old.output_schema, new.output_schema
    if before is None and after is not None:
        yield Change(field="output_schema", effect="narrowed", text="promises a form where it promised none")
    elif before is not None and after is None:
        yield Change(field="output_schema", effect="widened", text="promises no form any more")
    elif before is not None and after is not None:
        yield from map(_of_output, schema_changes("output_schema", before, after))


def _of_output(change: Change) -> Change:
    words: dict[Effect, str] = {
        "widened": "may give what it did not give before",
        "narrowed": "gives less than it could before",
        "changed": "may give what it did not give before, and not all that it did, or that cannot be decided",
        "renamed": f"is called {change.after} now; whoever reads the old name finds nothing",
    }
    is_own = change.text.startswith(("is new", "is gone", "must be", "may be left", "calls that"))
    return (
        change if is_own or change.effect not in words else msgspec.structs.replace(change, text=words[change.effect])
    )


def _blinded(old: ToolSpec, new: ToolSpec, policies: Policies) -> Iterator[Change]:
    """Policies about the tool that read an argument which is not there any more: they guard nothing then."""
    has = [_finder(one) for one in (old, new)]
    for rule in policies.rules.values():
        if not rule.scope.covers_call(old.name, old.version) or not rule.scope.on_tools:
            continue
        for path in sorted(rule.reads.arguments):
            if has[0](path) and not has[1](path):
                name = ".".join(path)
                text = f"reads the argument {shown(name)}, which is not there any more: it no longer decides by it"
                yield Change(field=f"policy {rule.id}", effect="blind", before=shown(name), text=text)


def _finder(spec: ToolSpec) -> Callable[[tuple[str, ...]], bool]:
    record = argument_types(spec)
    return lambda path: find(record, path) is not None

"""Tools, callers and shorthands of the policy tests."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from surehand.errors import PolicyError
from surehand.policy import Allow, Ask, Decision, Deny, Policies, PolicySource
from surehand.registry import Catalog, Entry
from surehand.spec import Tool, ToolSpec
from surehand.types import Caller

NOON_NS = 1_750_075_200_123_456_789
"""2025-06-16T12:00:00.123456789Z"""


def tool(
    name: str, properties: Mapping[str, Any] | None = None, required: Iterable[str] = (), **fields: Any
) -> ToolSpec:
    schema = {"type": "object", "properties": dict(properties or {}), "required": list(required)}
    every: dict[str, Any] = {"parameters": schema, **fields}
    return ToolSpec(name=name, description="does it", **every)


REFUND_V1 = tool("refund", {"amount": {"type": "integer"}}, ["amount"], version="1.0.0", permissions=["pay:write"])
REFUND = tool(
    "refund",
    {
        "amount_cents": {"type": "integer"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "rate": {"type": "number"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "lines": {"type": "array", "items": {"type": "string"}},
        "any": {},
    },
    ["amount_cents"],
    version="2.0.0",
    permissions=["pay:write"],
    injected={"tenant_id": "tenant", "log": "logger"},
)
MAIL = tool("mail", {"to": {"type": "string"}, "amount_cents": {"type": "integer"}}, ["to"], tags=["outside"])
READ = tool("read", read_only=True)
MEDIUM = tool("medium", risk="medium")
HIGH = tool("high", risk="high")
CAREFUL = tool("careful", requires_approval=True)
FOREVER = tool("forever", idempotency="irreversible")

ALICE = Caller(id="alice", tenant="acme", roles=["clerk"], scopes=["pay:write"], agent="bot", environment="production")
BOB = Caller(id="bob", tenant="acme")


def catalog(*specs: ToolSpec, disabled: Iterable[ToolSpec] = (), removed: Iterable[ToolSpec] = ()) -> Catalog:
    off, gone = tuple(disabled), tuple(removed)
    entries = {
        (spec.name, spec.version): Entry(Tool(spec=spec, handler=print), 0, disabled=spec in off, removed=spec in gone)
        for spec in (*specs, *off, *gone)
    }
    return Catalog(
        revision=1,
        entries=MappingProxyType(entries),
        current=dict(entries.keys()),
        aliases={"repay": "refund"},
    )


TOOLS = (REFUND, MAIL, READ, MEDIUM, HIGH, CAREFUL, FOREVER)


def load(*texts: str, tools: Iterable[ToolSpec] = TOOLS, **options: Any) -> Policies:
    sources = [PolicySource(f"p{number}.cedar", text) for number, text in enumerate(texts, 1)]
    return Policies.load(sources, catalog(*tools), **options)


def problems(*texts: str, tools: Iterable[ToolSpec] = TOOLS, **options: Any) -> list[str]:
    try:
        load(*texts, tools=tools, **options)
    except PolicyError as error:
        return error.problems
    return []


def short(decision: Decision) -> str:
    """A decision in a few words: its kind, the policies, and whom it asks."""
    match decision:
        case Allow():
            kind, more = "allow", ""
        case Deny():
            kind, more = "deny", ""
        case Ask():
            kind, more = "ask", " -> " + " ".join(need.group for need in decision.requirements)
    return " ".join([kind, *decision.policies]) + more


def forbid(name: str, when: str = "true", action: str = 'action in Action::"call"', notes: str = "") -> str:
    return f'@id("{name}") {notes} forbid (principal, {action}, resource) when {{ {when} }};'


def permit(name: str, when: str = "true", action: str = 'action in Action::"call"') -> str:
    return f'@id("{name}") permit (principal, {action}, resource) when {{ {when} }};'

"""Laws over random policies, callers, tools and arguments."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.policy import Allow, Ask, Decision, Deny, Policies, PolicySource, Requirement, word
from surehand.spec import ToolSpec
from surehand.types import Caller
from tests.policy.samples import NOON_NS, catalog, load, tool

pytestmark = pytest.mark.timeout(60)
"""Each example loads policies, with all the checks."""

SCHEMA = {
    "n": {"type": "integer"},
    "s": {"type": "string"},
    "d": {"type": "number"},
    "o": {"type": "object", "properties": {"b": {"type": "boolean"}}},
    "l": {"type": "array", "items": {"type": "integer"}},
}
TOOLS = (
    tool("low", SCHEMA, ["n"], permissions=["p"]),
    tool("medium", SCHEMA, risk="medium"),
    tool("high", SCHEMA, ["s"], risk="high"),
)

CONDITIONS = (
    "true",
    "false",
    "context has arguments.n && context.arguments.n > 3",
    "context has arguments.n && context.arguments.n + 9223372036854775800 > 3",
    'context has arguments.s && context.arguments.s like "a*"',
    'context has arguments.d && context.arguments.d.lessThan(decimal("0.5"))',
    "context has arguments.o.b && context.arguments.o.b",
    "context has arguments.l && context.arguments.l.contains(1)",
    "!(context has arguments.s)",
    "context has arguments",
    'context.environment == "production"',
    'context.now > datetime("2025-06-16")',
    'principal in Role::"boss"',
    'principal == User::"acme/alice"',
    'User::"acme/nobody".tenant == "acme"',
)
OF_TOOLS = ('resource is Tool && resource.risk == "low"', 'resource == Tool::"low"', 'action in Action::"call/low"')
VIEW = 'action == Action::"view"'
ACTIONS = (
    "action",
    'action in Action::"call"',
    'action == Action::"call/low"',
    'action == Action::"call/high@1.0.0"',
    VIEW,
    'action in [Action::"view", Action::"call/medium"]',
)
CALLS = tuple(action for action in ACTIONS if "view" not in action and action != "action")
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from([None, 0, 4, 9, 2**70]),
        "s": st.sampled_from(["", "ab", "b"]),
        "d": st.sampled_from([0.25, 1, 0.123456]),
        "o": st.sampled_from([{}, {"b": True}, {"b": False}, {"c": 1}]),
        "l": st.lists(st.integers(0, 2), max_size=2),
    },
)
CALLERS = st.builds(
    Caller,
    id=st.sampled_from(["alice", "bob"]),
    tenant=st.sampled_from(["acme", "other"]),
    roles=st.sampled_from([[], ["boss"]]),
    scopes=st.sampled_from([[], ["p"]]),
    environment=st.sampled_from(["", "production"]),
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    effect = draw(st.sampled_from(["permit", "forbid", "forbid", "ask"]))
    action = draw(st.sampled_from(CALLS if effect == "ask" else ACTIONS))
    choice = [one for one in CONDITIONS + OF_TOOLS if action != VIEW or "arguments" not in one]
    conditions = draw(st.lists(st.sampled_from(choice), min_size=1, max_size=3))
    words = draw(st.lists(st.sampled_from(["when", "unless"]), min_size=3, max_size=3))
    clauses = " ".join(f"{word} {{ {condition} }}" for word, condition in zip(words, conditions, strict=False))
    notes = f'@approvers("{draw(st.sampled_from(["self", "finance, legal"]))}") ' if effect == "ask" else ""
    return f"{notes}{'permit' if effect == 'permit' else 'forbid'} (principal, {action}, resource) {clauses};"


def texts(found: list[str]) -> list[str]:
    return [f'@id("p{number}") {body}' for number, body in enumerate(found)]


OWN = '(principal, action in [Action::"view", Action::"call"],'
"""The head of a policy that may be a tenant's, or in shadow mode: no open action."""
POLICIES = st.lists(bodies(), max_size=5).map(texts)


def rank(decision: Decision) -> int:
    return {Deny: 0, Ask: 1, Allow: 2}[type(decision)]


def needs(decision: Decision) -> set[Requirement]:
    return set(decision.requirements) if isinstance(decision, Ask) else set()


def decide(policies: Policies, caller: Caller, spec: ToolSpec, arguments: dict[str, Any]) -> Decision:
    return policies.authorize(caller, spec, arguments, now_ns=NOON_NS)


@settings(max_examples=80)
@given(POLICIES, CALLERS, ARGUMENTS)
def test_callable_implies_listed(found: list[str], caller: Caller, arguments: dict[str, Any]) -> None:
    policies = load(*found, tools=TOOLS)
    for spec in TOOLS:
        view = policies.view(caller, spec, now_ns=NOON_NS)
        decision = decide(policies, caller, spec, arguments)
        assert rank(view) >= rank(decision)
        if isinstance(view, Ask) and isinstance(decision, Ask):
            assert set(view.requirements) <= set(decision.requirements)


@settings(max_examples=50)
@given(POLICIES, bodies().filter(lambda body: "forbid" in body), CALLERS, ARGUMENTS)
def test_adding_a_forbid_never_grants(found: list[str], more: str, caller: Caller, arguments: dict[str, Any]) -> None:
    before, after = load(*found, tools=TOOLS), load(*found, f'@id("more") {more}', tools=TOOLS)
    for spec in TOOLS:
        first, then = decide(before, caller, spec, arguments), decide(after, caller, spec, arguments)
        assert rank(then) <= rank(first)
        if isinstance(first, Ask) and isinstance(then, Ask):
            assert set(first.requirements) <= set(then.requirements)
        assert rank(after.view(caller, spec, now_ns=NOON_NS)) <= rank(before.view(caller, spec, now_ns=NOON_NS))


@settings(max_examples=40)
@given(POLICIES, bodies(), CALLERS, ARGUMENTS)
def test_a_shadow_policy_changes_nothing_and_says_what_it_would(
    found: list[str], more: str, caller: Caller, arguments: dict[str, Any]
) -> None:
    more = more.replace("(principal, action,", OWN)
    plain = load(*found, tools=TOOLS)
    shadow = load(*found, f'@id("more") @mode("shadow") {more}', tools=TOOLS)
    enforced = load(*found, f'@id("more") {more}', tools=TOOLS)
    for spec in TOOLS:
        assert shadow.view(caller, spec, now_ns=NOON_NS) == plain.view(caller, spec, now_ns=NOON_NS)
        before, then = decide(plain, caller, spec, arguments), decide(enforced, caller, spec, arguments)
        for _ in range(2):
            decision = decide(shadow, caller, spec, arguments)
            assert rank(shadow.view(caller, spec, now_ns=NOON_NS)) >= rank(decision)
            assert msgspec.structs.replace(decision, shadow=()) == before
            changes = rank(before) != rank(then) or needs(before) != needs(then)
            assert [one.decision for one in decision.shadow] == ([word(then)] if changes else [])


@settings(max_examples=25)
@given(POLICIES, POLICIES, ARGUMENTS)
def test_the_policies_of_a_tenant_are_nothing_to_others(
    found: list[str], own: list[str], arguments: dict[str, Any]
) -> None:
    shared = [PolicySource("base.cedar", "\n".join(found))]
    of_tenant = PolicySource("own.cedar", "\n".join(body.replace("(principal, action,", OWN) for body in own), "acme")
    plain, both = (Policies.load(sources, catalog(*TOOLS)) for sources in (shared, [*shared, of_tenant]))
    for spec in TOOLS:
        for tenant in ("other", "acm", "acme/alice"):
            caller = Caller(id="alice", tenant=tenant, roles=["boss"], scopes=["p"])
            assert decide(both, caller, spec, arguments) == decide(plain, caller, spec, arguments)
            assert both.view(caller, spec, now_ns=NOON_NS) == plain.view(caller, spec, now_ns=NOON_NS)


@settings(max_examples=40)
@given(POLICIES.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))), CALLERS, ARGUMENTS)
def test_the_order_of_policies_is_irrelevant(
    orders: tuple[list[str], list[str]], caller: Caller, arguments: dict[str, Any]
) -> None:
    one, other = (load("\n".join(order), tools=TOOLS) for order in orders)
    for spec in TOOLS:
        assert decide(one, caller, spec, arguments) == decide(other, caller, spec, arguments)
        assert one.view(caller, spec, now_ns=NOON_NS) == other.view(caller, spec, now_ns=NOON_NS)


@settings(max_examples=40)
@given(POLICIES, st.lists(st.tuples(CALLERS, ARGUMENTS), min_size=2, max_size=6))
def test_remembering_changes_nothing(found: list[str], calls: list[tuple[Caller, dict[str, Any]]]) -> None:
    together = load(*found, tools=TOOLS)
    for spec in TOOLS:
        for caller, arguments in calls:
            decide(together, caller, spec, arguments)
    caller, arguments = calls[0]
    fresh = load(*found, tools=TOOLS)
    for spec in reversed(TOOLS):
        assert decide(together, caller, spec, arguments) == decide(fresh, caller, spec, arguments)
        assert together.view(caller, spec, now_ns=NOON_NS) == fresh.view(caller, spec, now_ns=NOON_NS)

"""Decisions about calls: permits, forbids, who is asked, and everything that must be a no."""

from typing import Any

import pytest

from surehand.policy import Ask, Deny, cedar
from surehand.policy.cedar import Verdict
from surehand.policy.entities import user_id
from surehand.spec import ToolSpec
from surehand.types import Caller
from tests.policy.samples import (
    ALICE,
    BOB,
    CAREFUL,
    FOREVER,
    HIGH,
    MAIL,
    MEDIUM,
    NOON_NS,
    READ,
    REFUND,
    REFUND_V1,
    TOOLS,
    forbid,
    load,
    permit,
    short,
    tool,
)  # fmt: skip

LARGE = """@id("refund-large") @approvers("finance") @reason("refunds over 100.00 need finance")
forbid (principal, action == Action::"call/refund", resource) when { context.arguments.amount_cents > 10000 };"""
SCOPES = "allow surehand.scopes"


def asks(name: str, when: str = "true", groups: str = "finance") -> str:
    return forbid(name, when, notes=f'@approvers("{groups}")')


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (READ, SCOPES),
        (MEDIUM, "ask surehand.medium -> self"),
        (HIGH, "ask surehand.high -> approver"),
        (CAREFUL, "ask surehand.high -> approver"),
        (FOREVER, "ask surehand.high -> approver"),
    ],
)
def test_risk_decides_who_is_asked(spec: ToolSpec, expected: str) -> None:
    assert short(load().authorize(BOB, spec, {}, now_ns=NOON_NS)) == expected


def test_what_cannot_be_taken_back_can_be_switched_off() -> None:
    policies = load(irreversible="deny")
    assert short(policies.authorize(BOB, FOREVER, {}, now_ns=NOON_NS)) == "deny surehand.irreversible"
    assert short(policies.authorize(BOB, HIGH, {}, now_ns=NOON_NS)) == "ask surehand.high -> approver"


@pytest.mark.parametrize(
    ("caller", "tenants", "reasons"),
    [
        (ALICE, None, None),
        (ALICE, {"other": []}, None),
        (ALICE, {"acme": ["pay:write", "x"]}, None),
        (ALICE, {"acme": ["x"]}, ["the tenant lacks the permission pay:write"]),
        (BOB, None, ["the caller lacks the permission pay:write"]),
        (BOB, {"acme": ["pay:write"]}, ["the caller lacks the permission pay:write"]),
        (
            BOB,
            {"acme": []},
            ["the caller lacks the permission pay:write", "the tenant lacks the permission pay:write"],
        ),
    ],
)
def test_permissions_are_needed_from_caller_and_tenant(
    caller: Caller, tenants: dict[str, list[str]] | None, reasons: list[str] | None
) -> None:
    decision = load(tenant_scopes=tenants).authorize(caller, REFUND, {"amount_cents": 1}, now_ns=NOON_NS)
    assert short(decision) == (SCOPES if reasons is None else "deny")
    assert list(decision.reasons) == (reasons or [])


def test_a_missing_permission_cannot_be_lifted() -> None:
    decision = load(LARGE).authorize(BOB, REFUND, {"amount_cents": 10_001}, now_ns=NOON_NS)
    assert decision == Deny(policies=(), reasons=("the caller lacks the permission pay:write",))


@pytest.mark.parametrize(("cents", "expected"), [(10_000, SCOPES), (10_001, "ask refund-large -> finance")])
def test_an_annotated_forbid_asks(cents: int, expected: str) -> None:
    assert short(load(LARGE).authorize(ALICE, REFUND, {"amount_cents": cents}, now_ns=NOON_NS)) == expected


def test_an_ask_says_why_and_pins_the_policy() -> None:
    def requirement(text: str) -> Any:
        decision = load(text).authorize(ALICE, REFUND, {"amount_cents": 10_001}, now_ns=NOON_NS)
        assert isinstance(decision, Ask)
        return decision.requirements[0]

    first = requirement(LARGE)
    assert first.reason == "refunds over 100.00 need finance"
    assert first.policy_id == "refund-large"
    assert requirement("// a comment\n" + LARGE.replace(") when", ")\n  when")) == first
    assert requirement(LARGE.replace("10000", "10001").replace("10001 }", "9999 }")).policy_hash != first.policy_hash
    assert requirement(LARGE.replace('"finance"', '"finance, legal"')).policy_hash != first.policy_hash


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([asks("a")], "ask a -> finance"),
        ([asks("a", groups="finance, legal")], "ask a -> finance legal"),
        ([asks("a", groups="legal,legal")], "ask a -> legal"),
        ([asks("b"), asks("a", groups="self")], "ask a b -> self finance"),
        ([asks("a", "false"), asks("b")], "ask b -> finance"),
        ([asks("a"), forbid("hard")], "deny hard"),
        ([asks("a"), forbid("h2"), forbid("h1")], "deny h1 h2"),
        ([asks("a"), forbid("surehand.scopes", action="action")], "deny surehand.scopes"),
        ([asks("a"), permit("surehand.scopes", action='action == Action::"view"')], "deny"),
    ],
)
def test_several_forbids(texts: list[str], expected: str) -> None:
    for order in (texts, texts[::-1]):
        assert short(load(*order).authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (forbid("a"), 'policy "a" forbids it'),
        (forbid("a", notes='@reason("not on fridays")'), "not on fridays"),
        (forbid("a", notes='@reason("no") @advice("ask ops")'), "no; ask ops"),
        (asks("a"), 'policy "a" asks for the yes of finance'),
        (permit("surehand.scopes", "false") + permit("v", action='action == Action::"view"'), "no policy permits it"),
        (permit("surehand.scopes"), "no policy permits viewing it"),
    ],
)
def test_reasons_are_for_people(text: str, reason: str) -> None:
    assert load(text).authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS).reasons == (reason,)


def test_a_policy_with_the_id_of_a_builtin_replaces_it() -> None:
    policies = load(forbid("surehand.high", "false"), permit("surehand.scopes", "true", "action"))
    assert short(policies.authorize(BOB, HIGH, {}, now_ns=NOON_NS)) == SCOPES
    assert short(policies.authorize(BOB, REFUND, {"amount_cents": 1}, now_ns=NOON_NS)) == SCOPES
    assert short(policies.authorize(BOB, MEDIUM, {}, now_ns=NOON_NS)) == "ask surehand.medium -> self"


OVERFLOW = "context.arguments.amount_cents + 9223372036854775807 > 0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (forbid("bad", OVERFLOW, 'action == Action::"call/refund"'), "deny bad"),
        (permit("bad", OVERFLOW, 'action == Action::"call/refund"'), "deny bad"),
        (asks("bad", OVERFLOW).replace('in Action::"call"', '== Action::"call/refund"'), "deny bad"),
        (asks("a") + permit("bad", OVERFLOW, 'action == Action::"call/refund"'), "deny bad"),
        (forbid("bad", 'User::"acme/nobody".tenant == "x"'), "deny bad"),
    ],
)
def test_a_policy_that_fails_is_a_no(text: str, expected: str) -> None:
    decision = load(text).authorize(ALICE, REFUND, {"amount_cents": 1}, now_ns=NOON_NS)
    assert short(decision) == expected
    assert decision.reasons == ('policy "bad" could not be evaluated, so it counts as a no',)


@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("broken", [1, 2])
def test_an_evaluation_that_does_not_work_is_a_no(monkeypatch: pytest.MonkeyPatch, broken: int, decided: bool) -> None:
    """Cedar says allow and names a failed policy, or says nothing at all: at the first or the second asking."""
    evaluate = cedar.evaluate
    asked: list[dict[str, Any]] = []

    def failing(policies: Any, entities: Any, request: dict[str, Any]) -> Verdict:
        asked.append(request)
        calls = [one for one in asked if one["action"]["id"] != "view"]
        if len(calls) != broken:
            return evaluate(policies, entities, request)
        failed = frozenset({"a"} if decided else ())
        return Verdict(allowed=decided, decided=decided, policies=frozenset(), erring=failed)

    monkeypatch.setattr(cedar, "evaluate", failing)
    decision = load(asks("a")).authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)
    assert short(decision) == ("deny a" if decided else "deny")
    assert "could not be evaluated" in decision.reasons[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"to": "a@x"}, SCOPES),
        ({"to": "a@evil"}, "deny to"),
        ({}, "deny to"),
        ({"to": None}, "deny to"),
        ({"to": 5}, "deny to"),
        ({"to": ["a@x"]}, "deny to"),
        ({"to": "\ud800"}, "deny to"),
        ({"to": "a@x", "extra": object()}, SCOPES),
    ],
)
def test_arguments_that_a_policy_cannot_judge_are_a_no(arguments: dict[str, Any], expected: str) -> None:
    text = forbid("to", 'context.arguments.to like "*evil"', 'action == Action::"call/mail"')
    assert short(load(text).authorize(ALICE, MAIL, arguments, now_ns=NOON_NS)) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": {"__entity": {"type": "User", "id": "root"}}},
        {"to": {"__extn": {"fn": "decimal", "arg": "1.0"}}},
        {"to": "x", "other": [{"deep": [{"__expr": "1"}]}]},
        {"to": "x", "__entity": 1},
        {"to": 2**70, "other": {"__extn": 1}},
    ],
)
@pytest.mark.parametrize("text", ["", forbid("a", 'context.arguments.to == "y"', 'action == Action::"call/mail"')])
def test_forged_entities_are_refused_even_if_nothing_reads_them(arguments: dict[str, Any], text: str) -> None:
    decision = load(text).authorize(ALICE, MAIL, arguments, now_ns=NOON_NS)
    assert isinstance(decision, Deny)
    assert "reserved key" in decision.reasons[0]


def test_reserved_words_as_values_are_harmless() -> None:
    assert short(load().authorize(ALICE, MAIL, {"to": '"__entity"'}, now_ns=NOON_NS)) == SCOPES


@pytest.mark.parametrize(
    ("action", "fires"),
    [
        ('action == Action::"call/refund"', [REFUND_V1, REFUND]),
        ('action in Action::"call/refund"', [REFUND_V1, REFUND]),
        ('action == Action::"call/refund@2.0.0"', [REFUND]),
        ('action in [Action::"call/refund@1.0.0", Action::"call/mail"]', [REFUND_V1, MAIL]),
        ('action == Action::"call"', [REFUND_V1, REFUND, MAIL]),
        ('action in Action::"call"', [REFUND_V1, REFUND, MAIL]),
    ],
)
def test_equal_to_a_group_of_calls_means_in_it(action: str, fires: list[ToolSpec]) -> None:
    tools = [REFUND_V1, REFUND, MAIL]
    policies = load(forbid("f", action=action), tools=tools)
    found = [spec for spec in tools if short(policies.authorize(ALICE, spec, {}, now_ns=NOON_NS)) == "deny f"]
    assert found == fires


def test_a_name_that_begins_like_another_is_another_tool() -> None:
    bash, session = tool("bash"), tool("bash_session")
    policies = load(forbid("f", action='action == Action::"call/bash"'), tools=[bash, session])
    assert short(policies.authorize(ALICE, session, {}, now_ns=NOON_NS)) == SCOPES


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ('principal == User::"acme/alice"', "deny f"),
        ('principal == User::"acme/bob"', SCOPES),
        ('principal in Role::"clerk" && principal in Tenant::"acme" && principal in Agent::"bot"', "deny f"),
        ('principal in Role::"bot" || principal in Agent::"clerk" || principal in Tenant::"alice"', SCOPES),
        ('principal.id == "alice" && principal.tenant == "acme" && principal.agent == "bot"', "deny f"),
        ('principal.scopes.contains("pay:write") && principal.tenant_scopes.contains("pay:write")', "deny f"),
        ('context.environment == "production" && context.run.state == ""', "deny f"),
        ('context.now == datetime("2025-06-16T12:00:00.123Z")', "deny f"),
        ('context.now > datetime("2025-06-16T12:00:00.123Z")', SCOPES),
        ('resource.name == "mail" && resource.version == "1.0.0" && resource.tags.contains("outside")', "deny f"),
        ('resource.idempotency == "single_effect" && resource.stage == "active" && !resource.read_only', "deny f"),
        ('resource == Tool::"mail" && action in Action::"call/mail"', "deny f"),
    ],
)
def test_what_policies_can_see(when: str, expected: str) -> None:
    assert short(load(forbid("f", when)).authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)) == expected


def test_injected_facts_are_arguments() -> None:
    text = forbid("f", 'context.arguments.tenant_id != "acme"', 'action == Action::"call/refund"')
    for tenant, expected in (("acme", SCOPES), ("other", "deny f")):
        arguments = {"amount_cents": 1, "tenant_id": tenant}
        assert short(load(text).authorize(ALICE, REFUND, arguments, now_ns=NOON_NS)) == expected


def test_c40_a_model_cannot_speak_for_another_tenant() -> None:
    """Whoever merges arguments last wins: a policy sees the merged value, and can hold it against the principal."""
    text = forbid("f", "context.arguments.tenant_id != principal.tenant", 'action == Action::"call/refund"')
    forged = {"amount_cents": 1, "tenant_id": "t2"}
    assert short(load(text).authorize(ALICE, REFUND, forged, now_ns=NOON_NS)) == "deny f"


def test_tenants_never_share_a_user() -> None:
    pairs = [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c"), ("a%252Fb", "c"), ("a", "/b/c")]
    assert len({user_id(Caller(tenant=tenant, id=id_)) for tenant, id_ in pairs}) == len(pairs)
    assert user_id(ALICE) == "acme/alice"


def test_a_tool_outside_the_catalog_is_judged_by_its_own_types() -> None:
    text = forbid("f", "context has arguments.amount_cents && context.arguments.amount_cents > 5")
    policies = load(text, tools=TOOLS)
    same, other = tool("new", {"amount_cents": {"type": "integer"}}), tool("odd", {"amount_cents": {"type": "string"}})
    assert short(policies.authorize(ALICE, same, {"amount_cents": 6}, now_ns=NOON_NS)) == "deny f"
    assert short(policies.authorize(ALICE, same, {"amount_cents": 5}, now_ns=NOON_NS)) == SCOPES
    assert short(policies.authorize(ALICE, other, {"amount_cents": "6"}, now_ns=NOON_NS)) == "deny f"


MANAGER = Caller(id="m", tenant="acme", roles=["operator"])


@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        ([], []),
        (["operator"], ["resolve"]),
        (["auditor"], ["audit"]),
        (["admin"], ["admin", "publish"]),
    ],
)
def test_other_actions_need_a_role(roles: list[str], allowed: list[str]) -> None:
    caller = Caller(id="m", tenant="acme", roles=roles)
    policies = load()
    for action in ("resolve", "audit", "admin", "publish"):
        expected = f"allow surehand.{action}" if action in allowed else "deny"
        assert short(policies.may(caller, action, READ, now_ns=NOON_NS)) == expected
        if action != "publish":
            assert short(policies.may(caller, action, None, now_ns=NOON_NS)) == expected


@pytest.mark.parametrize("action", ["publish", "approve"])
def test_publishing_and_approving_are_about_one_tool(action: Any) -> None:
    admin = Caller(id="m", tenant="acme", roles=["admin"])
    assert load().may(admin, action, None, now_ns=NOON_NS).reasons == (f"{action} is always about one tool",)


def test_who_may_approve_is_a_policy() -> None:
    text = forbid("not-bots", 'principal.agent != "" && resource.risk == "high"', 'action == Action::"approve"')
    policies = load(text)
    assert short(policies.may_approve(BOB, HIGH, now_ns=NOON_NS)) == "allow surehand.approve"
    assert short(policies.may_approve(ALICE, HIGH, now_ns=NOON_NS)) == "deny not-bots"
    assert policies.may(ALICE, "approve", HIGH, now_ns=NOON_NS) == policies.may_approve(ALICE, HIGH, now_ns=NOON_NS)


def test_publishing_may_ask() -> None:
    text = forbid("two-of-us", 'resource.risk == "high"', 'action == Action::"publish"', '@approvers("security")')
    admin = Caller(id="m", tenant="acme", roles=["admin"])
    assert short(load(text).may(admin, "publish", HIGH, now_ns=NOON_NS)) == "ask two-of-us -> security"
    assert short(load(text).may(BOB, "publish", HIGH, now_ns=NOON_NS)) == "deny"


def why(text: str, caller: Caller, action: Any) -> tuple[str, ...]:
    decision = load(text).may(caller, action, READ, now_ns=NOON_NS)
    assert isinstance(decision, Deny)
    return decision.reasons


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("resolve", "no policy permits resolving it; it needs the role operator"),
        ("audit", "no policy permits reading the audit; it needs the role auditor"),
        ("publish", "no policy permits publishing it; it needs the role admin"),
        ("admin", "no policy permits administration; it needs the role admin"),
    ],
)
def test_a_missing_role_is_named(action: Any, reason: str) -> None:
    assert why("", BOB, action) == (reason,)


def test_only_a_role_that_would_do_is_named() -> None:
    head = '@id("{0}") permit (principal in Role::"{1}", action == Action::"audit", resource){2};'
    nothing = ("no policy permits reading the audit",)
    either = ("no policy permits reading the audit; it needs the role auditor or chief",)
    assert why(head.format("a", "chief", ""), BOB, "audit") == either
    assert why(head.format("surehand.audit", "chief", ""), BOB, "audit") == (either[0].replace("auditor or ", ""),)
    boss = Caller(id="b", tenant="acme", roles=["chief"])
    assert why(head.format("a", "chief", " when { false }"), boss, "audit") == nothing
    assert why(permit("a", "false", 'action == Action::"audit"'), BOB, "audit") == nothing

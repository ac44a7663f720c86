"""What is refused at load, with the line that says why."""

import pytest

from surehand.policy import Policies, PolicySource
from tests.policy.samples import (
    ALICE,
    MAIL,
    NOON_NS,
    REFUND,
    REFUND_V1,
    catalog,
    forbid,
    load,
    permit,
    problems,
    short,
    tool,
)

CALL_REFUND = 'action == Action::"call/refund"'
ASKS = '@approvers("finance")'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # syntax and annotations
        ("\npermit (principal, action, resource) when {\n a > };", "line 2: does not parse: unexpected token `}`"),
        ("\n\npermit (principal, action, resource);", "line 3: the policy has no @id"),
        ('@id("") permit (principal, action, resource);', "line 1: the policy has no @id"),
        ('@id("a b") permit (principal, action, resource);', "@id('a b') must match"),
        ('@id("a") permit (principal == ?principal, action, resource);', "has a slot"),
        (permit("a") + forbid("a"), 'policy "a": the id is taken by another policy in p1.cedar'),
        (forbid("surehand.hihg"), "replaces no built-in policy"),
        (forbid("a", notes='@quota("2")'), "the annotation @quota has no meaning here"),
        (forbid("a", notes='@quorum("2")'), "@quorum without @approvers counts nobody"),
        (forbid("a", notes='@escalate("boss")'), "@escalate goes beside roles that are asked"),
        (forbid("a", notes='@approvers("finance") @escalate("a, b")'), '@escalate("a, b") names no role'),
        (forbid("a", notes='@approvers("finance") @escalate("self")'), '@escalate("self") names no role'),
        (forbid("a", notes='@approvers("self") @quorum("2")'), "self is one: ask self in a policy of its own"),
        (forbid("a", notes='@approvers("finance, self") @quorum("2")'), "self is one"),
        *(
            (forbid("a", notes=f'@approvers("finance") @quorum("{text}")'), "no whole number from 1 to 20")
            for text in ("", "0", "21", "-1", "2.0", " 2", "two", "²", "1" * 30)
        ),
        (forbid("a", notes='@mode("any")'), '@mode("any") is not known; write @mode("shadow")'),
        (forbid("a", action="action", notes='@mode("shadow")'), "is for the actions view and call only"),
        (forbid("a", action='action == Action::"audit"', notes='@mode("shadow")'), "is for the actions view and call"),
        (forbid("surehand.medium", notes='@mode("shadow")'), "would replace a built-in policy by nothing"),
        ("".join(forbid(f"p{n}", notes='@mode("shadow")') for n in range(51)), "51 policies are in"),
        (forbid("a", notes='@approvers("")'), "@approvers is empty"),
        (forbid("a", notes="@approvers"), "@approvers is empty"),
        (forbid("a", notes='@approvers("finance,")'), "@approvers is empty or names no group"),
        ('@id("a") @approvers("x") permit (principal, action in Action::"call", resource);', "@approvers on a permit"),
        (forbid("a", action="action", notes=ASKS), "@approvers on an open action"),
        (forbid("a", action='action == Action::"view"', notes=ASKS), "for the actions call, publish and admin only"),
        (
            forbid("a", action='action in [Action::"call/mail", Action::"audit"]', notes=ASKS),
            "for the actions call, publish and admin only",
        ),
        # names
        (forbid("a", action='action == Action::"call/refnd"'), 'no Action::"call/refnd"; did you mean call/refund?'),
        (forbid("a", action='action == Action::"call/refund@3"'), 'there is no Action::"call/refund@3"'),
        (forbid("a", action='action == Action::"cal"'), "did you mean call?"),
        (forbid("a", action='action == Action::"call/repay"'), 'another name of refund; write Action::"call/refund"'),
        (forbid("a", action='action in [Action::"call/mail", Action::"zzz"]'), "actions are view, approve"),
        (forbid("a", action='action == Other::Action::"view"'), 'no Other::Action::"view"'),
        (forbid("a", 'resource == Tool::"refnd"'), 'no Tool::"refnd"; did you mean refund?'),
        ('@id("a") forbid (principal, action, resource == Tool::"zzz");', "name a published tool"),
        (forbid("a", 'principal == User::"alice"'), 'write User::"TENANT/alice"'),
        (forbid("a", 'principal == Foo::"x"'), "unrecognized entity type `Foo`"),
        ('@id("a") forbid (principal, action, resource == System::"x");', 'write System::"surehand"'),
        ('@id("a") forbid (principal is Agent, action, resource);', "correct the head"),
        # never fires
        (
            '@id("a") forbid (principal, action == Action::"call/refund", resource == Tool::"mail");',
            "it never applies: action and resource name different things",
        ),
        (
            '@id("a") forbid (principal, action in Action::"call", resource == System::"surehand");',
            "it never applies",
        ),
        (forbid("a", 'action == Action::"call/refund"'), 'write action in Action::"call/refund"'),
        (forbid("a", '[Action::"call"].contains(action)'), 'write action in Action::"call"'),
        # arguments
        (forbid("a", "context.arguments.amount_cent > 1", CALL_REFUND), "did you mean amount_cents?"),
        (forbid("a", "context.arguments has amount_cent"), "amount_cent exists in no tool it can be about"),
        (forbid("a", "context has arguments.address.cty"), "did you mean address.city?"),
        (forbid("a", "context.arguments has tenant", CALL_REFUND), "did you mean tenant_id?"),
        (forbid("a", "context.arguments.log == 1", CALL_REFUND), "log exists in no tool"),
        (forbid("a", 'context.arguments.amount_cents > "1"', CALL_REFUND), "expected"),
        (forbid("a", 'context.arguments.amount_cents == "1"', CALL_REFUND), "compare values of one type"),
        (forbid("a", 'context.arguments.note == "x"', CALL_REFUND), "guard it: context has arguments.note"),
        (forbid("a", "context.arguments.amount_cents > 1"), "guard it: context has arguments.amount_cents"),
        (forbid("a", "context.arguments.any == 1", CALL_REFUND), "has no single type in the schema of refund@2.0.0"),
        (forbid("a", "context.arguments.any.x == 1", CALL_REFUND), "any.x has no single type"),
        (forbid("a", "context.arguments.any has x", CALL_REFUND), "has no single type in the schema of refund@2.0.0"),
        (forbid("a", "context has arguments.adress.city && context.arguments.adress.city == 1"), "mean address?"),
        (
            '@id("a") forbid (principal, action == Action::"call", resource is Tool in System::"surehand");',
            "never applies",
        ),
        (forbid("a", 'context.arguments == {to: "x"}', 'action == Action::"call/mail"'), "used as a whole"),
        (forbid("a", "context.arguments has to", 'action == Action::"view"'), "to exists in no tool it can be about"),
        # attributes
        (forbid("a", 'resource.rsk == "x"'), "attribute `rsk` on entity type `Tool` not found"),
        (forbid("a", "resource has rsk"), "resource never has rsk; did you mean risk?"),
        (forbid("a", "principal has tenan"), "principal never has tenan; did you mean tenant?"),
        (forbid("a", "context has enviroment"), "did you mean environment?"),
        (forbid("a", "context has run.stat"), "write context.run.state"),
        (forbid("a", 'resource.risk == "high"', 'action == Action::"audit"'), "write resource is Tool in the head"),
        # values that never are
        (forbid("a", 'resource.risk == "hihg"'), 'resource.risk is never "hihg"; did you mean high?'),
        (
            forbid("a", '"safe" != resource.idempotency'),
            'resource.idempotency is never "safe"; it is one of safe_retry',
        ),
        (forbid("a", '["low", "lo"].contains(resource["risk"])'), 'resource.risk is never "lo"; did you mean low?'),
        (forbid("a", '["beta"].containsAny([resource.stage])'), 'resource.stage is never "beta"; it is one of draft'),
        (forbid("a", 'if resource.stage == "activ" then true else false'), "did you mean active?"),
        (forbid("a", 'context.run.state == "planing"'), 'context.run.state is never "planing"; did you mean planning?'),
        (forbid("a", '["acting", "idle"].contains(context.run.state)'), 'never "idle"; it is one of planning, acting'),
        (forbid("a", '"actin" != context["run"]["state"]'), "did you mean acting?"),
        # syntax that other languages have
        (forbid("a", "context.arguments.rate > 1.5", CALL_REFUND), 'write `.greaterThan(decimal("1.5"))`'),
        (forbid("a", "context.arguments.rate <= -0.25", CALL_REFUND), 'write `.lessThanOrEqual(decimal("-0.25"))`'),
        (forbid("a", "context.arguments.rate == .5", CALL_REFUND), 'instead of `.5` write `decimal("0.5")`'),
        (forbid("a", "resource.owner == 'x'"), "strings stand in double quotes"),
        (permit("a").rstrip(";"), "there is no `;` at its end"),
        (permit("a").rstrip(";") + " // the end;", "there is no `;` at its end"),
        (permit("a").rstrip(";") + "\n" + forbid("b"), "there is no `;` after one of the policies here"),
        (forbid("a", '"1.5" >', notes='@reason("a; permit (1.5)")'), "correct the syntax of this policy"),
    ],
)
def test_a_wrong_policy_is_refused_with_one_line(text: str, expected: str) -> None:
    found = problems(text)
    assert [problem for problem in found if expected in problem] == found
    assert len(found) == 1
    assert found[0].startswith("p1.cedar: ") or "policies are in @mode" in text + found[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// nothing",
        forbid("a", "context.arguments.amount_cents > 1", CALL_REFUND),
        forbid("a", "context.arguments.amount_cents > 1", 'action == Action::"call/refund@2.0.0"'),
        forbid("a", "context.arguments.amount_cents > 1", 'action in Action::"call/refund"'),
        forbid("a", "context has arguments.amount_cents && context.arguments.amount_cents > 1"),
        forbid("a", "context has arguments.address.city && context.arguments has note", CALL_REFUND),
        forbid("a", 'context has arguments.lines && context.arguments.lines.contains("x")', CALL_REFUND),
        forbid("a", 'context has arguments.rate && context.arguments.rate.greaterThan(decimal("0.5"))'),
        forbid("a", "context.arguments has any", CALL_REFUND),
        forbid("a", 'context.arguments.tenant_id == "acme"', CALL_REFUND),
        forbid("a", 'context.now.toTime() > duration("18h")'),
        forbid("a", 'context.run.state == "planning" && context.environment != "production"'),
        forbid("a", 'principal in Role::"x" || principal in Tenant::"acme" || principal == User::"acme/bob"'),
        forbid("a", 'action in Action::"call/refund" && context has arguments.amount_cents'),
        forbid("a", 'resource.risk == "high"', 'action == Action::"publish"', ASKS),
        '@id("a") forbid (principal in Agent::"bot", action == Action::"call", resource == Tool::"mail")'
        ' when { context.arguments.to like "*@evil.example" };',
        '@id("a") forbid (principal, action, resource is Tool) when { context has arguments.to };',
    ],
)  # fmt: skip
def test_a_right_policy_loads(text: str) -> None:
    assert problems(text) == []


def test_all_problems_come_at_once() -> None:
    found = problems(
        forbid("a", "resource has rsk"), "permit (principal, action, resource);", tenant_scopes={"acme": "x"}
    )
    assert [line.split(": ")[0] for line in found] == ["p2.cedar", "tenant_scopes", "p1.cedar"]


def test_a_policy_for_all_versions_is_checked_against_each() -> None:
    old, new = (forbid("a", f"context.arguments.{name} > 1", CALL_REFUND) for name in ("amount", "amount_cents"))
    assert problems(new, tools=[REFUND]) == []
    assert "refund@1.0.0" in problems(new, tools=[REFUND_V1, REFUND])[0]
    assert "refund@2.0.0" in problems(old, tools=[REFUND_V1, REFUND])[0]
    assert problems(old.replace("call/refund", "call/refund@1.0.0"), tools=[REFUND_V1, REFUND]) == []


def test_arguments_of_two_types_need_a_tool_each() -> None:
    number, text = tool("a", {"x": {"type": "integer"}}), tool("b", {"x": {"type": "string"}})
    both = forbid("p", "context has arguments.x && context.arguments.x > 1")
    assert "Long" in problems(both, tools=[number, text])[0]
    assert problems(both.replace('"call"', '"call/a"'), tools=[number, text]) == []


def test_disabled_and_removed_tools_are_known_names() -> None:
    wanted = forbid("a", 'resource == Tool::"mail"', 'action in [Action::"call/mail", Action::"call/refund"]')
    where = catalog(disabled=[MAIL], removed=[REFUND])
    assert Policies.load([PolicySource("p", wanted)], where).warnings == ()


def test_versions_that_are_gone_do_not_hinder() -> None:
    new = PolicySource("p", forbid("a", "context.arguments.amount_cents > 1", CALL_REFUND))
    assert Policies.load([new], catalog(REFUND, removed=[REFUND_V1])).warnings == ()
    only_old = PolicySource("p", forbid("a", "context.arguments.amount > 1", CALL_REFUND))
    assert Policies.load([only_old], catalog(removed=[REFUND_V1])).warnings == ()


def test_without_any_tool_policies_are_checked_all_the_same() -> None:
    assert problems(forbid("a", "resource.risk == 1"), tools=[]) != []
    assert problems(forbid("a", 'resource.risk == "low"'), tools=[]) == []


def test_while_a_source_is_down_unknown_names_are_warnings() -> None:
    texts = (
        forbid("a", action='action == Action::"call/gone"'),
        forbid("b", "context has arguments.gone"),
    )
    assert len(problems(*texts)) == 2
    policies = load(*texts, incomplete=True)
    assert [line.split('"')[1] for line in policies.warnings] == ["a", "b"]
    assert problems(forbid("c", "resource has rsk"), incomplete=True) != []
    gone = tool("gone")
    assert short(policies.authorize(ALICE, gone, {}, now_ns=NOON_NS)) == "deny a"


def test_an_argument_that_is_unreadable_in_one_tool_only_is_a_warning() -> None:
    blind, seeing = tool("blind", {"x": {}}), tool("seeing", {"x": {"type": "string"}})
    policies = load(forbid("a", 'context has arguments.x && context.arguments.x == "no"'), tools=[blind, seeing])
    assert ["blind@1.0.0" in line for line in policies.warnings] == [True]
    assert short(policies.authorize(ALICE, seeing, {"x": "yes"}, now_ns=NOON_NS)) == "allow surehand.scopes"
    assert short(policies.authorize(ALICE, blind, {}, now_ns=NOON_NS)) == "allow surehand.scopes"
    assert short(policies.authorize(ALICE, blind, {"x": "yes"}, now_ns=NOON_NS)) == "deny a"


def test_values_that_may_be_are_no_mistake() -> None:
    for condition in (
        'resource.risk == "high" && ["active", "canary"].contains(resource.stage)',
        'resource.owner == "hihg" && resource.risk != resource.idempotency',
        'resource.name == "x" || resource.risk like "h*"',
    ):
        assert problems(forbid("a", condition)) == []

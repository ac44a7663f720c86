"""What is listed: whatever could be called with some arguments, and nothing that policies refuse whatever they are."""

import pytest

from surehand.policy import Deny
from tests.policy.samples import (
    ALICE,
    BOB,
    HIGH,
    MAIL,
    MEDIUM,
    NOON_NS,
    READ,
    REFUND,
    forbid,
    load,
    permit,
    short,
    tool,
)

SCOPES = "allow surehand.scopes"
MAILING = 'action == Action::"call/mail"'
FINANCE = '@approvers("finance")'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", SCOPES),
        (forbid("f", action='action == Action::"view"'), "deny f"),
        (forbid("f"), "deny f"),
        (forbid("f", 'context.environment == "production"'), "deny f"),
        (forbid("f", "context has arguments"), "deny f"),
        (forbid("f", "context.arguments has to"), SCOPES),
        (forbid("f", 'context.arguments.to == "x"', MAILING), SCOPES),
        (forbid("f", 'context.arguments.to == "x" || true', MAILING), SCOPES),
        (forbid("f", "true", notes=FINANCE), "ask f"),
        (forbid("f", 'context.arguments.to == "x"', MAILING, FINANCE), SCOPES),
        (forbid("f", "true", notes=FINANCE) + forbid("g"), "deny g"),
        (permit("surehand.scopes", "false", "action"), "deny"),
        (
            permit("surehand.scopes", "false", "action") + permit("p", action='action == Action::"view"'),
            "deny",
        ),
        (
            permit("surehand.scopes", action='action == Action::"view"')
            + permit("p", 'context.arguments.to == "x"', MAILING),
            "allow p",
        ),
        (
            permit("surehand.scopes", action='action == Action::"view"')
            + '@id("p") permit (principal in Role::"clerk", action == Action::"call/mail", resource)'
            'when { context.arguments.to == "x" } unless { context.arguments.to == "y" };',
            "allow p",
        ),
        (
            permit("surehand.scopes", action='action == Action::"view"')
            + '@id("p") permit (principal in Role::"boss", action == Action::"call/mail", resource)'
            'when { context.arguments.to == "x" };',
            "deny",
        ),
        (
            permit("surehand.scopes", action='action == Action::"view"')
            + '@id("p") permit (principal, action == Action::"call/mail", resource)'
            'when { context.arguments.to == "x" } unless { principal.agent == "bot" };',
            "deny",
        ),
    ],
)  # fmt: skip
def test_a_tool_is_listed_if_it_may_be_called_with_some_arguments(text: str, expected: str) -> None:
    assert short(load(text).view(ALICE, MAIL, now_ns=NOON_NS)).split(" ->")[0] == expected


def test_hidden_says_why_and_an_ask_marks() -> None:
    policies = load()
    hidden = policies.view(BOB, REFUND, now_ns=NOON_NS)
    assert hidden == Deny(policies=(), reasons=("the caller lacks the permission pay:write",))
    assert short(policies.view(BOB, MEDIUM, now_ns=NOON_NS)) == "ask surehand.medium -> self"
    assert short(policies.view(BOB, HIGH, now_ns=NOON_NS)) == "ask surehand.high -> approver"


def test_what_may_not_be_viewed_may_not_be_called() -> None:
    policies = load(forbid("hide", action='action == Action::"view"'))
    assert short(policies.authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)) == "deny hide"


def test_a_permit_that_fails_where_its_arguments_are_unknown_hides_nothing() -> None:
    """With arguments, its first condition is false and the failing one is never reached."""
    overflow = 'resource.name == "mail" && User::"acme/nobody".tenant == "x"'
    text = (
        '@id("p") permit (principal, action == Action::"call/mail", resource)'
        f'when {{ context.arguments.to == "y" }} when {{ {overflow} }};'
    )
    policies = load(text)
    assert short(policies.authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)) == SCOPES
    assert short(policies.view(ALICE, MAIL, now_ns=NOON_NS)) == SCOPES
    assert short(policies.authorize(ALICE, MAIL, {"to": "y"}, now_ns=NOON_NS)) == "deny p"


def test_tools_that_policies_cannot_tell_apart_share_a_decision_and_others_do_not() -> None:
    twins = [tool("a"), tool("b"), tool("c", risk="high"), tool("d", permissions=["x"]), tool("e", tags=["t"])]
    text = forbid("named", 'resource == Tool::"b"') + forbid("tagged", 'resource.tags.contains("t")')
    seen = [short(load(text, tools=twins).view(ALICE, spec, now_ns=NOON_NS)) for spec in twins]
    together = load(text, tools=twins)
    assert [short(together.view(ALICE, spec, now_ns=NOON_NS)) for spec in twins] == seen
    assert seen == [SCOPES, "deny named", "ask surehand.high -> approver", "deny", "deny tagged"]


def test_actions_of_the_same_policies_do_not_mix() -> None:
    policies = load(permit("all", action="action") + forbid("no-audit", 'action == Action::"audit"', "action"))
    assert short(policies.may(ALICE, "audit", READ, now_ns=NOON_NS)) == "deny no-audit"
    assert short(policies.may(ALICE, "resolve", READ, now_ns=NOON_NS)) == "allow all"
    assert short(policies.may(ALICE, "audit", None, now_ns=NOON_NS)) == "deny no-audit"

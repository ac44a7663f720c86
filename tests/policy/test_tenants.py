"""Policies of one tenant: they hold for it alone, and loosen nothing that holds for all."""

import pytest

from surehand.errors import PolicyError
from surehand.policy import Policies, PolicySource
from surehand.types import Caller
from tests.policy.samples import ALICE, MAIL, NOON_NS, READ, REFUND, catalog, forbid, load, permit, short

OTHER = Caller(id="alice", tenant="other", scopes=["pay:write"])


def of_tenant(
    *texts: str, base: str = "", tenant: str = "acme", scopes: dict[str, list[str]] | None = None
) -> Policies:
    sources = [PolicySource(f"t{number}.cedar", text, tenant) for number, text in enumerate(texts, 1)]
    return Policies.load(
        [PolicySource("base.cedar", base), *sources], catalog(REFUND, MAIL, READ), tenant_scopes=scopes
    )


def problems(*texts: str, tenant: str = "acme", scopes: dict[str, list[str]] | None = None) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        of_tenant(*texts, tenant=tenant, scopes=scopes)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "own", "other"),
    [
        (forbid("no"), "deny acme/no", "allow surehand.scopes"),
        (forbid("ask", notes='@approvers("boss")'), "ask acme/ask -> boss", "allow surehand.scopes"),
        (forbid("hide", action='action == Action::"view"'), "deny acme/hide", "allow surehand.scopes"),
        (forbid("large", "context.arguments.amount_cents > 1", 'action == Action::"call/refund"'),
         "deny acme/large", "allow surehand.scopes"),
        (permit("all"), "allow acme/all surehand.scopes", "allow surehand.scopes"),
    ],
)  # fmt: skip
def test_it_holds_for_its_tenant_alone(text: str, own: str, other: str) -> None:
    policies = of_tenant(text)
    for _ in range(2):
        for caller, expected in ((ALICE, own), (OTHER, other)):
            assert short(policies.authorize(caller, REFUND, {"amount_cents": 5}, now_ns=NOON_NS)) == expected


def test_what_it_cannot_read_harms_nobody_else() -> None:
    policies = of_tenant(forbid("large", "context.arguments.amount_cents > 1", 'action == Action::"call/refund"'))
    assert short(policies.authorize(ALICE, REFUND, {"amount_cents": 2**70}, now_ns=NOON_NS)) == "deny acme/large"
    assert short(policies.authorize(OTHER, REFUND, {"amount_cents": 2**70}, now_ns=NOON_NS)) == "allow surehand.scopes"


def test_it_loosens_no_forbid_of_all() -> None:
    policies = of_tenant(permit("all"), base=forbid("base") + forbid("ask", notes='@approvers("boss")'))
    assert short(policies.authorize(ALICE, REFUND, {"amount_cents": 5}, now_ns=NOON_NS)) == "deny base"


def test_tenants_may_use_the_same_ids_and_records_tell_them_apart() -> None:
    policies = Policies.load(
        [PolicySource("a.cedar", forbid("no"), "acme"), PolicySource("b.cedar", forbid("no"), "o/t her")],
        catalog(READ),
    )
    assert {name for name in policies.rules if not name.startswith("surehand.")} == {"acme/no", "o%2Ft%20her/no"}
    slash = Caller(id="x", tenant="o/t her")
    assert short(policies.authorize(slash, READ, {}, now_ns=NOON_NS)) == "deny o%2Ft%20her/no"
    assert short(policies.authorize(OTHER, READ, {}, now_ns=NOON_NS)) == "allow surehand.scopes"


def test_whose_a_policy_is_counts_in_the_digest() -> None:
    digests = {
        of_tenant(forbid("no")).digest,
        of_tenant(forbid("no"), tenant="other").digest,
        Policies.load([PolicySource("base.cedar", ""), PolicySource("t1.cedar", forbid("no"))], catalog(READ)).digest,
    }
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (forbid("surehand.medium"), "a tenant's policy replaces no built-in one"),
        (permit("all", action="action"), "permits neither publish nor admin"),
        (permit("all", action='action == Action::"admin"'), "permits neither publish nor admin"),
        (forbid("no") + forbid("no"), "the id is taken"),
    ],
)
def test_what_a_tenant_may_not_say(text: str, expected: str) -> None:
    (found,) = problems(text)
    assert expected in found


def test_a_tenant_that_does_not_exist_is_a_problem_where_all_are_named() -> None:
    (found,) = problems(forbid("no"), tenant="acne", scopes={"acme": ["pay:write"]})
    assert found == 't1.cedar: policy "acne/no": there is no tenant "acne"; did you mean acme?'
    assert of_tenant(forbid("no"), tenant="acne").rules["acne/no"].tenant == "acne"


def test_a_tool_may_exist_for_some_tenants_only() -> None:
    only = '@id("mail-of-acme") forbid (principal, action == Action::"call/mail", resource) '
    policies = load(only + 'unless { principal in Tenant::"acme" };')
    assert short(policies.view(ALICE, MAIL, now_ns=NOON_NS)) == "allow surehand.scopes"
    assert short(policies.view(OTHER, MAIL, now_ns=NOON_NS)) == "deny mail-of-acme"
    assert short(policies.authorize(OTHER, MAIL, {"to": "x"}, now_ns=NOON_NS)) == "deny mail-of-acme"


def test_roles_are_checked_where_all_are_named() -> None:
    text = forbid("a", 'principal in Role::"clrk"') + forbid("b", notes='@approvers("finanse, self")')
    with pytest.raises(PolicyError) as caught:
        load(text, roles=["clerk", "finance"])
    assert caught.value.problems == [
        'p1.cedar: policy "a": there is no role "clrk"; did you mean clerk?',
        'p1.cedar: policy "b": there is no role "finanse"; did you mean finance?',
    ]
    assert load(text).warnings == ()
    assert load(forbid("a", 'principal in Role::"admin"'), roles=["clerk"]).rules["a"]

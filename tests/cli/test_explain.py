"""`surehand policy explain`: the decision, who made it, and what would change it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import POLICY, Project, make

pytestmark = pytest.mark.timeout(120)


def pay(cents: int) -> tuple[str, ...]:
    return ("policy", "explain", "pay", "--args", json.dumps({"order": "x", "cents": cents}))


def test_an_ask_names_who_can_lift_it(project: Project) -> None:
    document = project.json(*pay(25000), "--as", "alice")
    assert (document["decision"], document["listed"], document["hard"]) == ("ask", True, [])
    (policy,) = document["policies"]
    assert (policy["id"], policy["source"], policy["liftable"]) == ("pay-large", "pay.cedar", True)
    assert policy["text"] == POLICY.strip()
    assert document["asks"] == [{"policy_id": "pay-large", "group": "finance", "quorum": 1, "callers": ["bob"]}]
    lines = project.run(*pay(25000), "--of", "alice").out.splitlines()
    assert "decision: ask" in lines
    assert "change: the yes of finance lifts pay-large: bob may give it" in lines
    assert "  when { context.arguments.cents > 10000 };" in lines
    assert "change: without pay-large: allow" in lines
    assert not (project.folder / "state.db").exists()


def test_nobody_lifts_their_own(project: Project) -> None:
    document = project.json(*pay(25000), "--as", "bob")
    assert document["asks"] == [{"policy_id": "pay-large", "group": "finance", "quorum": 1, "callers": []}]


def test_an_allowed_call(project: Project) -> None:
    document = project.json(*pay(5), "--as", "alice")
    assert document["decision"] == "allow"
    assert [policy["id"] for policy in document["policies"]] == ["surehand.scopes"]
    assert (document["missing_scopes"], document["with_scopes"]) == ([], None)
    assert project.run(*pay(5), "--as", "alice").out.count("change: ") == 0


def test_missing_scopes_and_what_they_would_do(project: Project) -> None:
    document = project.json(*pay(25000), "--as", "eve")
    assert (document["decision"], document["listed"]) == ("deny", False)
    assert document["hidden"] == "the caller lacks the permission desk:use"
    assert document["missing_scopes"] == ["desk:use"]
    assert document["with_scopes"] == {"decision": "ask", "reasons": ["payments over 100.00 need finance"]}
    assert "change: with desk:use in eve's scopes: ask: payments over 100.00 need finance" in (
        project.run(*pay(25000), "--as", "eve").out.splitlines()
    )


def test_a_hard_forbid_and_a_tenant_that_may_not(project: Project) -> None:
    toml = project.folder / "strict.toml"
    toml.write_text(
        (project.folder / "surehand.toml").read_text(encoding="utf-8")
        + '[tenants.acme]\nscopes = ["desk:use"]\n[tenants.other]\nscopes = []\n',
        encoding="utf-8",
    )
    hard = project.folder / "policies" / "hard.cedar"
    hard.write_text(
        '@id("no-pay") @reason("not on a Monday") forbid (principal, action == Action::"call/pay", resource)\n'
        "when { context.arguments.cents > 20000 };",
        encoding="utf-8",
    )
    try:
        of_alice: dict[str, Any] = project.json(*pay(25000), "--as", "alice", "--project", "strict.toml")
        of_eve = project.json(*pay(25000), "--as", "eve", "--project", "strict.toml")
    finally:
        hard.unlink()
    assert (of_alice["decision"], of_alice["hard"], of_alice["asks"]) == ("deny", ["no-pay"], [])
    assert of_alice["reasons"] == ["not on a Monday"]
    assert of_eve["tenant_lacks"] == ["desk:use"]


def test_what_would_change_it_and_what_a_shadow_would_make_of_it(project: Project) -> None:
    draft = project.folder / "policies" / "draft.cedar"
    draft.write_text(
        """
        @id("two") @approvers("finance") @quorum("2") forbid (principal, action == Action::"call/pay", resource)
        when { context.arguments.cents > 24000 };
        @id("trial") @mode("shadow") @reason("too much") forbid (principal, action == Action::"call/pay", resource);
        @id("people") forbid (principal, action == Action::"call/pay", resource)
        when { context.arguments.cents == 7 } unless { principal in Role::"operator" };
        """,
        encoding="utf-8",
    )
    try:
        document = project.json(*pay(25000), "--as", "alice")
        lines = project.run(*pay(25000), "--as", "alice").out.splitlines()
        by_role = project.json(*pay(7), "--as", "alice")
    finally:
        draft.unlink()
    assert [(ask["policy_id"], ask["quorum"]) for ask in document["asks"]] == [("pay-large", 1), ("two", 2)]
    assert [(one["policy_id"], one["decision"], one["reason"]) for one in document["shadow"]] == [
        ("trial", "deny", "too much")
    ]
    assert "shadow: trial would make it deny: too much" in lines
    assert "change: the yes of 2 people of finance lifts two: bob may give it" in lines
    assert "policy two of draft.cedar asks 2 people of finance:" in lines
    assert [(one["kind"], one["names"], one["decision"]) for one in by_role["changes"]] == [
        ("role", ["operator"], "allow"),
        ("without", ["people"], "allow"),
    ]


def test_what_no_policy_is_asked_about(project: Project) -> None:
    explain = ("policy", "explain", "pay", "--as", "alice", "--args")
    for arguments in ('{"order": "x"}', '{"order": '):
        refused = project.run(*explain, arguments)
        assert refused.code == 2
        assert "no policy is asked" in refused.err
    missing = project.json("policy", "explain", "pya", "--as", "alice", code=1)
    assert missing["error"]["code"] == "not_found"


def test_where_arguments_come_from(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    policy = """@id("outside") @approvers("finance") @reason("named outside")
    forbid (principal, action == Action::"call/pay", resource)
    when { context.provenance.order == "untrusted" || context.run.untrusted };"""
    (project.folder / "policies" / "outside.cedar").write_text(policy, encoding="utf-8")
    for options, decision in [
        ((), "allow"),
        (("--untrusted", "order"), "ask"),
        (("--read-untrusted",), "ask"),
    ]:
        document = project.json(*pay(5), *options, "--as", "alice")
        assert document["decision"] == decision
    assert project.json(*pay(5), "--untrusted", "order", "--as", "alice")["untrusted"] == ["order"]
    assert "there are order, cents" in project.run(*pay(5), "--untrusted", "ordr", "--as", "alice").err

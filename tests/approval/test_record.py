"""Whose answer counts, and for what."""

from typing import Any

import pytest

from surehand.approval import Approval, Counted, Refused, Vote, count, is_met
from surehand.types import SELF, Caller, Requirement


def need(group: str) -> Requirement:
    return Requirement(policy_id=f"p-{group}", group=group, reason="why", policy_hash="h")


def asked(*groups: str, **fields: Any) -> Approval:
    given: dict[str, Any] = {
        "approval_id": "apr-1",
        "call_id": "call-1",
        "tenant": "acme",
        "requester": "alice",
        "name": "refund",
        "version": "1.0.0",
        "digest": "d",
        "needs": tuple(map(need, groups)),
        "shown": b"",
        "shown_hash": "s",
        "created_us": 0,
        "expires_us": 100,
    }
    return Approval(**given | fields)


def person(name: str, *roles: str) -> Caller:
    return Caller(id=name, tenant="acme", roles=roles)


def answer(approval: Approval, voter: Caller, verdict: Any = "approve", now_us: int = 1) -> Counted | Refused:
    return count(approval, voter, verdict, reason="", now_us=now_us)


def vote(name: str, *groups: str, verdict: Any = "approve") -> Vote:
    return Vote(approver=name, verdict=verdict, groups=groups, reason="", at_us=1)


@pytest.mark.parametrize(
    ("groups", "voter", "message"),
    [
        (
            ["finance"],
            person("alice", "finance"),
            "alice asked for this and may not decide it; another person of finance must",
        ),
        (["finance"], person("alice"), "alice asked for this and may not decide it; another person of finance must"),
        (
            ["legal", "finance"],
            person("alice", "finance"),
            "alice asked for this and may not decide it; another person of finance and of legal must",
        ),
        (["finance"], person("bob", "clerk"), "bob is not among those who may decide this (finance)"),
        (["self"], person("bob", "self"), "bob is not among those who may decide this (alice, who asked)"),
        (["self", "x"], person("bob"), "bob is not among those who may decide this (x, alice, who asked)"),
        ([], person("alice"), "alice asked for this and may not decide it; another person of this tenant must"),
    ],
)
def test_who_may_not_decide_is_told_why(groups: list[str], voter: Caller, message: str) -> None:
    assert answer(asked(*groups), voter) == Refused(code="not_entitled", message=message)


def test_one_person_counts_for_each_of_their_groups() -> None:
    counted = answer(asked("finance", "legal"), person("bob", "finance", "legal", "other"))
    assert isinstance(counted, Counted)
    assert (counted.vote.groups, counted.status) == (("finance", "legal"), "approved")


def test_the_requester_counts_for_self_only() -> None:
    counted = answer(asked(SELF, "finance"), person("alice", "finance"))
    assert isinstance(counted, Counted)
    assert (counted.vote.groups, counted.status) == ((SELF,), "open")


def test_one_no_ends_it() -> None:
    counted = answer(asked("finance", "legal"), person("bob", "finance"), "reject")
    assert isinstance(counted, Counted)
    assert counted.status == "rejected"


@pytest.mark.parametrize(
    ("approval", "now_us", "code"),
    [
        (asked("finance", status="approved"), 1, "already_decided"),
        (asked("finance"), 100, "expired"),
        (asked("finance", "legal", votes=(vote("bob", "finance"),)), 1, "already_decided"),
    ],
)
def test_when_it_is_too_late(approval: Approval, now_us: int, code: str) -> None:
    refused = answer(approval, person("bob", "finance"), now_us=now_us)
    assert isinstance(refused, Refused)
    assert refused.code == code


@pytest.mark.parametrize(
    ("groups", "votes", "met"),
    [
        (["finance"], [vote("bob", "finance")], True),
        (["finance", "legal"], [vote("bob", "finance"), vote("carol", "legal")], True),
        (["finance", "legal"], [vote("bob", "finance")], False),
        (["finance"], [vote("bob", "finance"), vote("carol", "finance", verdict="reject")], False),
        (["finance"], [vote("bob", "finance", verdict="reject")], False),
        (["finance"], [], False),
        ([], [vote("bob", "finance")], False),
        ([], [], False),
    ],
)
def test_what_counts_as_a_yes(groups: list[str], votes: list[Vote], met: bool) -> None:
    assert is_met(tuple(map(need, groups)), tuple(votes)) is met

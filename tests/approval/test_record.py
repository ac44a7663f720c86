"""Whose answer counts, and for what."""

from typing import Any

import pytest

from surehand.approval import Approval, Counted, Progress, Refused, Vote, count, is_met, progress
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


def needs_two(**fields: Any) -> Approval:
    two = Requirement(policy_id="p", group="finance", reason="why", policy_hash="h", quorum=2, escalate_to="board")
    return asked(needs=(two,), **fields)


def told(approval: Approval, voter: Caller, **given: Any) -> str:
    counted = count(approval, voter, "approve", reason="", now_us=1, **given)
    return counted.status if isinstance(counted, Counted) else counted.code


BOB, CAROL, DORA = person("bob", "finance"), person("carol", "finance"), person("dora")


@pytest.mark.parametrize(
    ("votes", "voter", "principals", "escalated", "comes_to"),
    [
        pytest.param([], BOB, [], False, "open", id="one-of-two"),
        pytest.param([vote("bob", "finance")], CAROL, [], False, "approved", id="two-people"),
        pytest.param([vote("bob", "finance")], BOB, [], False, "already_decided", id="the-same-twice"),
        pytest.param([vote("bob", "finance")], person("alice", "finance"), [], False, "not_entitled", id="requester"),
        pytest.param([vote("bob", "finance")], DORA, [CAROL], False, "approved", id="a-deputy"),
        pytest.param([vote("bob", "finance")], DORA, [BOB], False, "open", id="a-deputy-of-who-has-answered"),
        pytest.param([vote("bob", "finance")], DORA, [BOB, CAROL], False, "approved", id="a-deputy-of-two"),
        pytest.param(
            [], person("dora", "finance"), [BOB, CAROL], False, "open", id="a-deputy-in-the-group-counts-once"
        ),
        pytest.param([], DORA, [person("alice", "finance")], False, "not_entitled", id="a-deputy-of-the-requester"),
        pytest.param([], person("alice"), [BOB], False, "not_entitled", id="the-requester-as-deputy"),
        pytest.param([], DORA, [person("x", "clerk")], False, "not_entitled", id="a-deputy-of-another-group"),
        pytest.param([], person("z", "board"), [], False, "not_entitled", id="the-second-group-too-early"),
        pytest.param([vote("bob", "finance")], person("z", "board"), [], True, "approved", id="escalated"),
        pytest.param([vote("bob", "finance")], DORA, [person("z", "board")], True, "approved", id="escalated-deputy"),
        pytest.param([], person("alice", "board"), [], True, "not_entitled", id="escalated-to-the-requester"),
    ],
)
def test_two_of_a_group(
    votes: list[Vote], voter: Caller, principals: list[Caller], escalated: bool, comes_to: str
) -> None:
    assert told(needs_two(votes=tuple(votes)), voter, principals=principals, escalated=escalated) == comes_to


def test_a_deputy_is_noted_with_whom_they_stand_for() -> None:
    counted = count(needs_two(), DORA, "approve", reason="", now_us=1, principals=[BOB])
    assert isinstance(counted, Counted)
    assert (counted.vote.groups, counted.vote.acts_for) == (("finance",), {"finance": "bob"})
    after = (counted.vote, vote("bob", "finance"))
    assert not is_met(needs_two().needs, after)
    assert progress(needs_two().needs, after) == (Progress(group="finance", have=1, need=2),)


def test_whoever_stands_in_for_a_group_does_so_for_every_policy_that_asks_it() -> None:
    twice = asked(needs=(*needs_two().needs, need("finance")))
    assert told(twice, person("z", "board"), escalated=True) == "not_entitled"


def test_an_answer_ends_the_question() -> None:
    counted = answer(needs_two(), BOB, "answer")
    assert isinstance(counted, Counted)
    assert counted.status == "answered"
    assert not is_met(needs_two().needs, (vote("bob", "finance"), vote("carol", "finance", verdict="answer")))

"""Who gets a version on trial, and when it has failed: pure."""

import pytest

from surehand.errors import RegistryError
from surehand.registry import MOVES, Canary, Trial, check_move
from surehand.types import Caller


def caller(name: str, *roles: str) -> Caller:
    return Caller(id=name, tenant="acme", roles=roles)


def test_a_share_is_a_share_and_only_grows() -> None:
    """Of runs, whoever starts them; a larger share takes it from nobody; another version has another share."""
    runs = [f"run{n}" for n in range(4000)]
    taken = {
        percent: {run for run in runs if Canary(percent=percent).takes("pay@2", caller("alice"), run)}
        for percent in (0, 0.5, 10, 50, 100)
    }
    assert (taken[0], taken[100]) == (set(), set(runs))
    assert taken[0.5] < taken[10] < taken[50]
    assert 300 < len(taken[10]) < 500
    assert 1800 < len(taken[50]) < 2200
    assert taken[10] != {run for run in runs if Canary(percent=10).takes("pay@3", caller("alice"), run)}


def test_those_who_are_named_get_it() -> None:
    canary = Canary(callers=("acme/alice",), roles=("tester",))
    takes = {
        one.id: canary.takes("pay@2", one, "run") for one in (caller("alice"), caller("bob"), caller("t", "tester"))
    }
    assert takes == {"alice": True, "bob": False, "t": True}
    assert not canary.takes("pay@2", Caller(id="alice", tenant="other"), "run")


@pytest.mark.parametrize(
    ("canary", "told"),
    [
        (Canary(), "nobody"),
        (Canary(percent=12.5), "12.5 % of runs"),
        (Canary(callers=("acme/alice",), roles=("tester",)), "acme/alice, role tester"),
        (Canary(percent=1, roles=("tester",)), "1 % of runs, role tester"),
    ],
)
def test_who_gets_it_is_told(canary: Canary, told: str) -> None:
    assert str(canary) == told


@pytest.mark.parametrize(
    ("canary", "problem"),
    [
        (Canary(percent=-1), "from 0 to 100"),
        (Canary(percent=float("nan")), "from 0 to 100"),
        (Canary(percent=True), "from 0 to 100"),
        (Canary(callers=("alice",)), "write tenant/id"),
    ],
)
def test_what_makes_no_sense_is_refused(canary: Canary, problem: str) -> None:
    with pytest.raises(RegistryError, match=problem):
        canary.check("canary")


@pytest.mark.parametrize(
    ("calls", "share", "outcomes", "failed_at"),
    [
        (4, 0.5, "ee", 2),
        (4, 0.5, "eoooe", None),
        (4, 0.5, "oeoe", 4),
        (4, 0.01, "e", 1),
        (2, 1.0, "eoee", 4),
    ],
)
def test_a_trial_fails_by_its_last_calls(calls: int, share: float, outcomes: str, failed_at: int | None) -> None:
    trial = Trial(calls, share)
    seen = [trial.failed(outcome == "e") for outcome in outcomes]
    assert seen == [place + 1 == failed_at for place in range(len(outcomes))]


def test_every_move_leads_to_a_stage_and_off_is_always_near() -> None:
    assert all(to in MOVES for moves in MOVES.values() for to in moves)
    assert all("disabled" in moves for stage, moves in MOVES.items() if stage != "disabled")
    with pytest.raises(RegistryError, match="is at 'test', from where it may go to 'canary' or 'disabled' only"):
        check_move("promote", "pay@2", "test", "active")

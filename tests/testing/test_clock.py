"""The clock for tests."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from surehand.ports import Clock
from surehand.testing import FakeClock


def test_it_stands_still_until_told() -> None:
    clock = FakeClock()
    asked: Clock = clock
    assert clock.now == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert asked.now_us() == 1_767_268_800_000_000
    assert asked.monotonic() == 0
    clock.advance(1.5)
    clock.advance(minutes=1, hours=1)
    assert clock.now == datetime(2026, 1, 1, 13, 1, 1, 500_000, tzinfo=UTC)
    assert asked.now_us() == 1_767_272_461_500_000
    assert asked.monotonic() == 3661.5
    assert repr(clock) == "FakeClock(2026-01-01T13:01:01.500000+00:00)"


def test_only_what_people_read_can_be_set() -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(5)
    clock.set(datetime(2025, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now_us() == 1_735_689_600_000_000
    assert clock.monotonic() == 5


def test_what_it_refuses() -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)
    for wrong in (FakeClock, clock.set):
        with pytest.raises(ValueError, match="has no time zone"):
            wrong(datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is tested
    assert clock.monotonic() == 0

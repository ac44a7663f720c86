"""Group commit: what is together, what is run again, and what never is."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from surehand.errors import StoreError
from surehand.storage.commit import MAX_ATTEMPTS, commit_together
from surehand.storage.lane import Work
from surehand.storage.tx import LostRaceError, Row, Statement, Trouble, Tx, Values


class ScriptedSession:
    """Remembers what was asked of it, and fails where the test says so."""

    def __init__(self, **fails: Exception) -> None:
        self.log: list[str] = []
        self.fails = fails

    def _do(self, what: str) -> None:
        self.log.append(what)
        if what in self.fails:
            raise self.fails[what]

    def begin(self) -> None:
        self._do("begin")

    def commit(self) -> None:
        self._do("commit")

    def rollback(self) -> None:
        self.log.append("rollback")

    def close(self) -> None:
        self.log.append("close")

    def understand(self, error: Exception) -> Trouble:
        if isinstance(error, LostRaceError):
            return Trouble("race", StoreError(str(error)))
        if isinstance(error, OSError):
            return Trouble("database", StoreError(str(error)))
        return Trouble("write", error)

    def rows(self, statement: Statement, values: Values) -> list[Row]:
        raise NotImplementedError

    def change(self, statement: Statement, values: Values) -> int:
        raise NotImplementedError

    def write(self, statement: Statement, values: Values) -> None:
        raise NotImplementedError


def named(session: ScriptedSession, name: str, *errors: Exception) -> Callable[[Tx], str]:
    """A body that fails as often as there are errors, then succeeds."""
    left = list(errors)

    def body(_: Tx) -> str:
        session.log.append(name)
        if left:
            raise left.pop(0)
        return name

    return body


def run(session: ScriptedSession, *bodies: Callable[[Tx], Any]) -> list[Any]:
    """Commit bodies together; give each one's result or error."""
    loop = asyncio.new_event_loop()
    try:
        works = [Work(body, loop) for body in bodies]
        commit_together(session, works)
        return [work.result if work.error is None else work.error for work in works]
    finally:
        loop.close()


def always(error: Exception) -> Callable[[Tx], NoReturn]:
    def body(_: Tx) -> NoReturn:
        raise error

    return body


def test_all_share_one_commit() -> None:
    session = ScriptedSession()
    assert run(session, *(named(session, name) for name in "abc")) == ["a", "b", "c"]
    assert session.log == ["begin", "a", "b", "c", "commit"]


def test_one_that_fails_is_left_out() -> None:
    session = ScriptedSession()
    error = ValueError("bad")
    bodies = [named(session, "a"), named(session, "b", error, error), named(session, "c"), named(session, "d")]
    assert run(session, *bodies) == ["a", error, "c", "d"]
    assert session.log == [
        *("begin", "a", "b", "rollback"),
        *("begin", "a", "commit"),
        *("begin", "b", "rollback"),
        *("begin", "c", "d", "commit"),
    ]


def test_a_lost_race_is_run_again_in_its_place() -> None:
    session = ScriptedSession()
    bodies = [named(session, "a"), named(session, "b", LostRaceError(), LostRaceError()), named(session, "c")]
    assert run(session, *bodies) == ["a", "b", "c"]
    done = [entry for entry in session.log if entry in {"a", "b", "c", "commit"}]
    assert done == ["a", "b", "a", "commit", "b", "b", "commit", "c", "commit"]


def test_a_race_is_not_run_for_ever() -> None:
    session = ScriptedSession()
    body = named(session, "a", *[LostRaceError("lost")] * 100)
    (error,) = run(session, body)
    assert isinstance(error, StoreError)
    assert session.log.count("a") == MAX_ATTEMPTS


def test_when_the_database_is_gone_all_that_is_not_committed_fails() -> None:
    session = ScriptedSession()
    first, lost, last = run(session, named(session, "a"), always(OSError("gone")), named(session, "c"))
    assert [str(error) for error in (first, lost, last)] == ["gone"] * 3
    assert len({id(error) for error in (first, lost, last)}) == 3
    assert "commit" not in session.log


@pytest.mark.parametrize("step", ["begin", "commit"])
def test_nothing_is_run_again_after_a_begin_or_commit_failed(step: str) -> None:
    session = ScriptedSession(**{step: ValueError("whatever it is")})
    results = run(session, named(session, "a"), named(session, "b"))
    assert [str(result) for result in results] == ["whatever it is"] * 2
    assert session.log.count("a") <= 1
    assert session.log[-1] == "rollback"

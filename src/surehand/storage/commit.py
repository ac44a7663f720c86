"""How bodies become transactions: many in one commit, and what one of them fails by never harms another."""

from __future__ import annotations

from collections.abc import Sequence

from .lane import Work
from .tx import Session, Trouble

MAX_ATTEMPTS = 5
"""Of one body that loses races to other processes."""


def commit_together(session: Session, works: Sequence[Work]) -> None:
    """Runs bodies in order, with as few commits as possible; one in the good case.

    When a body fails, the transaction is undone: those before it are run again without it, then it alone has the
    word, then those after it. So bodies must have no effect outside of the transaction. Nothing is run again once
    its commit was sent: if that fails, nobody knows whether it took effect, and the callers get that as an error.
    """
    rest = list(works)
    size = len(rest)
    while rest:
        failed, trouble = _attempt(session, rest[:size])
        if trouble is None:
            rest = rest[size:]
            size = len(rest)
        elif trouble.scope == "database":
            for work in rest:
                work.fail(trouble.error)
            return
        elif failed > 0:
            size = failed
        elif trouble.scope == "race" and _may_try_again(rest[0]):
            size = 1
        else:
            rest.pop(0).fail(trouble.error)
            size = len(rest)


def _may_try_again(work: Work) -> bool:
    work.attempts += 1
    return work.attempts < MAX_ATTEMPTS


def _attempt(session: Session, works: Sequence[Work]) -> tuple[int, Trouble | None]:
    """One transaction; if it fails, in which body and why."""
    failed = 0
    try:
        session.begin()
    except Exception as error:
        session.rollback()
        return 0, session.understand(error)._replace(scope="database")
    try:
        for failed, work in enumerate(works):  # noqa: B007
            work.result = work.body(session)
    except Exception as error:
        trouble = session.understand(error)
        session.rollback()
        return failed, trouble
    try:
        session.commit()
    except Exception as error:
        trouble = session.understand(error)
        session.rollback()
        return 0, trouble._replace(scope="database")
    return 0, None


def read_each(session: Session, works: Sequence[Work]) -> None:
    """Runs bodies that read, by one statement each, so that no transaction is needed."""
    for work in works:
        try:
            work.result = work.body(session)
        except Exception as error:
            work.fail(session.understand(error).error)

"""The queries about runs, and about who is alive, go by the index made for them, also while the tables are empty.

PostgreSQL keeps the plan of a prepared statement until it has gathered statistics.
"""

import re
from typing import Any

import pytest

from surehand.storage import (
    grants_statements,
    open_store,
    quota_statements,
    revision_statements,
    run_statements,
    statements,
)
from surehand.storage.tx import Statement

PLANS = {
    "get": (run_statements.get_run, "surehand_runs_pkey"),
    "lock": (run_statements.lock_run, "surehand_runs_pkey"),
    "silence": (statements.silence, "surehand_workers_pkey"),
    "beat": (statements.beat, "surehand_workers_pkey"),
    "orphans": (statements.orphans, "surehand_calls_running", "surehand_workers_pkey"),
    "running": (statements.running_of, "surehand_calls_running"),
    "count": (statements.count_open_approvals, "surehand_approvals_by_status"),
    "deputy": (revision_statements.list_delegations("deputy"), "surehand_delegations_by_deputy"),
    "reminder": (revision_statements.find_reminder, "surehand_reminders_pkey"),
    "setting": (statements.get_setting, "surehand_settings_pkey"),
    "grant": (grants_statements.get_grant, "surehand_grants_pkey"),
    "grant-lock": (grants_statements.lock_usable, "surehand_grants_pkey"),
    "grant-use": (grants_statements.use, "surehand_grants_pkey"),
    "grant-revoke": (grants_statements.revoke, "surehand_grants_pkey"),
    "grants": (grants_statements.list_grants, "surehand_grants_pkey"),
    "grants-open": (grants_statements.open_grants, "surehand_grants_by_caller"),
    "rejected": (grants_statements.rejected, "surehand_calls_rejected", "surehand_approvals_pkey"),
    "take": (run_statements.take_run, "surehand_runs_pkey"),
    "save": (run_statements.save_run, "surehand_runs_pkey"),
    "cancel": (run_statements.cancel_run, "surehand_runs_pkey"),
    "results": (run_statements.set_results, "surehand_turns_pkey"),
    "event": (run_statements.insert_run_event, "surehand_run_events_pkey"),
    "list": (run_statements.list_runs(1), "surehand_runs_by_status"),
    "list-two-states": (run_statements.list_runs(2), "surehand_runs_by_status"),
    "stops": (run_statements.undriven_stops, "surehand_runs_by_status", "surehand_workers_pkey"),
    "turns": (run_statements.list_turns, "surehand_turns_pkey"),
    "counter": (quota_statements.lock_counter, "surehand_counters_pkey"),
    "set-counter": (quota_statements.set_counter, "surehand_counters_pkey"),
    "give-back": (quota_statements.give_back, "surehand_counters_pkey"),
    "reservations": (quota_statements.reservations_of, "surehand_reservations_pkey"),
    "end-reservation": (quota_statements.end_reservation, "surehand_reservations_pkey"),
    "reads": (quota_statements.open_reads, "surehand_reservations_of_reads", "surehand_workers_pkey"),
    "health": (quota_statements.list_health, "surehand_health_pkey"),
    "set-health": (quota_statements.set_health, "surehand_health_pkey"),
    "events": (run_statements.list_run_events, "surehand_run_events_pkey"),
}


class AnyValue(dict[str, Any]):
    """A value for every parameter."""

    def __missing__(self, name: str) -> Any:
        if name in ("new_results", "new_start", "body"):
            return b""
        numbers = {
            "window_us",
            "of_window_us",
            "used",
            "amount",
            "failures",
            "changed_us",
            "retry_us",
            "limit",
            "now_us",
            "least_silent_us",
            "least_turns",
            "of_turn",
            "after_seq",
            "seq",
            "at_us",
            "at",
        }
        return 1 if name in numbers else "x"


@pytest.mark.parametrize(
    ("statement", "indexes"), [pytest.param(one, set(by), id=name) for name, (one, *by) in PLANS.items()]
)
async def test_a_query_goes_by_its_index(any_url: str, statement: Statement, indexes: set[str]) -> None:
    store = open_store(any_url)
    await store.open()

    def explain(tx: Any) -> str:
        sqlite = tx.dialect == "sqlite"
        sql, take = statement.for_sqlite if sqlite else statement.for_postgres
        explained = f"EXPLAIN {'QUERY PLAN ' if sqlite else ''}{sql}"
        return "\n".join(str(line[-1]) for line in tx.connection.execute(explained, take(AnyValue())).fetchall())

    plan = await store._writer.submit(explain)
    used = set(re.findall(r"(?:using (?:covering )?(?:index )?|bitmap index scan on )(\w+)", plan, re.IGNORECASE))
    assert used == {_name(index, any_url) for index in indexes}
    # These indexes hold running calls and reads only, so they may be read whole.
    whole = "calls USING INDEX surehand_calls_running|reservations USING INDEX surehand_reservations_of_reads"
    assert not re.search(rf"SCAN surehand_(?!{whole})|Seq Scan", plan)
    await store.close()


def _name(index: str, url: str) -> str:
    """Give an index's name in the database: SQLite names those of primary keys itself."""
    if url.startswith("sqlite") and index.endswith("_pkey"):
        return f"sqlite_autoindex_{index.removesuffix('_pkey')}_1"
    return index

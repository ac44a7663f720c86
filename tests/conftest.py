"""Fixtures and rules of the whole suite."""

import os
from collections.abc import Generator
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests import desk as the_desk
from tests.pgserver import PostgresServer, PostgresUnavailableError, running_server

desk = the_desk.desk
open_desk = the_desk.open_desk

IN_CI = os.environ.get("CI") == "true"

# The limit of five seconds a test is pytest's; a deadline per example would only make slow machines flaky.
settings.register_profile("surehand", deadline=None)
settings.register_profile("surehand-ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("surehand-ci" if IN_CI else "surehand")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--no-skips`."""
    parser.addoption(
        "--no-skips",
        action="store_true",
        default=IN_CI,
        help="fail the run when anything is skipped (always on when CI=true)",
    )


def _forbidden_skips(config: pytest.Config) -> list[str]:
    """List what the run skipped and may not skip. Workers of xdist report to their controller, which decides."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not config.getoption("--no-skips"):
        return []
    reports = cast("list[pytest.TestReport | pytest.CollectReport]", reporter.stats.get("skipped", []))
    return [report.nodeid for report in reports]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turn a run that would pass into a failed one when it skipped something."""
    if exitstatus == pytest.ExitCode.OK and _forbidden_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what made the run fail."""
    skipped = _forbidden_skips(config)
    if skipped:
        terminalreporter.section("skipped, which --no-skips forbids", red=True)
        for nodeid in skipped:
            terminalreporter.write_line(nodeid)


@pytest.fixture(scope="session", autouse=True)
def tables_of_characters() -> None:
    """Make Hypothesis's own tables, once: on a busy machine that takes longer than one test may."""
    st.text().validate()


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    """Run one PostgreSQL for the session (with xdist: for each worker)."""
    try:
        with running_server() as server:
            yield server
        return
    except PostgresUnavailableError as error:
        reason = str(error)
    if os.environ.get("SUREHAND_REQUIRE_POSTGRES") == "1":
        pytest.fail(f"SUREHAND_REQUIRE_POSTGRES=1, but {reason}", pytrace=False)
    pytest.skip(f"no PostgreSQL: {reason}")


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Generator[str]:
    """Give the URL of an empty database of the test's own."""
    with postgres_server.database() as url:
        yield url

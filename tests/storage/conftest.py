"""Databases for tests that hold on each of them."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of an empty database that several processes can use."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/store.db"

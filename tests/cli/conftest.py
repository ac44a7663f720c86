"""One project for the tests of a module."""

import pytest

from tests.cli.driver import Project, make


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that the tests of a module share: each uses orders of its own."""
    return make(tmp_path_factory.mktemp("project") / "desk")

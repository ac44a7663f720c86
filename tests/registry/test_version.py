"""The order of versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.registry import version_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"],
        ["1.0.0-beta.11", "1.0.0-rc.1"],
        ["1.0.0-rc.1", "1.0.0-rc.2", "1.0.0", "1.0.1"],
        ["1.0", "1.0.0", "1.9", "1.10", "2"],
        ["v1", "v2", "v10"],
        ["2026-01-31", "2026-02-01", "2026-10-01"],
        ["1.0a1", "1.0b1", "1.0", "1.0+build1", "1.0+build2", "1.0.1"],
        ["draft", "0.1"],
        ["0.9", "v1.0", "1.1", "v2"],
    ],
)  # fmt: skip
def test_order(ordered: list[str]) -> None:
    backwards = [*reversed(ordered)]
    assert sorted(backwards, key=version_key) == ordered


@given(st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.+_\-]{0,12}", fullmatch=True), unique=True))
def test_every_two_versions_can_be_compared_and_differ(versions: list[str]) -> None:
    keys = [version_key(version) for version in versions]
    keys.sort()
    assert len(set(keys)) == len(versions)

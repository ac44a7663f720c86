"""Names of approver groups, wherever they are written."""

from typing import Any

import pytest

from surehand.types import group_names
from tests.policy.samples import ALICE, MAIL, NOON_NS, forbid, load, short


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("finance", ("finance",)),
        (" finance ", ("finance",)),
        ("finance, legal", ("finance", "legal")),
        ("legal,finance,legal", ("legal", "finance")),
        ("self", ("self",)),
        ("head of sales", ("head of sales",)),
        ("Zuständige", ("Zuständige",)),
        ("x" * 256, ("x" * 256,)),
    ],
)
def test_names(text: str, names: tuple[str, ...]) -> None:
    assert group_names(text) == names
    assert short(
        load(forbid("a", notes=f'@approvers("{text}")')).authorize(ALICE, MAIL, {"to": "x"}, now_ns=NOON_NS)
    ) == (f"ask a -> {' '.join(names)}")


@pytest.mark.parametrize(
    "text", ["", " ", ",", "a,", ",a", "a,,b", 'a"b', "a\\b", "a\x00b", "a\nb", "\ud800", "x" * 257, None, 5]
)
def test_what_names_no_group(text: Any) -> None:
    with pytest.raises(ValueError, match="names no group of approvers"):
        group_names(text)

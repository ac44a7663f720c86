"""Names are legal, unique, and the same however the description is ordered."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from surehand.sources.openapi.naming import argument_names, tool_names

LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
IDS = st.one_of(st.text(max_size=90), st.sampled_from(["", "op", "Op", "o-p", "o.p", "op_3b9650a7", "x" * 200]))
PATHS = st.one_of(st.text(max_size=60).map("/{}".format), st.sampled_from(["/x", "/y", "/x/", "/{a}", "/{a}/b"]))
OPERATIONS = st.lists(
    st.tuples(IDS, st.sampled_from(["get", "post", "delete"]), PATHS), max_size=12, unique_by=lambda one: one[1:]
)


@given(OPERATIONS, st.sampled_from(["shop", "s" * 32]), st.randoms())
def test_tools(operations: list[tuple[str, str, str]], source: str, chance: random.Random) -> None:
    names = tool_names(source, operations)
    assert all(LEGAL.fullmatch(name) and name.startswith(f"{source}_") for name in names)
    assert len({name.casefold() for name in names}) == len(operations)
    shuffled = chance.sample(operations, len(operations))
    assert dict(zip(shuffled, tool_names(source, shuffled), strict=True)) == dict(zip(operations, names, strict=True))


@given(
    st.lists(
        st.tuples(
            st.one_of(st.text(min_size=1, max_size=90), st.sampled_from(["id", "ID", "body", "id_path", "a[b]", "ä"])),
            st.sampled_from(["path", "query", "header", "cookie"]),
        ),
        max_size=12,
        unique=True,
    ),
    st.sampled_from(["", "body"]),
)
def test_arguments(parameters: list[tuple[str, str]], taken: str) -> None:
    names = argument_names(parameters, taken)
    assert all(re.fullmatch(r"[a-zA-Z0-9_]{1,64}", name) for name in names)
    assert len({name.casefold() for name in [*names, taken]}) == len(parameters) + 1


def test_a_name_is_its_own_until_another_one_is_the_same() -> None:
    assert tool_names("shop", [("listPets", "get", "/pets"), ("", "get", "/pets/{id}")]) == [
        "shop_listPets",
        "shop_get_pets_id",
    ]
    assert argument_names([("id", "path"), ("limit", "query"), ("id", "query")]) == ["id_path", "limit", "id_query"]

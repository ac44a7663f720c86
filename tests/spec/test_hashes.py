"""One way to bytes: free of order, and RFC 8785 where that is promised."""

import random
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from surehand.spec import canonical_json, content_hash

bmp = st.text(st.characters(max_codepoint=0xD7FF))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(bmp, inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_equals_rfc_8785_where_promised(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@given(plain, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_count(value: Any, order: random.Random) -> None:
    assert content_hash(shuffled(value, order)) == content_hash(value)


@given(plain, plain)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (rfc8785.dumps(one) == rfc8785.dumps(other))


def test_large_integers_and_read_only_mappings() -> None:
    value = MappingProxyType({"b": [2**70, -(2**70), 1.5, None, True], "a": (MappingProxyType({"x": 1}),)})
    assert (
        canonical_json(value) == b'{"a":[{"x":1}],"b":[1180591620717411303424,-1180591620717411303424,1.5,null,true]}'
    )


@pytest.mark.parametrize("value", [{1}, b"x", object(), {"a": {1}}, "\ud800", {1: 2}])
def test_only_json(value: Any) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)

"""A `Secret` shows itself to `reveal` and to nothing else."""

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable
from typing import Any

import msgspec
import orjson
import pytest

from surehand.secrets import Secret
from surehand.spec.hashes import canonical_json

VALUE = "hunter2-\u00fc-correct-horse"
SECRET = Secret(VALUE)


@dataclasses.dataclass
class Holder:
    secret: Secret


class Record(msgspec.Struct):
    secret: Secret


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        ascii,
        format,
        pprint.pformat,
        lambda s: f"{s} {s!r} {s!s:>30} {s:^40}",
        lambda s: "%s %r" % (s, s),  # noqa: UP031
        lambda s: f"{s} {s!r}",
        lambda s: str([s, {"a": s}, (s,)]),
        lambda s: str(Holder(s)),
        lambda s: str(Record(s)),
        lambda s: str(vars(Holder(s))),
        lambda s: orjson.dumps({"a": s}, default=str).decode(),
        lambda s: json.dumps({"a": s}, default=repr),
        lambda s: msgspec.json.encode({"a": s}, enc_hook=str).decode(),
        lambda s: str(dataclasses.asdict(Holder(s))),
        lambda s: " ".join(dir(s)),
        lambda s: logging.makeLogRecord({"msg": "%s", "args": (s,)}).getMessage(),
    ],
)
def test_it_shows_a_mark(show: Callable[[Any], str]) -> None:
    shown = show(SECRET)
    assert shown
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    "take",
    [
        pickle.dumps,
        lambda s: pickle.dumps(Holder(s)),
        json.dumps,
        orjson.dumps,
        msgspec.json.encode,
        msgspec.to_builtins,
        canonical_json,
        bytes,
        list,
        len,
        vars,
        lambda s: s + "",
        lambda s: "" + s,
        lambda s: s[0],
        lambda s: "x" in s,
        lambda s: s.encode(),
        lambda s: s.__getstate__(),
        lambda s: "".join([s]),
        lambda s: setattr(s, "_Secret__value", "x"),
        lambda s: delattr(s, "_Secret__value"),
        lambda s: Secret(s),
    ],
)
def test_it_refuses_to_be_taken(take: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        take(SECRET)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_it_reveals_itself_when_asked() -> None:
    assert SECRET.reveal() == VALUE


def test_copies_are_the_same_object() -> None:
    assert copy.copy(SECRET) is SECRET
    assert copy.deepcopy({"a": [SECRET]})["a"][0] is SECRET


def test_equality() -> None:
    assert Secret(VALUE) == SECRET
    assert hash(Secret(VALUE)) == hash(SECRET)
    assert Secret("other") != SECRET
    assert SECRET != VALUE
    assert Secret("\ud800") == Secret("\ud800")
    assert len({SECRET, Secret(VALUE), Secret("other")}) == 2


def test_the_message_about_a_wrong_value_does_not_quote_it() -> None:
    with pytest.raises(TypeError) as caught:
        Secret(b"hunter2")  # pyright: ignore[reportArgumentType]
    assert "hunter2" not in str(caught.value)

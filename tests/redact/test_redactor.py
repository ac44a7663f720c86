"""Values, summaries and names: no secret comes through, wherever it stands."""

from typing import Any

import orjson
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from surehand.redact import MARK, Redactor
from surehand.redact.names import is_secret_name
from surehand.redact.summary import MAX_BYTES
from surehand.secrets import Secret
from surehand.spec.hashes import canonical_json

REDACTOR = Redactor(["hunter2-known", Secret("correct horse")])


def test_a_value_without_secrets_stays_as_it_is() -> None:
    value = {"a": [1, -2.5, True, None, "text", {}, []], "token": "abc", "b": {"c": 2**70}}
    assert REDACTOR.value(value) == value


def test_nothing_is_cut_from_a_value() -> None:
    value = {f"k{n}": ["x" * 10_000] * 10 for n in range(50)}
    assert REDACTOR.value(value) == value


def test_secrets_in_values() -> None:
    assert REDACTOR.value({"a": Secret("x"), "b": ["say hunter2-known"], "correct horse": 1, 5: (1, b"x")}) == {
        "a": MARK,
        "b": [f"say {MARK}"],
        MARK: 1,
        "5": [1, "[bytes]"],
    }


def test_numbers_that_are_known_secrets_go() -> None:
    redactor = Redactor(["482913", "12"])
    assert redactor.value([482913, 482914, 1482913, 12, 4829.13, True]) == [MARK, 482914, MARK, MARK, 4829.13, True]


def test_large_numbers_are_looked_at_as_they_are_written() -> None:
    redactor = Redactor(["00000000"])
    assert redactor.value([12_301_582_382_162_509_824, 10**9, 5, 3**10_000, 1e300]) == [MARK, MARK, 5, 3**10_000, 1e300]
    assert redactor.summary({"a": 12_301_582_382_162_509_824}) == {"a": MARK}


def test_names_that_become_one_keep_their_values() -> None:
    redactor = Redactor(["known-1", "known-2"])
    assert redactor.value({"known-1": 1, "known-2": 2, "x": 3}) == {MARK: 1, f"{MARK}'": 2, "x": 3}


def test_deep_values_end() -> None:
    value: Any = "hunter2-known"
    for _ in range(5000):
        value = [{"a": value}]
    assert b"[too deep]" in orjson.dumps(REDACTOR.value(value))
    assert REDACTOR.summary({"a": value})


def test_names_count_where_they_are_asked_to() -> None:
    value = {
        "user": "bob",
        "password": "x",
        "tokens": 512,
        "credentials": {"user": "bob", "list": ["a", {"b": "c", "n": 1, "ok": True}]},
    }
    hidden = {
        "user": "bob",
        "password": MARK,
        "tokens": 512,
        "credentials": {"user": MARK, "list": [MARK, {"b": MARK, "n": 1, "ok": True}]},
    }
    assert REDACTOR.value(value) == value
    assert REDACTOR.value(value, names=True) == hidden
    assert REDACTOR.summary(value) == hidden


def test_a_redactor_can_learn() -> None:
    redactor = REDACTOR.with_known([Secret("learned")])
    assert redactor.text("learned hunter2-known") == f"{MARK} {MARK}"
    assert REDACTOR.text("learned") == "learned"
    assert repr(redactor) == "Redactor(3 known)"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "PASSWORD",
        "db_password",
        "dbPassword",
        "DBPassword",
        "userPasswd",
        "pwd",
        "passWord",
        "pass_word",
        "token",
        "access_token",
        "accessToken",
        "X-Auth-Token",
        "auth.token",
        "tokens",
        "refresh-token2",
        "secret",
        "client_secret",
        "clientSecret",
        "secretKey",
        "aws_secret_access_key",
        "api_key",
        "apiKey",
        "APIKey",
        "api-key",
        "apikey",
        "X-API-Key",
        "x_api_key_2",
        "authorization",
        "Proxy-Authorization",
        "cookie",
        "Set-Cookie",
        "sessionId",
        "private_key",
        "privateKey",
        "access_key",
        "accessKeyID",
        "credential",
        "credentials",
        "jwt",
        "passphrase",
        "bearer",
    ],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name("x" * 200 + "_" + name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_",
        "tokenizer",
        "secretary",
        "keyboard",
        "key",
        "keys",
        "public_key",
        "api",
        "author",
        "compass",
        "pass",
        "bypass",
        "monkey",
        "primary_key",
        "accessibility",
        "ü",
        "detokenize",
        "session",
        "id",
    ],
)
def test_harmless_names(name: str) -> None:
    assert not is_secret_name(name)


# Schemas


def hide(schema: dict[str, Any], value: Any) -> Any:
    return REDACTOR.value(value, schema)


PW = {"type": "string", "writeOnly": True}


@pytest.mark.parametrize(
    ("schema", "value", "shown"),
    [
        ({"properties": {"a": PW}}, {"a": "x", "b": "y"}, {"a": MARK, "b": "y"}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": {"b": [1]}}, {"a": MARK}),
        ({"properties": {"a": {"writeOnly": True}}}, {"a": 5}, {"a": MARK}),
        ({"properties": {"a": {"format": "password"}}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"format": "password"}}}, {"a": 5}, {"a": 5}),
        ({"properties": {"a": {"writeOnly": False}}}, {"a": "x"}, {"a": "x"}),
        ({"writeOnly": True}, {"a": "x"}, MARK),
        ({"items": {"properties": {"a": PW}}}, [{"a": "x"}, {"b": "y"}], [{"a": MARK}, {"b": "y"}]),
        ({"prefixItems": [{}, PW], "items": {}}, ["x", "y", "z"], ["x", MARK, "z"]),
        ({"prefixItems": [{}], "items": PW}, ["x", "y"], ["x", MARK]),
        ({"contains": PW}, ["x"], [MARK]),
        ({"unevaluatedItems": PW}, ["x"], [MARK]),
        ({"additionalProperties": PW, "properties": {"b": {}}}, {"a": "x", "b": "y"}, {"a": MARK, "b": "y"}),
        ({"unevaluatedProperties": PW}, {"a": "x"}, {"a": MARK}),
        ({"patternProperties": {"^(a+)+$": PW}}, {"a": "x"}, {"a": MARK}),
        ({"allOf": [{"properties": {"a": PW}}]}, {"a": "x"}, {"a": MARK}),
        ({"anyOf": [{}, {"properties": {"a": PW}}]}, {"a": "x"}, {"a": MARK}),
        ({"oneOf": [{"oneOf": [{"properties": {"a": PW}}]}]}, {"a": "x"}, {"a": MARK}),
        ({"if": {}, "then": {"properties": {"a": PW}}}, {"a": "x"}, {"a": MARK}),
        ({"if": {}, "else": {"properties": {"a": PW}}}, {"a": "x"}, {"a": MARK}),
        ({"dependentSchemas": {"b": {"properties": {"a": PW}}}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/$defs/a~1b~0"}}, "$defs": {"a/b~": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/$defs/l/1"}}, "$defs": {"l": [{}, PW]}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#p"}}, "$defs": {"x": PW | {"$anchor": "p"}}}, {"a": "x"}, {"a": MARK}),
        (
            {"$id": "urn:x", "properties": {"a": {"$ref": "urn:x#/$defs/p"}}, "$defs": {"p": PW}},
            {"a": "x"},
            {"a": MARK},
        ),
        (
            {"properties": {"v": PW, "next": {"$ref": "#"}}},
            {"v": "x", "next": {"v": "y", "next": {"v": "z", "w": "w"}}},
            {"v": MARK, "next": {"v": MARK, "next": {"v": MARK, "w": "w"}}},
        ),
        # What cannot be told is hidden, but only where the schema has a secret at all.
        ({"properties": {"a": {"$ref": "https://x.test/s"}, "b": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/nowhere/1"}, "b": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#nowhere"}, "b": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/properties/b/type"}, "b": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/properties/b/type/0"}, "b": PW}}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "#/allOf/x"}, "b": PW}, "allOf": [{}]}, {"a": "x"}, {"a": MARK}),
        ({"properties": {"a": {"$ref": "https://x.test/s"}}}, {"a": "x"}, {"a": "x"}),
        # Schemas that are none.
        ({"properties": [PW], "allOf": [True, None], "$ref": 5, "x": PW}, {"a": "x"}, {"a": "x"}),
    ],
)
def test_schemas(schema: dict[str, Any], value: Any, shown: Any) -> None:
    assert hide(schema, value) == shown


def test_schemas_that_refer_to_themselves_end() -> None:
    loop = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}, "c": PW},
    }
    assert hide(loop, {"a": "x"}) == {"a": "x"}
    bomb: dict[str, Any] = {"$defs": {"0": PW}, "$ref": "#/$defs/20"}
    for n in range(20):
        bomb["$defs"][str(n + 1)] = {"allOf": [{"$ref": f"#/$defs/{n}"}, {"$ref": f"#/$defs/{n}"}]}
    assert hide(bomb, "x") == MARK
    assert hide({"anyOf": [{"title": str(n)} for n in range(20_000)], "$defs": {"p": PW}}, "x") == MARK


def test_arguments_that_are_secret_as_a_whole() -> None:
    assert REDACTOR.summary({"a": "x", "b": "y"}, {"writeOnly": True}) == {"[more]": 2}


def test_many_and_long_names_are_forgotten_again() -> None:
    redactor = Redactor(["known-name"])
    for n in range(5000):
        assert redactor.name(f"known-name-{n}") == f"{MARK}-{n}"
    assert redactor.name("known-name" * 20) == MARK * 20


def test_each_schema_is_kept_apart() -> None:
    redactor = Redactor()
    for n in range(3000):
        schema: dict[str, Any] = {"properties": {"a": PW if n % 2 else {}}}
        for _ in range(2):
            assert redactor.value({"a": "x"}, schema) == {"a": MARK if n % 2 else "x"}


# Summaries


def test_a_summary_is_cut_and_says_so() -> None:
    summary = REDACTOR.summary(
        {
            "text": "x" * 100,
            "list": list(range(100)),
            "deep": {"a": {"b": {"c": {"d": {"e": 1}}, "l": [[[[1, 2]]]]}}},
            "float": 1.5,
            "big": 2**70,
            "n" * 100: None,
        }
    )
    assert summary == {
        "text": "x" * 64 + "[+36 characters]",
        "list": [*range(16), "[84 more]"],
        "deep": {"a": {"b": {"c": {"d": "[1 member]"}, "l": ["[1 item]"]}}},
        "float": "1.5",
        "big": "0x400000000000000000",
        "n" * 64 + "[+36 characters]": None,
    }


def test_one_long_argument_does_not_crowd_out_the_others() -> None:
    summary = REDACTOR.summary({"rows": [{f"k{n}": "x" * 60 for n in range(16)}] * 16, "amount": 5, "to": "bob"})
    assert (summary["amount"], summary["to"]) == (5, "bob")


def test_what_has_no_room_is_counted() -> None:
    summary = REDACTOR.summary({f"k{n}": "x" * 60 for n in range(100)})
    assert len(summary) - 1 + int(str(summary["[more]"])) == 100
    assert len(canonical_json(summary)) <= MAX_BYTES
    assert REDACTOR.summary({"[more]": 1, "[more]'": 2}) == {"[more]'": 1, "[more]''": 2}


def test_a_secret_at_the_cut_is_gone_before_the_cut() -> None:
    assert REDACTOR.summary({"a": "x" * 60 + "hunter2-known"}) == {"a": "x" * 60 + "[red" + "[+6 characters]"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters()), inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(st.text(st.characters()), json_values, max_size=8)


def size_of(value: Any) -> tuple[int, int]:
    """Depth and longest string."""
    if isinstance(value, dict):
        below = [size_of(v) for v in value.values()] + [(0, len(k)) for k in value]
    elif isinstance(value, list):
        below = [size_of(v) for v in value]
    else:
        return 0, len(value) if isinstance(value, str) else 0
    return 1 + max((d for d, _ in below), default=0), max((n for _, n in below), default=0)


@settings(max_examples=50)
@given(objects)
@example({"\x00" * 64 + str(n): "\x00" * 100 for n in range(40)})
@example({str(n): {str(m): ["\U0001f511" * 64] * 17 for m in range(17)} for n in range(9)})
@example({str(n): {"a": {"b": {"c": {}}}} for n in range(200)})
def test_every_summary_is_bounded_and_can_be_recorded(value: dict[str, Any]) -> None:
    summary = REDACTOR.summary(value)
    assert len(canonical_json(summary)) <= MAX_BYTES
    depth, longest = size_of(summary)
    assert depth <= 5
    assert longest <= 64 + len("[+1000000 characters]")
    assert orjson.loads(canonical_json(summary)) == summary


@given(json_values)
def test_redaction_is_stable(value: Any) -> None:
    shown = REDACTOR.value(value, names=True)
    assert repr(REDACTOR.value(shown, names=True)) == repr(shown)


# No planted secret survives

letters = st.text("abcdefXYZ012 /:.,'\"\\\n\u00fc\U0001f511", max_size=12)
plain_secrets = st.text('abcdefghXYZ0123-/+&%"\\ \u00fc\U0001f511', min_size=8, max_size=24)
formed_secrets = st.one_of(
    st.from_regex(r"\AAKIA[A-Z0-9]{16}\Z"),
    st.from_regex(r"\Aghp_[A-Za-z0-9]{36}\Z"),
    st.from_regex(r"\Ask_live_[A-Za-z0-9]{24}\Z"),
    st.from_regex(r"\Axoxb-[0-9]{12}-[A-Za-z0-9]{24}\Z"),
    st.from_regex(r"\AeyJ[A-Za-z0-9_-]{20}\.eyJ[A-Za-z0-9_-]{20}\.[A-Za-z0-9_-]{20}\Z"),
    st.from_regex(r"\A-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/]{40}\n-----END PRIVATE KEY-----\Z"),
)


@st.composite
def planted(draw: st.DrawFn, secret: str) -> Any:
    """A JSON value with the secret somewhere: alone, in text, in a name, deep, or in JSON text."""
    text = draw(letters) + secret + draw(letters)
    value: Any = draw(
        st.sampled_from(
            [secret, text, {text: 1}, {secret: secret}, [1, text], orjson.dumps({"x": text}).decode(), {"a": [[text]]}]
        )
    )
    for name in draw(st.lists(letters, max_size=4)):
        value = draw(st.sampled_from([{name: value}, [name, value], {name: [value], "other": name}]))
    return {"arguments": value, "rest": draw(json_values)}


def survives(shown: Any, secret: str) -> bool:
    """Whether the secret, or its body, is in any string or name."""
    if isinstance(shown, dict):
        return any(survives(part, secret) for pair in shown.items() for part in pair)
    if isinstance(shown, list):
        return any(survives(part, secret) for part in shown)
    return isinstance(shown, str) and (secret in shown or orjson.dumps(secret).decode()[1:-1] in shown)


@given(st.data(), plain_secrets)
def test_no_known_secret_survives(data: st.DataObject, secret: str) -> None:
    assume(secret not in MARK and not survives(["[bytes]", "[too deep]"], secret))
    redactor = Redactor([secret])
    value = data.draw(planted(secret))
    for shown in (redactor.value(value), redactor.value(value, names=True), redactor.summary(value)):
        assert not survives(shown, secret)


@given(st.data(), formed_secrets)
def test_no_secret_with_a_form_survives(data: st.DataObject, secret: str) -> None:
    value = data.draw(planted(secret))
    body = secret.split("\n")[1] if "\n" in secret else secret
    for shown in (Redactor().value(value), Redactor().summary(value)):
        assert not survives(shown, secret)
        assert not survives(shown, body)


@given(st.data(), st.text("abc", min_size=6), json_values)
def test_no_secret_object_survives(data: st.DataObject, secret: str, rest: Any) -> None:
    assume(secret not in repr(rest))
    value: Any = Secret(secret)
    for kind in data.draw(st.lists(st.sampled_from(["list", "dict"]), max_size=6)):
        value = [value, 1] if kind == "list" else {"k": value}
    for shown in (Redactor().value({"a": value, "b": rest}), Redactor().summary({"a": value, "b": rest})):
        assert not survives(shown, secret)


@given(
    st.sampled_from(["password", "apiKey", "X-Auth-Token", "CLIENT_SECRET"]), st.text("abc", min_size=8), json_values
)
def test_no_secret_under_a_secret_name_survives(name: str, secret: str, rest: Any) -> None:
    assume(secret not in repr(rest))
    for value in (secret, [secret], {"a": {"b": f"x{secret}"}}):
        for arguments in ({name: value, "r": rest}, {"r": rest, "deep": [{name: value}]}):
            assert not survives(REDACTOR.summary(arguments), secret)
            assert not survives(REDACTOR.value(arguments, names=True), secret)


@given(st.text("abc", min_size=8), json_values)
def test_no_write_only_argument_survives(secret: str, rest: Any) -> None:
    assume(secret not in repr(rest))
    schema = {"properties": {"a": {"items": {"anyOf": [{"properties": {"x": PW}}, {"type": "null"}]}}, "r": {}}}
    value = {"a": [{"x": secret}, {"x": {"y": [secret]}}, {"x": [secret]}], "r": rest}
    for shown in (Redactor().value(value, schema), Redactor().summary(value, schema)):
        assert not survives(shown, secret)

"""`Redactor`: one place that knows what must not be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from surehand.types import Json

from .characters import clean_text
from .gather import MAX_INT_BITS, Concealed, Gather
from .known import Known, without_known
from .names import is_secret_name
from .patterns import MARK, redact_patterns
from .schemas import Schema, SchemaSecrets, hides
from .summary import MORE, Summary

MAX_DEPTH = 128
"""Of a value; what lies deeper is replaced by a mark."""
MAX_SCHEMAS = 1024
MAX_NAMES = 4096
MAX_NAME_CHARS = 128
_RAW_FACTOR = 16
"""How much more of a text than is shown is searched for secrets."""
_EDGE_CHARS = 4096
"""Longer than a credential that a cut may go through, unless a known value is longer."""
_CUT = " [... cut]"


class Redactor:
    """Hides secrets in values and in text. Its methods change nothing and never raise.

    Hidden are: concealed objects such as `Secret`, known values, what looks like a credential, what a schema
    calls `writeOnly` or `format: password`, and, where names count, strings at or below a field with a secret's name
    (`redact.names.SECRET_NAMES`).

    Args:
        known: Values that must never be shown, such as the credentials of tools. Those shorter than 4 characters
            are hidden only where they are a whole string or number.
    """

    def __init__(self, known: Iterable[str | Concealed] = ()) -> None:
        # What all redactors that were made from this one share, and what this one knows besides.
        self._layers: tuple[Known, ...] = (Known(_revealed(known)),)
        self._schemas: dict[int, tuple[Schema, SchemaSecrets]] = {}
        self._names: dict[str, str] = {}
        self._root = self

    def with_known(self, values: Iterable[str | Concealed]) -> Redactor:
        """A redactor that knows these values too. Cheap: make one for each call."""
        more = Redactor.__new__(Redactor)
        root = self._root
        own = () if self is root else self._layers[1].values
        more._layers = (root._layers[0], Known((*own, *_revealed(values))))
        more._schemas = root._schemas
        more._names = root._names
        more._root = root
        return more

    @property
    def knows(self) -> bool:
        """Whether there are values that it must never show."""
        return any(layer.values for layer in self._layers)

    def text(self, text: str) -> str:
        """The text without known values and without what looks like a credential; nothing is cut.

        Call `clean_text` first: it may join the parts of a secret.
        """
        for layer in self._layers:
            if text in layer.values:
                return MARK
        return redact_patterns(without_known(text, self._layers))

    def polish(self, text: object, limit: int) -> str:
        """The last step before somebody reads a text: clean, without secrets, at most `limit` characters.

        What is left out is not kept anywhere. For messages, reasons and progress, not for results. Total: an object
        that is no text, or cannot be made one, gives its text or an empty one.
        """
        said = _as_text(text)
        if len(said) <= _RAW_FACTOR * limit + _EDGE_CHARS:
            shown = self.text(clean_text(said))
            if len(shown) <= limit:
                return shown
        else:
            # What is cut off first may cut a secret in two: the part that is left goes too.
            edge = max(_EDGE_CHARS, *(layer.longest for layer in self._layers))
            shown = self.text(clean_text(said[: _RAW_FACTOR * limit + edge]))[:-edge]
        return f"{shown[: max(0, limit - len(_CUT))]}{_CUT}"[:limit]

    def secrets_in(self, arguments: Mapping[str, Any], schema: Schema | None, *, names: bool = False) -> list[str]:
        """The values at the secret places of a call's arguments, for `with_known`.

        Strings and numbers at or below what the schema calls `writeOnly` or `format: password`, concealed objects,
        and with `names` also strings at or below a field with a secret's name. At most 1,000, the longest.
        """
        secrets = self._secrets(schema)
        start = () if secrets is None else secrets.start()
        if not start and not names:
            return []
        return Gather(secrets, names=names).from_(arguments, start)

    def has_secrets(self, schema: Schema | None) -> bool:
        """Whether a schema calls anything secret."""
        secrets = self._secrets(schema)
        return secrets is not None and bool(secrets.start())

    def value(self, value: Any, schema: Schema | None = None, *, names: bool = False) -> Json:
        """The JSON value without secrets; nothing is cut. For results, and with `names` for people and logs.

        Args:
            value: A JSON value, in which concealed objects may stand. Other objects become a mark with their type.
            schema: Of the value. Taken as unchangeable, as a `ToolSpec`'s are.
            names: Whether a field's name alone may hide it. Not for results: a `token` may be what a model needs.
        """
        walk = _Walk(self, self._secrets(schema), names)
        return walk.value(value, walk.start, secret=False, depth=0)

    def summary(self, arguments: Mapping[str, Any], schema: Schema | None = None) -> dict[str, Json]:
        """The arguments without secrets, cut to at most 2 KB of JSON, saying how much was left out. For audit.

        Floats are written as text, so that a record holds none. Names count.
        """
        shown = self.value(arguments, schema, names=True)
        # The schema may call all of it secret: then there is nothing to show but how much there was.
        return Summary().of(shown) if isinstance(shown, dict) else {MORE: len(arguments)}

    def name(self, name: str) -> str:
        """Like `text`, for the name of a field; remembers what is asked again and again."""
        if self is not self._root and (name in self._layers[1].values or any(self._layers[1].spans(name))):
            return self.text(name)
        shown = self._names.get(name)
        if shown is None:
            shown = self._root.text(name)
            if len(name) <= MAX_NAME_CHARS:
                if len(self._names) >= MAX_NAMES:
                    self._names.clear()
                self._names[name] = shown
        return shown

    def _secrets(self, schema: Schema | None) -> SchemaSecrets | None:
        if schema is None:
            return None
        entry = self._schemas.get(id(schema))
        # The entry holds the schema, so its id cannot come to mean another one.
        if entry is None or entry[0] is not schema:
            if len(self._schemas) >= MAX_SCHEMAS:
                self._schemas.clear()
            entry = self._schemas[id(schema)] = (schema, SchemaSecrets(schema))
        return entry[1]

    def __repr__(self) -> str:
        known = {value for layer in self._layers for value in layer.values}
        return f"Redactor({len(known)} known)"


def _revealed(values: Iterable[str | Concealed]) -> Iterable[str]:
    return (value if isinstance(value, str) else value.reveal() for value in values)


def _as_text(text: object) -> str:
    if text.__class__ is str:
        return cast("str", text)
    try:
        return str.__str__(str(text))
    except Exception:  # an object of the user's may do anything when it is asked for its text
        return ""


class _Walk:
    """One pass over one value."""

    def __init__(self, redactor: Redactor, schema: SchemaSecrets | None, names: bool) -> None:
        self._text = redactor.text
        self._name = redactor.name
        self._knows = redactor.knows
        self._schema = schema
        self._names = names
        self.start: tuple[Schema, ...] = schema.start() if schema else ()

    def value(self, value: Any, here: tuple[Schema, ...], *, secret: bool, depth: int) -> Json:
        if here and hides(here, value):
            return MARK
        if isinstance(value, str):
            return MARK if secret else self._text(str(value))
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return MARK if self._knows and self._holds_known(value) else value
        if isinstance(value, Mapping | list | tuple) and depth >= MAX_DEPTH:
            return "[too deep]"
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value), here, secret=secret, depth=depth + 1)
        if isinstance(value, list | tuple):
            return self._array(cast("list[Any]", value), here, secret=secret, depth=depth + 1)
        return MARK if isinstance(value, Concealed) else f"[{type(value).__name__}]"

    def _holds_known(self, number: float) -> bool:
        # As it is written out: in digits, and in a summary large ones in hexadecimal.
        forms: list[str] = []
        if not isinstance(number, int) or number.bit_length() < MAX_INT_BITS:
            forms.append(str(number))
        if isinstance(number, int) and number.bit_length() > 63:
            forms.append(hex(number))
        return any(self._text(form) != form for form in forms)

    def _object(self, value: Mapping[Any, Any], here: tuple[Schema, ...], *, secret: bool, depth: int) -> Json:
        result: dict[str, Json] = {}
        clashes: dict[str, int] = {}
        for key, member in value.items():
            name = str(key)
            below = self._schema.property(here, name) if here and self._schema else ()
            hidden = secret or (self._names and is_secret_name(name))
            shown = self._name(name)
            # Two names that became one: both members stay.
            if shown in result:
                shown = _other_name(shown, result, clashes)
            result[shown] = self.value(member, below, secret=hidden, depth=depth)
        return result

    def _array(self, value: list[Any], here: tuple[Schema, ...], *, secret: bool, depth: int) -> Json:
        # A loop, not a comprehension, which before Python 3.12 takes a stack frame of its own at each depth.
        result: list[Json] = []
        for index, member in enumerate(value):
            below = self._schema.item(here, index) if here and self._schema else ()
            result.append(self.value(member, below, secret=secret, depth=depth))
        return result


def _other_name(name: str, taken: Mapping[str, Json], clashes: dict[str, int]) -> str:
    # Counts on from the last clash: an object of nothing but clashes takes no longer than another.
    other = name
    while other in taken:
        number = clashes[name] = clashes.get(name, 0) + 1
        other = f"{name}'" if number == 1 else f"{name}'{number}"
    return other

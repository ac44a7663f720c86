"""`Redactor`: one place that knows what must not be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast, runtime_checkable

from surehand.types import Json

from .names import is_secret_name
from .patterns import MARK, known_pattern, redact_patterns
from .schemas import Schema, SchemaSecrets, hides
from .summary import MORE, Summary

MAX_DEPTH = 128
"""Of a value; what lies deeper is replaced by a mark."""
MAX_SCHEMAS = 1024
MAX_NAMES = 4096
MAX_NAME_CHARS = 128


@runtime_checkable
class Concealed(Protocol):
    """A value that is only shown when asked for, as `surehand.secrets.Secret` is."""

    def reveal(self) -> str:
        """The value itself."""
        ...


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
        values = (value if isinstance(value, str) else value.reveal() for value in known)
        self._known = frozenset(value for value in values if value)
        self._pattern = known_pattern(self._known)
        self._schemas: dict[int, tuple[Schema, SchemaSecrets]] = {}
        self._names: dict[str, str] = {}

    def with_known(self, values: Iterable[str | Concealed]) -> Redactor:
        """A redactor that knows these values too."""
        return Redactor([*self._known, *values])

    def text(self, text: str) -> str:
        """The text without known values and without what looks like a credential; nothing is cut.

        Call `clean_text` first: it may join the parts of a secret.
        """
        if self._known:
            if text in self._known:
                return MARK
            if self._pattern is not None:
                text = self._pattern.sub(MARK, text)
        return redact_patterns(text)

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
        shown = self._names.get(name)
        if shown is None:
            shown = self.text(name)
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
        return f"Redactor({len(self._known)} known)"


class _Walk:
    """One pass over one value."""

    def __init__(self, redactor: Redactor, schema: SchemaSecrets | None, names: bool) -> None:
        self._text = redactor.text
        self._name = redactor.name
        self._knows = bool(redactor._known)  # pyright: ignore[reportPrivateUsage]
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
            return MARK if self._knows and self._text(str(value)) != str(value) else value
        if isinstance(value, Mapping | list | tuple) and depth >= MAX_DEPTH:
            return "[too deep]"
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value), here, secret=secret, depth=depth + 1)
        if isinstance(value, list | tuple):
            return self._array(cast("list[Any]", value), here, secret=secret, depth=depth + 1)
        return MARK if isinstance(value, Concealed) else f"[{type(value).__name__}]"

    def _object(self, value: Mapping[Any, Any], here: tuple[Schema, ...], *, secret: bool, depth: int) -> Json:
        result: dict[str, Json] = {}
        for key, member in value.items():
            name = str(key)
            below = self._schema.property(here, name) if here and self._schema else ()
            hidden = secret or (self._names and is_secret_name(name))
            shown = self._name(name)
            # Two names that became one: both members stay.
            while shown in result:
                shown += "'"
            result[shown] = self.value(member, below, secret=hidden, depth=depth)
        return result

    def _array(self, value: list[Any], here: tuple[Schema, ...], *, secret: bool, depth: int) -> Json:
        # A loop, not a comprehension, which before Python 3.12 takes a stack frame of its own at each depth.
        result: list[Json] = []
        for index, member in enumerate(value):
            below = self._schema.item(here, index) if here and self._schema else ()
            result.append(self.value(member, below, secret=secret, depth=depth))
        return result

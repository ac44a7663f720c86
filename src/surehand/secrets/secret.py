"""`Secret`: a string that has to be asked for."""

from __future__ import annotations

import hmac
from typing import Any, NoReturn, final

MARK = "[secret]"
"""What stands where a secret would have been shown."""


@final
class Secret:
    """A string value that shows a mark instead of itself wherever it is printed, formatted or encoded.

    Not a `str`, so that no encoder takes it for one: `json`, `orjson` and `msgspec` refuse it, pickling raises.
    A copy is the same object. Two secrets are compared in constant time; a secret never equals a plain string.

    As a type of a handler's argument or result it works with pydantic: a string becomes a secret, and the
    schema says `writeOnly`. In JSON mode pydantic writes the mark, and a mark is refused as a value, so that a
    round trip through JSON fails instead of using the mark as a password.

    Raises:
        TypeError: The value is not a string.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        # The wrong value is not in the message: it may be a secret of another type.
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a secret must be a string, not {type(value).__name__}")
        object.__setattr__(self, "_Secret__value", value)

    def reveal(self) -> str:
        """The value itself. Hand it to what needs it and keep no copy."""
        return self.__value

    def __repr__(self) -> str:
        return f"Secret({MARK!r})"

    def __str__(self) -> str:
        return MARK

    def __format__(self, spec: str) -> str:
        return format(MARK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self.__value), _bytes(other.__value))

    def __hash__(self) -> int:
        return hash((Secret, self.__value))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret cannot be pickled; pass a reference to it and resolve that where it is used")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret has no state to give away")

    @classmethod
    def _validate(cls, value: object) -> Secret:
        if isinstance(value, Secret):
            return value
        if not isinstance(value, str) or value == MARK:
            raise ValueError("must be a string, and not the mark of a secret")
        return Secret(value)

    # Core schemas are plain dicts, so pydantic is served without being imported.
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> dict[str, Any]:
        return {
            "type": "function-plain",
            "function": {"type": "no-info", "function": cls._validate},
            "serialization": {"type": "function-plain", "function": str, "when_used": "json"},
        }

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: object, handler: object) -> dict[str, Any]:
        return {"type": "string", "format": "password", "writeOnly": True}


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")

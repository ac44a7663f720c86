"""Credentials: which of them an operation is called with, and where they go. Their values show nowhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ...errors import SourceError
from ...secrets import Secret
from .document import Document, UnusableError
from .plain import node, text

Place: TypeAlias = Literal["header", "query", "cookie"]
_HEADER_TEXT: Final = re.compile(r"[\x20-\x7e\x80-\U0010ffff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One value and its place in requests."""

    scheme: str
    place: Place
    name: str
    value: Secret


def credentials_for(document: Document, security: Sequence[Any], given: Mapping[str, Secret]) -> tuple[Credential, ...]:
    """The credentials of the first alternative that there are all of.

    Args:
        document: Whose security schemes are meant.
        security: The operation's alternatives; none, or an empty one, needs nothing.
        given: Security scheme -> key or token.

    Raises:
        UnusableError: No alternative can be met; the message names what is missing.
    """
    alternatives = [list(node(one)) for one in security] or [[]]
    for names in sorted(alternatives, key=lambda names: not names):
        if all(name in given for name in names):
            return tuple(_credential(document, name, given[name]) for name in names)
    wanted = " or ".join(sorted({" with ".join(map(repr, names)) for names in alternatives}))
    raise UnusableError(f"it needs {wanted}; name the environment variable in credentials")


def _credential(document: Document, scheme: str, value: Secret) -> Credential:
    schemes = node(node(document.root.get("components")).get("securitySchemes"))
    if scheme not in schemes:
        raise UnusableError(f"there is no security scheme {scheme!r:.80}")
    found = document.follow(schemes[scheme])
    kind, how = found.get("type"), text(found.get("scheme")).lower()
    if kind == "apiKey" and found.get("in") in ("header", "query", "cookie") and text(found.get("name")):
        return Credential(scheme=scheme, place=found["in"], name=text(found["name"]), value=value)
    if kind == "http" and how == "basic":
        basic = base64.b64encode(value.reveal().encode()).decode()
        return _authorization(scheme, f"Basic {basic}")
    if kind in ("oauth2", "openIdConnect") or (kind == "http" and how == "bearer"):
        return _authorization(scheme, f"Bearer {value.reveal()}")
    raise UnusableError(f"its security scheme {scheme!r:.80} ({kind!r:.40} {how:.40}) is none that can be used")


def _authorization(scheme: str, value: str) -> Credential:
    return Credential(scheme=scheme, place="header", name="Authorization", value=Secret(value))


def secrets_from(names: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Secret]:
    """What environment variables hold.

    Args:
        names: Something -> name of a variable.
        environment: The process's.

    Raises:
        SourceError: One is not set, or holds what no header can.
    """
    found: dict[str, Secret] = {}
    for key, variable in names.items():
        value = environment.get(variable, "").strip()
        if not value:
            raise SourceError(f"the environment variable {variable} is not set")
        if not _HEADER_TEXT.fullmatch(value):
            raise SourceError(f"the environment variable {variable} holds a line break or another control character")
        found[key] = Secret(value)
    return found

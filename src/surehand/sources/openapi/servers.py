"""Where an operation is: the server that its description names, or the one that the project names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from .document import UnusableError
from .plain import node, text

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_UNFIT: Final = re.compile(r"[\s\\\x00-\x20\x7f]")


def server_of(servers: Sequence[Any], *, document_url: str, given: str) -> str:
    """The URL that paths are appended to, without a slash at its end.

    Args:
        servers: What the description names for the operation, best first; HTTPS is preferred.
        document_url: What relative ones are relative to; empty for a file.
        given: The project's own, which wins.

    Raises:
        UnusableError: There is none that can be used.
    """
    if given:
        return checked_url(given)
    urls = [_filled(one) for one in servers] or ["/"]
    found = [urljoin(document_url, one) if document_url else one for one in urls]
    whole = [one for one in found if re.match(r"https?://", one)]
    if not whole:
        raise UnusableError("the description does not say at which host it is; set url")
    return checked_url(min(whole, key=lambda one: not one.startswith("https:")))


def checked_url(url: str) -> str:
    """A URL that paths can be appended to.

    Raises:
        UnusableError: It is none.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable or parts.query or parts.fragment or "@" in parts.netloc or _UNFIT.search(url) or "{" in url:
        raise UnusableError("its server must be http(s)://HOST/PATH, without a user, a query or a fragment")
    if any(step in (".", "..") for step in parts.path.split("/")):
        raise UnusableError("the path of its server must not hold '.' or '..'")
    return url.rstrip("/")


def host_of(url: str) -> str:
    """The host of a URL and its port, if it has one."""
    return urlsplit(url).netloc


def _filled(server: object) -> str:
    """A server's URL with the default of each variable."""
    variables = node(node(server).get("variables"))
    url = text(node(server).get("url"))

    def value(found: re.Match[str]) -> str:
        given = node(variables.get(found[1])).get("default")
        return str(given) if given is not None else found[0]

    return _VARIABLE.sub(value, url)

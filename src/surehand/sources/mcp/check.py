"""Which settings an MCP server needs, and which it cannot have."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..settings import SourceSettings

_OTHERS: Final = ("document", "credentials")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_RESERVED: Final = frozenset(
    "accept accept-encoding connection content-length content-type host last-event-id mcp-method mcp-name "
    "mcp-protocol-version mcp-session-id transfer-encoding".split()
)


def check(name: str, settings: SourceSettings) -> None:
    """Refuses what cannot be.

    Raises:
        ConfigError: A field is missing, wrong, or of another kind of source.
    """

    def refuse(why: str) -> None:
        raise ConfigError(f"sources.{name}: {why}")

    for field in _OTHERS:
        if getattr(settings, field):
            refuse(f"{field} is for kind 'openapi'; leave it out")
    if bool(settings.command) is bool(settings.url):
        refuse('an MCP server has either a command, such as ["npx", "-y", "some-server"], or a url')
    if settings.command and (settings.headers or settings.private):
        refuse("headers and private are for a server with a url; a program gets environment")
    if settings.url and settings.environment:
        refuse("environment is for a server with a command; one with a url gets headers")
    for value in (*settings.command, *settings.environment):
        if not value or "\0" in value:
            refuse("command and environment hold texts that are not empty")
    for header in settings.headers:
        if not _HEADER.fullmatch(header) or header.lower() in _RESERVED:
            refuse(f"{header!r:.100} is no header that can be set; the protocol's own are not")
    if settings.url and (why := _wrong_url(settings)):
        refuse(why)


def _wrong_url(settings: SourceSettings) -> str:
    try:
        parts = urlsplit(settings.url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "url is not a URL"
    if parts.scheme not in ("https", "http") or not host:
        return "url must begin with https://, or with http:// where private = true"
    if parts.scheme == "http" and not settings.private:
        return "url must be https://; http:// is only for addresses that are not public, with private = true"
    if "@" in parts.netloc or parts.fragment:
        return "url must hold no user, password or fragment; write secrets as headers"
    return ""

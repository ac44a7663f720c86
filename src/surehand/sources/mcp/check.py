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
    (
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "transfer-encoding",
    )
)
_OWN: Final = "mcp-"
"""How the headers of the protocol begin."""


def check_settings(name: str, settings: SourceSettings) -> None:
    """Refuses what cannot be.

    Raises:
        ConfigError: A field is missing, wrong, or of another kind of source.
    """
    why = _wrong_fields(settings) or (_wrong_program(settings) if settings.command else _wrong_endpoint(settings))
    if why:
        raise ConfigError(f"sources.{name}: {why}")


def _wrong_fields(settings: SourceSettings) -> str:
    for field in _OTHERS:
        if getattr(settings, field):
            return f"{field} is for kind 'openapi'; leave it out"
    if bool(settings.command) is bool(settings.url):
        return 'an MCP server has either a command, such as ["npx", "-y", "some-server"], or a url'
    return ""


def _wrong_program(settings: SourceSettings) -> str:
    if settings.headers or settings.private:
        return "headers and private are for a server with a url; a program gets environment"
    if not all(value and "\0" not in value for value in (*settings.command, *settings.environment)):
        return "command and environment hold texts that are not empty"
    return ""


def _wrong_endpoint(settings: SourceSettings) -> str:
    if settings.environment or settings.folder:
        return "environment and folder are for a server with a command; one with a url gets headers"
    for header in settings.headers:
        if not _HEADER.fullmatch(header) or header.lower() in _RESERVED or header.lower().startswith(_OWN):
            return f"{header!r:.100} is no header that can be set; the protocol's own are not"
    return _wrong_url(settings)


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

"""What a table of this kind must say, and must not."""

from __future__ import annotations

from urllib.parse import urlsplit

from ...errors import ConfigError
from ..settings import SourceSettings
from .document import UnusableError
from .servers import checked_url


def check(name: str, settings: SourceSettings) -> None:
    """Refuses what cannot be meant.

    Raises:
        ConfigError: A field is missing, or does not belong to the kind.
    """
    where = f"sources.{name}"
    if not settings.document:
        raise ConfigError(f"{where}: document is missing; write the file or URL of the OpenAPI description")
    for field in ("command", "folder", "environment"):
        if getattr(settings, field):
            raise ConfigError(f"{where}: {field} belongs to the kind 'mcp'; remove it")
    remote = "://" in settings.document
    if remote:
        parts = urlsplit(settings.document)
        if parts.scheme not in ("https", "http") or (parts.scheme == "http" and not settings.private):
            raise ConfigError(f"{where}: document must be a file or an https:// URL; http:// needs private = true")
        if "@" in parts.netloc:
            raise ConfigError(f"{where}: document must not hold a user or password")
    if settings.url:
        try:
            checked_url(settings.url)
        except UnusableError as error:
            raise ConfigError(f"{where}: url: {error}") from None
    if remote and settings.approve == "always" and (settings.credentials or settings.headers) and not settings.url:
        raise ConfigError(
            f"{where}: with approve = 'always' the document could send the credentials anywhere; "
            "set url to where the API is"
        )

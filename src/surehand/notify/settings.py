"""`[notify]` of the project file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import cast
from urllib.parse import SplitResult, urlsplit

from ..errors import ConfigError

_ADDRESS = re.compile(r"[^\s@<>,;:\"()\\\x00-\x1f\x7f]{1,64}@[A-Za-z0-9.-]{1,255}")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifySettings:
    """Whom to tell. Nothing by default.

    Raises:
        ConfigError: A value cannot be used.
    """

    webhook: str | None = None
    """`https://...`, to which each notification is posted."""
    webhook_secret_env: str = "SUREHAND_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
    """The environment variable with the secret that signs it."""
    email: tuple[str, ...] = ()
    """Addresses that are written to."""
    email_from: str = ""
    smtp: str | None = None
    """`smtps://USER@HOST:PORT`, or `smtp://...` with STARTTLS."""
    smtp_password_env: str = "SUREHAND_SMTP_PASSWORD"  # noqa: S105 - the name of a variable
    command: tuple[str, ...] = ()
    """A program and its arguments; the notification is its stdin, as JSON."""
    allow_loopback: bool = False
    """Whether the webhook and the mail server may be on this machine, then also without TLS."""

    def __post_init__(self) -> None:
        for name in ("email", "command"):
            object.__setattr__(self, name, _strings(name, getattr(self, name)))
        for name in ("webhook", "smtp"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                raise ConfigError(f"notify.{name} must be a URL")
        for name in ("email_from", "webhook_secret_env", "smtp_password_env"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"notify.{name} must be a string")
        if not isinstance(self.allow_loopback, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("notify.allow_loopback must be true or false")
        self._check_webhook()
        self._check_mail()
        if any("\0" in part for part in self.command):
            raise ConfigError("notify.command must not hold a NUL character")

    def _check_webhook(self) -> None:
        if self.webhook is None:
            return
        url = _split("webhook", self.webhook)
        if url.scheme != "https" and not (url.scheme == "http" and self.allow_loopback and url.hostname in _LOOPBACK):
            raise ConfigError(
                "notify.webhook must be https://...; http only to this machine, with notify.allow_loopback = true"
            )
        if url.username is not None or url.fragment:
            raise ConfigError("notify.webhook must hold neither a user nor a fragment")

    def _check_mail(self) -> None:
        if not self.email and self.smtp is None:
            return
        if not self.email or self.smtp is None or not self.email_from:
            raise ConfigError("notify: mail needs email = [...], email_from = ... and smtp = ...")
        for address in (*self.email, self.email_from):
            if not _ADDRESS.fullmatch(address):
                raise ConfigError(f"notify: {address!r:.80} is no mail address; write name@example.com")
        url = _split("smtp", self.smtp)
        if url.scheme not in ("smtp", "smtps") or url.path not in ("", "/"):
            raise ConfigError("notify.smtp must be smtps://USER@HOST:PORT, or smtp://... with STARTTLS")
        if url.password is not None:
            raise ConfigError(f"notify.smtp must not hold a password; put it into ${self.smtp_password_env}")

    def secret(self, name: str) -> str:
        """The value of an environment variable; empty if it is not set."""
        return os.environ.get(name, "")


def _strings(name: str, value: object) -> tuple[str, ...]:
    given = tuple(cast("list[object]", value)) if isinstance(value, list | tuple) else (None,)
    if not all(isinstance(one, str) and one for one in given):
        raise ConfigError(f"notify.{name} must be a list of strings")
    return cast("tuple[str, ...]", given)


def _split(name: str, value: str) -> SplitResult:
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError as error:
        raise ConfigError(f"notify.{name} is no URL: {error}") from error
    if not url.hostname or port == 0 or any(ord(char) <= 32 or ord(char) >= 127 for char in value):
        raise ConfigError(f"notify.{name} must name a host, in plain ASCII")
    return url

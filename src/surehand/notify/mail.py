"""Mail by SMTP, with TLS."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import make_msgid
from urllib.parse import unquote, urlsplit

from .channel import DeliveryError, UndeliverableError
from .message import Message, as_text

TIMEOUT_S = 10.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Mail:
    """Writes to a list of addresses.

    Args:
        url: `smtps://USER@HOST:PORT`, or `smtp://...`, which must offer STARTTLS unless it is on this machine.
        password: Of that user; without a user nobody logs in.
        sender: The address that it comes from.
        to: The addresses that it goes to.
        allow_loopback: Whether a server on this machine may do without TLS.
    """

    name = "mail"

    def __init__(self, url: str, password: str, *, sender: str, to: tuple[str, ...], allow_loopback: bool) -> None:
        parts = urlsplit(url)
        self._implicit = parts.scheme == "smtps"
        self._host = parts.hostname or ""
        self._port = parts.port or (465 if self._implicit else 587)
        self._user = unquote(parts.username or "")
        self._password = password
        self._sender, self._to = sender, to
        self._may_be_plain = allow_loopback and self._host in _LOOPBACK
        self._tls = ssl.create_default_context()

    async def send(self, message: Message) -> None:
        """See `Channel`. In a thread; each step of the conversation has ten seconds."""
        try:
            await asyncio.to_thread(self._send, self._letter(message))
        except smtplib.SMTPResponseException as error:
            again = 400 <= error.smtp_code < 500
            kind = DeliveryError if again else UndeliverableError
            raise kind(f"{self._host} answered {error.smtp_code}") from error
        except smtplib.SMTPRecipientsRefused as error:
            later = all(400 <= code < 500 for code, _ in error.recipients.values())
            raise (DeliveryError if later else UndeliverableError)(f"{self._host} refused all recipients") from error
        except smtplib.SMTPNotSupportedError as error:
            raise UndeliverableError(f"{self._host} offers no STARTTLS or no login; nothing was sent") from error
        except (OSError, smtplib.SMTPException) as error:
            raise DeliveryError(f"{self._host} could not be reached: {type(error).__name__}") from error

    def _letter(self, message: Message) -> EmailMessage:
        subject, body = as_text(message)
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = self._sender, ", ".join(self._to), subject
        letter["Message-ID"] = make_msgid(message.id, domain=self._sender.rpartition("@")[2])
        letter["Auto-Submitted"] = "auto-generated"
        letter.set_content(body)
        return letter

    def _send(self, letter: EmailMessage) -> None:
        with self._connect() as server:
            if not self._implicit and not (self._may_be_plain and not server.has_extn("starttls")):
                server.starttls(context=self._tls)
                server.ehlo()
            if self._user:
                server.login(self._user, self._password)
            refused = server.send_message(letter)
        if refused:
            raise UndeliverableError(f"{self._host} refused {len(refused)} of {len(self._to)} recipients")

    def _connect(self) -> smtplib.SMTP:
        if self._implicit:
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=TIMEOUT_S, context=self._tls)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT_S)
        server.ehlo()
        return server

"""A signed webhook. The connection goes to an address that was checked, and follows nothing."""

from __future__ import annotations

import asyncio
import hmac
import socket
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from ..addresses import AddressError, checked
from .channel import DeliveryError, UndeliverableError
from .message import Message, as_json

TIMEOUT_S = 10.0
SIGNATURE = "Surehand-Signature"
"""`t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.` and the body, under the secret."""
_MAX_LINE_BYTES = 8192
_MAX_INTERIM = 8


class Webhook:
    """Posts notifications to one URL.

    Args:
        url: `https://...`, or `http://...` of this machine.
        secret: Signs each body.
        allow_loopback: Whether the URL may lead to this machine.
        now_us: The time, as the signature tells it.
    """

    name = "webhook"

    def __init__(self, url: str, secret: str, *, allow_loopback: bool, now_us: Callable[[], int]) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._authority = parts.netloc
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._secret = secret.encode()
        self._allow_loopback = allow_loopback
        self._now_us = now_us

    async def send(self, message: Message) -> None:
        """See `Channel`. Any answer of 2xx is an arrival; a redirect is not followed."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status = await self._post(as_json(message), message.id)
        except TimeoutError:
            raise DeliveryError(f"{self._host} did not answer within {TIMEOUT_S:g} s") from None
        except (OSError, ValueError) as error:
            raise DeliveryError(f"{self._host} could not be reached: {type(error).__name__}") from error
        if 200 <= status < 300:
            return
        again = status >= 500 or status in (408, 425, 429)
        raise (DeliveryError if again else UndeliverableError)(f"{self._host} answered {status}")

    async def _post(self, body: bytes, message_id: str) -> int:
        # The checked address is connected to, never the name again: that only says who must answer.
        (address, *_) = await self._addresses()
        reader, writer = await asyncio.open_connection(
            address,
            self._port,
            ssl=self._tls,
            server_hostname=self._host if self._tls else None,
            limit=_MAX_LINE_BYTES,
        )
        try:
            writer.write(self._request(body, message_id))
            await writer.drain()
            return await _status(reader)
        finally:
            writer.transport.abort()

    async def _addresses(self) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        addresses = [str(one[4][0]) for one in found]
        try:
            return checked(self._host, addresses, allow="loopback" if self._allow_loopback else "none")
        except AddressError as error:
            raise UndeliverableError(str(error)) from None

    def _request(self, body: bytes, message_id: str) -> bytes:
        seconds = str(self._now_us() // 1_000_000)
        proof = hmac.new(self._secret, f"{seconds}.".encode() + body, "sha256").hexdigest()
        lines = [
            f"POST {self._target} HTTP/1.1",
            f"Host: {self._authority}",
            "User-Agent: surehand",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"Surehand-Delivery: {message_id}",
            f"{SIGNATURE}: t={seconds},v1={proof}",
            "Connection: close",
        ]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + body


async def _status(reader: asyncio.StreamReader) -> int:
    """The status of the final answer; whatever else it says is not read."""
    for _ in range(_MAX_INTERIM):
        version, code, *_ = (await reader.readline()).split(maxsplit=2)
        if not version.startswith(b"HTTP/1.") or not (code.isdigit() and len(code) == 3):
            raise ValueError("that is no HTTP")
        if int(code) >= 200:
            return int(code)
        while (await reader.readline()).strip():
            pass
    raise ValueError("no final answer")

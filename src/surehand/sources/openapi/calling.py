"""Sends a request and reads what comes back, bounded. Nothing is followed: a redirect is an answer."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from ...addresses import AddressError
from ...errors import BusinessError, OutcomeUnknown, Unavailable
from .request import Prepared

MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
_UNFIT: Final = "These arguments make no request that can be sent: one is too long, or holds what HTTP does not."
_SENDING: Final = ("http11.send_request_headers.started", "http2.send_request_headers.started")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By small letters."""
    body: bytes = b""
    incomplete: str = ""
    """Why the body is not all there."""


async def send(transport: httpx2.AsyncBaseTransport, request: Prepared, *, read_only: bool, timeout_s: float) -> Answer:
    """One exchange.

    Args:
        transport: What connects.
        request: With its credentials.
        read_only: Whether it may be sent again when nobody knows what became of it.
        timeout_s: For each step of it.

    Raises:
        Unavailable: It was surely not sent, or only reads.
        OutcomeUnknown: It may have been sent.
        BusinessError: It cannot be sent there at all.
    """
    sent = False

    async def trace(event: str, _: Mapping[str, Any]) -> None:
        nonlocal sent
        sent = sent or event in _SENDING

    steps = dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)
    try:
        made = _made(request, {"timeout": steps, "trace": trace})
    except (httpx2.InvalidURL, ValueError):
        raise BusinessError(_UNFIT) from None
    host = made.url.host
    try:
        response = await transport.handle_async_request(made)
    except httpx2.LocalProtocolError:
        raise BusinessError(_UNFIT) from None
    except httpx2.HTTPError as error:
        refused = _refusal(error)
        if refused:
            raise BusinessError(refused) from None
        if sent and not read_only:
            raise OutcomeUnknown(f"{host} did not answer: {type(error).__name__}") from None
        raise Unavailable(f"{host} could not be reached: {type(error).__name__}") from None
    try:
        return await _read(response)
    finally:
        await response.aclose()


def _made(request: Prepared, extensions: Mapping[str, Any]) -> httpx2.Request:
    headers = [
        (b"accept", b"application/json, text/*;q=0.9, */*;q=0.8"),
        (b"accept-encoding", b"identity"),
        (b"user-agent", b"surehand"),
    ]
    headers += [(name.encode(), value.encode()) for name, value in request.headers]
    if request.cookies:
        headers.append((b"cookie", "; ".join(request.cookies).encode()))
    content = request.content
    if content is not None and content.media:
        headers.append((b"content-type", content.media.encode()))
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=content.data if content is not None and not content.parts else None,
        files=list(content.parts) if content is not None and content.parts else None,
        extensions=dict(extensions),
    )


def _refusal(error: BaseException) -> str:
    """What the guard of addresses says, if it was that."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AddressError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__  # a pool of connections takes the cause away
    return ""


async def _read(response: httpx2.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    body, why = bytearray(), ""
    try:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                why = f"it has more than {MAX_ANSWER_BYTES} bytes"
                break
    except httpx2.HTTPError:
        why = "the connection was lost"
    read, unread = _decoded(bytes(body[:MAX_ANSWER_BYTES]), headers.get("content-encoding", ""))
    return Answer(status=response.status_code, headers=headers, body=read, incomplete=why or unread)


def _decoded(body: bytes, encoding: str) -> tuple[bytes, str]:
    """A body that came compressed although nobody asked for it, bounded; and why it is not all there."""
    if encoding.strip().lower() in ("", "identity"):
        return body, ""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return b"", f"it is encoded as {encoding:.40}"
    try:
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        read = inflate.decompress(body, MAX_ANSWER_BYTES)
    except zlib.error:
        return b"", "it cannot be decompressed"
    return read, "" if inflate.eof else f"it has more than {MAX_ANSWER_BYTES} bytes"

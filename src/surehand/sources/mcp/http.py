"""A server that is spoken to by HTTP: checked addresses, bounded answers, and whether a message may have arrived.

The SDK's transport ends the whole session when a connection fails, and gives one code to much that went wrong. So
whatever is not an answer in the protocol becomes one here, with a mark that no server can know.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import httpx2

from ...addresses import AddressError
from ..pinned import PinnedTransport
from .stdio import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

Fate: TypeAlias = Literal["unsent", "refused", "lost", "unreadable", "answered", "session"]
"""What became of a message. `unsent`: it did not leave. `refused`: the server would not have it. `lost`: it may have
arrived. `unreadable`: it was answered, and with what cannot be read. `answered`: with an error of the protocol and an
HTTP status of 400 or more. `session`: the server does not know the session any more, and did nothing."""

_MARK: Final = "surehand"
_CONNECT_S: Final = 10.0
_SESSION: Final = "mcp-session-id"
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602


@asynccontextmanager
async def endpoint(
    url: str, headers: Mapping[str, str], *, private: bool, door: Door
) -> AsyncGenerator[TransportStreams]:
    """The streams of a session at a URL.

    Args:
        url: Where the server is.
        headers: Sent with each message.
        private: Whether it may be at an address that is not public.
        door: Reads what became of messages.
    """
    from mcp.client.streamable_http import streamable_http_client

    door.inner = PinnedTransport(allow="private" if private else "none")
    timeout = httpx2.Timeout(_CONNECT_S, read=None, pool=None)
    own = {**headers, "accept-encoding": "identity", "user-agent": "surehand"}
    async with (
        httpx2.AsyncClient(transport=door, headers=own, timeout=timeout, trust_env=False) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class Door(httpx2.AsyncBaseTransport):
    """What HTTP messages of one session pass.

    Args:
        lost: Is told that the server does not know the session any more.
        doubt: Is called when the server cannot be reached, which may be over in a moment.
    """

    inner: httpx2.AsyncBaseTransport

    def __init__(self, lost: Callable[[str], None], doubt: Callable[[], None]) -> None:
        self._lost = lost
        self._doubt = doubt
        self._mark = secrets.token_hex(16)

    def fate(self, data: object) -> tuple[Fate, str] | None:
        """What became of a message, and why, by the `data` of its error; `None` for an error of the server's."""
        if not isinstance(data, dict):
            return None
        known = cast("dict[str, Any]", data)
        return (known["fate"], known["why"]) if known.get(_MARK) == self._mark else None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `httpx2.AsyncBaseTransport`. Whatever fails is a response."""
        try:
            response = await self.inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            why = _forbidden(error) or f"{request.url.host} cannot be reached"
            self._doubt()
            return self._failed("unsent", why)
        except httpx2.TransportError as error:
            return self._failed("lost", f"the connection failed ({type(error).__name__})")
        try:
            return await self._looked_at(request, response)
        except httpx2.TransportError as error:
            return self._failed("lost", f"the connection failed ({type(error).__name__})")

    async def aclose(self) -> None:
        """See `httpx2.AsyncBaseTransport`."""
        await self.inner.aclose()

    async def _looked_at(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        status = response.status_code
        if request.method == "GET" and status == 404 and _SESSION in request.headers:
            self._lost("the server does not know the session any more")
        if request.method != "POST" or 300 <= status < 400:
            return response
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            return self._failed("unreadable", "it is compressed")
        if status < 300 and kind == "text/event-stream":
            return response
        body = await _read(response)
        if status >= 400:
            return self._refused(request, status, body)
        if _asks(request) and (status == 202 or kind != "application/json"):
            return self._failed("unreadable", f"it is neither JSON nor events but HTTP {status} {kind[:80]!r}")
        if body is None:
            return self._failed("unreadable", f"it has more than {MAX_MESSAGE_BYTES} bytes")
        return httpx2.Response(status, headers=_without_length(response.headers), content=body)

    def _refused(self, request: httpx2.Request, status: int, body: bytes | None) -> httpx2.Response:
        error = _error_of(body)
        code = error.get("code")
        in_session = _SESSION in request.headers
        unknown = status == 404 and code != _METHOD_NOT_FOUND
        if in_session and (unknown or (status == 400 and error and code not in (_METHOD_NOT_FOUND, _INVALID_PARAMS))):
            self._lost("the server does not know the session any more")
            return self._failed("session", "the server does not know the session any more", status)
        if error:
            return self._failed("answered", "", status, error)
        # A proxy says 502 to 504 of what it had passed on, too.
        fate: Fate = "lost" if status >= 500 else "refused"
        return self._failed(fate, f"the server refused it (HTTP {status})", status)

    def _failed(
        self, fate: Fate, why: str, status: int = 503, error: Mapping[str, Any] | None = None
    ) -> httpx2.Response:
        told = {"code": -32000, "message": why, **(error or {}), "data": {_MARK: self._mark, "fate": fate, "why": why}}
        return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": told})


def _forbidden(error: BaseException) -> str:
    """What the guard of addresses says, if it is the cause."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AddressError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return ""


def _asks(request: httpx2.Request) -> bool:
    """Whether the message is one that is answered: no notification, and no answer itself."""
    try:
        message: Any = json.loads(request.content)
        return "id" in message and "method" in message
    except (ValueError, TypeError, httpx2.StreamError):
        return True


async def _read(response: httpx2.Response) -> bytes | None:
    """The body; `None` if it is too long."""
    found = bytearray()
    try:
        async for chunk in cast("httpx2.AsyncByteStream", response.stream):
            found += chunk
            if len(found) > MAX_MESSAGE_BYTES:
                return None
    finally:
        await response.aclose()
    return bytes(found)


def _error_of(body: bytes | None) -> dict[str, Any]:
    """The error of a JSON-RPC answer; empty if it is none."""
    try:
        answer: Any = json.loads(body or b"")
        error: Any = answer["error"]
        if isinstance(error["code"], int) and isinstance(error["message"], str):
            return {"code": error["code"], "message": error["message"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return {}


def _without_length(headers: httpx2.Headers) -> list[tuple[str, str]]:
    return [
        (name, value) for name, value in headers.multi_items() if name not in ("content-length", "transfer-encoding")
    ]

"""`PinnedTransport`: HTTP to addresses that were checked. A name is looked up once, and what was found is connected to.

Between a check and a second look-up a name can change its address; here there is no second one. TLS is still for the
name. No proxy of the environment is used: it would look up the name itself.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import cast

import httpcore2
import httpx2

from ..addresses import AddressError, Inside, checked


class PinnedTransport(httpx2.AsyncHTTPTransport):
    """For an `httpx2.AsyncClient`, with `trust_env=False`.

    Args:
        allow: What may be connected to besides the internet.
        connections: How many at once.

    An address that may not be connected to raises `httpx2.ConnectError`, caused by an `AddressError`.
    """

    def __init__(self, *, allow: Inside, connections: int = 100) -> None:
        tls = ssl.create_default_context()
        super().__init__(verify=tls, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=connections,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=_Pinned(allow),
        )


class _Pinned(httpcore2.AsyncNetworkBackend):
    def __init__(self, allow: Inside) -> None:
        self._allow: Inside = allow
        # The library gives this name an empty meaning too, for installations without anyio; httpx2 needs anyio.
        self._inner = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as the library's interface has it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        last: httpcore2.ConnectError | httpcore2.ConnectTimeout = httpcore2.ConnectError()
        try:
            async with asyncio.timeout(timeout):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                for address in checked(host, [str(one[4][0]) for one in found], allow=self._allow):
                    try:
                        return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
                    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                        last = error
        except TimeoutError:
            raise httpcore2.ConnectTimeout() from None
        except AddressError as error:
            raise httpcore2.ConnectError(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError() from error
        raise last

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

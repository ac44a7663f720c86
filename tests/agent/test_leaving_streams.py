"""A run that is cancelled while a client that blocks waits for the next piece."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import ollama
import pytest

from surehand.agent.clients import OllamaModel


class Slow(httpx.SyncByteStream):
    """Gives one piece, and the next one only when it is let go."""

    def __init__(self) -> None:
        self.waits, self.go, self.closed = threading.Event(), threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"message": {"content": "a"}}\n'
        self.waits.set()
        self.go.wait(10)
        yield b'{"message": {"content": "b"}}\n'

    def close(self) -> None:
        self.closed.set()


async def test_cancelling_ends_it_and_its_connection() -> None:
    body = Slow()
    given: dict[str, Any] = {"transport": httpx.MockTransport(lambda _: httpx.Response(200, stream=body))}
    with ollama.Client("http://127.0.0.1:1", **given) as client:
        model = OllamaModel("m", client)

        async def read() -> None:
            async for _ in model.stream({"messages": []}):
                pass

        reading = asyncio.create_task(read())
        assert await asyncio.to_thread(body.waits.wait, 10)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):  # not the generator's "already executing"
            await reading
        body.go.set()
        assert await asyncio.to_thread(body.closed.wait, 10)

"""`engine.sync`: the engine for code without an event loop. It runs in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..call import RunStep, ToolCall, ToolResult
from ..errors import ConfigError
from ..types import Caller
from ..view import ToolView

if TYPE_CHECKING:
    from .engine import Engine

T = TypeVar("T")


class SyncEngine:
    """Used as `with engine.sync as hand:`. Methods block; do not call them from an event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Starts the loop and opens the engine."""
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=loop.run_forever, name="surehand-sync", daemon=True)
        self._thread.start()
        try:
            self._run(self._engine.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the engine and ends the loop."""
        try:
            self._run(self._engine.close())
        finally:
            self._stop()

    def view(self, caller: Caller, *, scene: str | None = None, loaded: Sequence[str] = ()) -> ToolView:
        """See `Engine.view`."""
        return self._run(self._engine.view(caller, scene=scene, loaded=loaded))

    def call(
        self, call: ToolCall, caller: Caller, *, run: RunStep | None = None, idempotency_key: str | None = None
    ) -> ToolResult:
        """See `Engine.call`."""
        return self._run(self._engine.call(call, caller, run=run, idempotency_key=idempotency_key))

    def resume(self, call_id: str, *, by: Caller) -> ToolResult:
        """See `Engine.resume`."""
        return self._run(self._engine.resume(call_id, by=by))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise ConfigError("the engine is not open; use `with engine.sync as hand:`")
        if _in_a_loop():
            work.close()
            raise ConfigError("engine.sync blocks, and this is an event loop's thread; await the engine's own methods")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

"""`Heart`: says that this process is alive, from a thread of its own, so that nothing else can hold it up."""

from __future__ import annotations

import asyncio
import logging
import threading

from ..ports import Clock, Store

_log = logging.getLogger("surehand.engine")


class Heart:
    """Beats every few seconds until it is stopped. A beat that fails is followed by the next one.

    Args:
        store: Where the beat is written; it serves several event loops.
        clock: The engine's.
        every_s: Seconds between two beats; well below the lease.
    """

    def __init__(self, store: Store, clock: Clock, *, every_s: float) -> None:
        self._store = store
        self._clock = clock
        self._owner = ""
        self._every_s = every_s
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, owner: str) -> None:
        """Begins to beat for an owner."""
        self._owner = owner
        self._stopped.clear()
        self._thread = threading.Thread(target=self._main, name="surehand-heart", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Ends the beats; what this process still runs counts as lost after the lease."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopped.set()
            await asyncio.to_thread(thread.join)

    def _main(self) -> None:
        with asyncio.Runner() as runner:
            while not self._stopped.wait(self._every_s):
                runner.run(self._beat())

    async def _beat(self) -> None:
        try:
            await self._store.beat(self._owner, self._clock.now_us())
        except Exception as error:
            # Nothing may stop the heart. While the store is away, nobody can take our work either.
            _log.warning("a heartbeat failed: %s", type(error).__name__)

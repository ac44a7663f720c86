"""A program of the user's, started for each notification. No shell, and none of the engine's secrets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from .channel import DeliveryError, UndeliverableError
from .message import Message, as_json

TIMEOUT_S = 10.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""Of the environment: what programs need to run. What else is there may be a password."""


class Command:
    """Runs an argument vector with the notification on stdin. Exit code 0 is an arrival."""

    name = "command"

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv

    async def send(self, message: Message) -> None:
        """See `Channel`. After ten seconds the program and what it started are killed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            raise UndeliverableError(f"the command cannot be started: {type(error).__name__}") from error
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await process.communicate(as_json(message) + b"\n")
        except TimeoutError:
            raise DeliveryError(f"the command took longer than {TIMEOUT_S:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await asyncio.shield(process.wait())
        if process.returncode != 0:
            raise DeliveryError(f"the command ended with {process.returncode}")

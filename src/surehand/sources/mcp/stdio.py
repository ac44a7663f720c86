"""A server that is a program: its messages by stdin and stdout, a bounded end of its stderr for when it dies.

The SDK has such a transport; this one bounds the length of a line and keeps stderr, which that one hands on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ...errors import SourceError

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES: Final = 32 * 1024 * 1024
_TAIL_BYTES: Final = 2_000
_CHUNK_BYTES: Final = 64 * 1024
_FLUSH_S: Final = 0.5
_LEAVE_S: Final = 2.0
"""How long a program may take to end by itself once its stdin is closed, and again once it is asked to."""
_POLL_S: Final = 0.02


@asynccontextmanager
async def program(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, ended: Callable[[str], None]
) -> AsyncGenerator[TransportStreams]:
    """Runs the program, and ends it with all that it started.

    Args:
        command: The program and its arguments.
        environment: All of its environment.
        folder: Where it runs.
        ended: Is told, with the end of stderr, that no more messages come.

    Raises:
        SourceError: It cannot be started.
    """
    from mcp.shared.message import SessionMessage

    process = await _started(command, environment, folder)
    into, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    speech = _Speech(process, ended)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(speech.stderr)
            group.start_soon(speech.read, into)
            group.start_soon(speech.write, out_of)
            try:
                yield messages, outgoing
            finally:
                speech.closing = True
                outgoing.close()
                messages.close()
                with anyio.CancelScope(shield=True):
                    with anyio.move_on_after(_FLUSH_S):
                        await speech.written.wait()
                    await _end(process)
                group.cancel_scope.cancel()
    finally:
        for stream in (into, messages, outgoing, out_of):
            stream.close()
        # A descendant that left the group may hold a pipe open; nothing else closes our end of it.
        getattr(process, "_transport").close()  # noqa: B009 - of a class that does not name it


async def _started(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=folder,
            env=dict(environment),
            limit=MAX_MESSAGE_BYTES,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise SourceError(f"its program {command[0]!r} is not there, or {folder} is not") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"its program {command[0]!r} cannot be started: {type(error).__name__}") from None


class _Speech:
    """What a running program says and is told."""

    def __init__(self, process: Process, ended: Callable[[str], None]) -> None:
        self.closing = False
        self.written = anyio.Event()
        self._process = process
        self._ended = ended
        self._tail = bytearray()
        self._drained = asyncio.Event()

    async def read(self, into: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Passes messages on; lines that are none are skipped, as programs print."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        assert self._process.stdout is not None
        why = ""
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with into:
                try:
                    while line := await self._process.stdout.readline():
                        with contextlib.suppress(ValueError):
                            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                            await into.send(SessionMessage(message))
                except ValueError:
                    why = f"its program wrote a line of more than {MAX_MESSAGE_BYTES} bytes"
                if not self.closing:
                    self._ended(why or await self._end_of_it())

    async def write(self, out_of: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Writes messages, each on a line."""
        assert self._process.stdin is not None
        try:
            async with out_of:
                async for sent in out_of:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(text.encode(errors="replace") + b"\n")
                    await self._process.stdin.drain()
        except OSError:
            pass  # it is gone, or will not listen; reading tells
        finally:
            self.written.set()

    async def stderr(self) -> None:
        """Reads all, so that the program never waits for it, and keeps the end."""
        assert self._process.stderr is not None
        try:
            while chunk := await self._process.stderr.read(_CHUNK_BYTES):
                self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        finally:
            self._drained.set()

    async def _end_of_it(self) -> str:
        with anyio.move_on_after(_FLUSH_S):
            await self._drained.wait()
            await self._process.wait()
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with exit code {code}"
        said = self._tail.decode(errors="replace").strip()
        return f"its program {how}" + (f"; the end of what it said: {said}" if said else "")


async def _end(process: Process) -> None:
    """Closes its stdin; then asks it, and at last makes it, and all of its process group."""
    assert process.stdin is not None
    process.stdin.close()
    for force in (None, signal.SIGTERM, signal.SIGKILL):
        if force is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, force)
        with anyio.move_on_after(_LEAVE_S):
            # Not `wait`: that is for the pipes too, which a descendant may hold.
            while process.returncode is None:  # noqa: ASYNC110 - asyncio tells nobody else
                await asyncio.sleep(_POLL_S)
            return

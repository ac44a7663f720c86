"""`McpSource`: the tools of one MCP server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from ...call import CallContext
from ...errors import OutcomeUnknown, SourceError, SpecError, Unavailable
from ...spec import Tool, raw_tool
from ..settings import SourceSettings
from .connection import Connection, LostAnswer, NotSent
from .contract import contract, wanted
from .http import Door, endpoint
from .names import fitted
from .results import read_result
from .stdio import program

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.client._transport import TransportStreams

_MARGIN_S: Final = 0.1
_COME_BACK_S: Final = 5.0
"""How long a call waits for the next session, when one is lost."""
_SECRET_CHARS: Final = 6
"""Shorter values would be found everywhere."""
_SHORT_HASH: Final = 12


class McpSource:
    """See `Source`.

    Args:
        name: As in the project file.
        settings: Its table, checked.
        folder: Where a program runs.
    """

    kind = "mcp"

    def __init__(self, name: str, settings: SourceSettings, folder: Path) -> None:
        self.name = name
        self.notes: tuple[str, ...] = ()
        """What of the last list could not be taken, and why."""
        self._settings = settings
        self._folder = folder
        self._connection: Connection | None = None
        self._secrets: tuple[str, ...] = ()
        self._opened = asyncio.Event()

    async def open(self, changed: Callable[[], None]) -> None:
        """See `Source`."""
        connection = Connection(self.name, changed, self._clean)
        transport = self._transport(connection)
        self._connection = connection
        await connection.open(transport)
        self._opened.set()

    async def tools(self) -> Sequence[Tool]:
        """See `Source`."""
        if self._connection is None:
            raise SourceError("it is not connected")
        listed, notes = await self._connection.list_tools()
        chosen = [tool for tool in listed if wanted(tool.name, self._settings)]
        names = fitted(self.name, (tool.name for tool in chosen))
        made: list[Tool] = []
        for tool in chosen:
            try:
                made.append(self._tool(tool, names[tool.name]))
            except SpecError as error:
                notes.append(f"{tool.name!r:.100}: {error}")
        self.notes = tuple(notes)
        return made

    async def close(self) -> None:
        """See `Source`."""
        self._opened.clear()
        connection = self._connection
        if connection is not None:
            # Until it is closed it is there to be closed: who waited for it may have been cancelled.
            await connection.close()
            self._connection = None

    def _transport(self, connection: Connection) -> AbstractAsyncContextManager[TransportStreams]:
        settings = self._settings
        if settings.command:
            from mcp.client.stdio import get_default_environment

            own = {name: _variable(name) for name in settings.environment}
            self._secrets = _long(own.values())
            environment = {**get_default_environment(), **own}
            return program(settings.command, environment, self._folder, connection.lose)
        headers = {header: _variable(name, header=True) for header, name in settings.headers.items()}
        self._secrets = _long(headers.values())
        connection.door = Door(connection.lose, connection.changed)
        return endpoint(settings.url, headers, private=settings.private, door=connection.door)

    def _tool(self, tool: types.Tool, name: str) -> Tool:
        place, upstream = self._place()
        spec = contract(tool, name=name, source=self.name, settings=self._settings, place=place, upstream=upstream)

        async def handler(context: CallContext, json: str) -> Any:
            result = await self._call(tool.name, json, context, again=spec.read_only)
            return read_result(result, self._clean)

        return raw_tool(spec, handler)

    def _place(self) -> tuple[str, str]:
        """Where the server is, for people and for the hash of a definition, and what its tools' health hangs on."""
        if self._settings.command:
            command = self._settings.command
            whole = sha256(json.dumps(command).encode()).hexdigest()[:_SHORT_HASH]
            return f"stdio:{PurePath(command[0]).name}:{whole}", f"mcp:{self.name}"
        parts = urlsplit(self._settings.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}", f"mcp:{self.name}:{parts.hostname or ''}"

    async def _call(self, name: str, text: str, context: CallContext, *, again: bool) -> types.CallToolResult:
        """Calls the tool; once more if that surely did nothing, or if `again` says that asking again does no harm."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            context.progress(self._clean(_progress(progress, total, message)))

        arguments: dict[str, Any] = msgspec.json.decode(text)
        for last in (False, True):
            connection = await self._usable(context.deadline)
            try:
                return await connection.call(name, arguments, tell)
            except NotSent as error:
                if last:
                    raise Unavailable(str(error)) from None
            except LostAnswer as error:
                if last or not again:
                    raise OutcomeUnknown(f"the answer was lost: {error}") from None
        raise AssertionError("the last try returns or raises")

    async def _usable(self, deadline: float) -> Connection:
        """The session, or the next one when this one is lost.

        Raises:
            Unavailable: It does not come in time.
        """
        left_s = min(deadline - time.monotonic() - _MARGIN_S, _COME_BACK_S)
        try:
            async with asyncio.timeout(max(left_s, 0)):
                while True:
                    connection = self._connection
                    if connection is not None and not connection.lost and self._opened.is_set():
                        return connection
                    self._opened.clear()
                    await self._opened.wait()
        except TimeoutError:
            raise Unavailable(f"the source {self.name!r} is not connected") from None

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _variable(name: str, *, header: bool = False) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SourceError(f"the environment variable {name!r} is not set")
    if header and not (value.isascii() and value.isprintable() and value.strip() == value and value):
        raise SourceError(f"the environment variable {name!r} holds what no header can")
    return value


def _long(values: Sequence[str] | Any) -> tuple[str, ...]:
    parts = [part for value in values for part in (value, *value.split())]
    return tuple(sorted({part for part in parts if len(part) >= _SECRET_CHARS}, key=len, reverse=True))


def _progress(done: float, total: float | None, message: str | None) -> str:
    amount = f"{done:g}" if total is None else f"{done:g} of {total:g}"
    return f"{message} ({amount})" if message else amount

"""`Connection`: one session with a server, owned by one task from its first message to its last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from ...errors import BusinessError, OutcomeUnknown, SourceError, Unavailable
from .http import Door

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.shared.exceptions import MCPError
    from pydantic import TypeAdapter

_log = logging.getLogger("surehand.sources")
CONNECT_S: Final = 60.0
LIST_S: Final = 30.0
_CLOSE_S: Final = 8.0
MAX_PAGES: Final = 100
MAX_TOOLS: Final = 2_000
_MAX_ERROR_CHARS: Final = 2_000
_LISTEN_AGAIN_S: Final = (1.0, 5.0, 25.0, 120.0)


class LostAnswer(Exception):
    """The request may have arrived, and its answer will not come."""


class NotSent(Exception):
    """The request surely did nothing, and another session may take it."""


class Connection:
    """One session.

    Args:
        name: What the source is called.
        changed: Is called when tools may have changed or the session is lost.
        clean: Takes the source's own secrets out of a text.
    """

    def __init__(self, name: str, changed: Callable[[], None], clean: Callable[[str], str]) -> None:
        self.lost = ""
        """Why it cannot be used any more; empty while it can."""
        self.door: Door | None = None
        """Of a session by HTTP."""
        self._name = name
        self.changed = changed
        self._clean = clean
        self._client: Client | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._calls = 0
        """How many are running."""

    async def open(self, transport: AbstractAsyncContextManager[TransportStreams]) -> None:
        """Connects.

        Raises:
            SourceError: It cannot.
        """
        self._owner = asyncio.create_task(self._own(transport), name=f"surehand-mcp-{self._name}")
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise SourceError(f"it did not answer within {CONNECT_S:g} s") from None

    def lose(self, why: str) -> None:
        """Notes, once, that the session cannot be used any more."""
        if not self.lost and not self._closing.is_set():
            self.lost = self._clean(why)
            self.changed()

    async def close(self) -> None:
        """Ends it, within a bound."""
        self._closing.set()
        if self._owner is None:
            return
        _, late = await asyncio.wait({self._owner}, timeout=_CLOSE_S if self._ready.done() else 0)
        if late:
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=_CLOSE_S)
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # somebody has looked at it

    async def list_tools(self) -> tuple[list[types.Tool], list[str]]:
        """All pages of what it offers, each name once, and what was wrong with the pages.

        Raises:
            SourceError: It cannot say.
        """
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            while True:
                try:
                    async with asyncio.timeout(LIST_S):
                        return await self._pages()
                except TimeoutError:
                    # A program may do one thing at a time: ended now, it would end in the midst of a call.
                    if not self._calls:
                        raise SourceError(f"it did not list its tools within {LIST_S:g} s") from None
        except MCPError as error:
            raise SourceError(self.lost or f"it could not list its tools: {self._said(error)}") from None
        except ValidationError as error:
            raise SourceError(f"it lists tools that are not in the protocol: {_where(error)}") from None

    async def call(self, name: str, arguments: dict[str, Any], progress: ProgressFnT) -> types.CallToolResult:
        """Calls a tool, once.

        Raises:
            LostAnswer: It may have been called.
            NotSent: It was surely not called: the session is lost.
            BusinessError: The server answered with an error.
            Unavailable: The server would not have the request.
            OutcomeUnknown: The answer is none that can be read.
        """
        import mcp_types as types
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        if self._client is None or self.lost:
            raise NotSent(self.lost or "it is not connected")
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        self._calls += 1
        try:
            # Not `call_tool`: that holds the result against the output schema, which is the engine's to do.
            result = await self._client.session.send_request(request, _answer(), progress_callback=progress)
        except MCPError as error:
            raise self._judged(error) from None
        except ValidationError as error:
            raise OutcomeUnknown(f"the answer is not in the protocol: {_where(error)}") from None
        finally:
            self._calls -= 1
        if isinstance(result, types.InputRequiredResult):
            raise BusinessError("The tool asks its caller for more input, which is not supported.")
        return result

    async def _own(self, transport: AbstractAsyncContextManager[TransportStreams]) -> None:
        from mcp import Client
        from mcp_types import Implementation

        try:
            async with Client(
                transport,  # pyright: ignore[reportArgumentType] - a protocol that only lacks the name
                cache=None,
                message_handler=self._heard,
                client_info=Implementation(name="surehand", version=version("surehand")),
            ) as client:
                self._client = client
                self._ready.set_result(None)
                await self._until_closed(client)
        except Exception as error:
            self._failed(error)
        finally:
            self._client = None
            if not self._ready.done():
                self._ready.set_exception(SourceError(self.lost or "it was closed"))

    async def _until_closed(self, client: Client) -> None:
        listening = asyncio.create_task(self._listen(client))
        try:
            await self._closing.wait()
        finally:
            listening.cancel()
            await asyncio.wait({listening})

    def _failed(self, error: Exception) -> None:
        why = self.lost or self._why(error)
        if not self._ready.done():
            self._ready.set_exception(SourceError(why))
        self.lose(why)

    def _why(self, error: BaseException) -> str:
        from mcp.shared.exceptions import MCPError

        found = [one for one in _leaves(error) if isinstance(one, MCPError | SourceError)]
        if not found:
            return f"the session failed ({type(error).__name__})"
        return self._clean(str(found[0])) if isinstance(found[0], SourceError) else self._said(found[0])

    async def _listen(self, client: Client) -> None:
        """In the newer era a server tells of changes only those who ask."""
        from mcp.client.subscriptions import ListenNotSupportedError

        offered = client.server_capabilities.tools
        if offered is None or not offered.list_changed:
            return
        tries, again = 0, False
        while not self.lost:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    if again:
                        self.changed()  # what happened meanwhile was not told
                    tries, again = 0, True
                    async for _ in events:
                        self.changed()
            except ListenNotSupportedError:
                return  # the older era tells everybody
            except Exception as error:
                _log.debug("source %s: listening for changes failed: %s", self._name, type(error).__name__)
            await asyncio.sleep(_LISTEN_AGAIN_S[min(tries, len(_LISTEN_AGAIN_S) - 1)])
            tries += 1

    async def _heard(self, message: object) -> None:
        import mcp_types as types

        if isinstance(message, types.ToolListChangedNotification):
            self.changed()

    async def _pages(self) -> tuple[list[types.Tool], list[str]]:
        import mcp_types as types

        if self._client is None or self.lost:
            raise SourceError(self.lost or "it is not connected")
        if self._client.server_capabilities.tools is None:
            return [], []
        found: dict[str, types.Tool] = {}
        notes: list[str] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                found.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None or len(found) > MAX_TOOLS:
                break
            if cursor in seen:
                notes.append("its list of tools goes in a circle; what was listed until then is taken")
                break
            seen.add(cursor)
        else:
            notes.append(f"its list of tools has more than {MAX_PAGES} pages; those are taken")
        if len(found) > MAX_TOOLS:
            notes.append(f"it lists more than {MAX_TOOLS} tools; the first are taken")
        return list(found.values())[:MAX_TOOLS], notes

    def _said(self, error: MCPError) -> str:
        fate = None if self.door is None else self.door.fate(error.data)
        text = error.message if fate is None else fate[1] or error.message
        return self._clean(text[:_MAX_ERROR_CHARS])

    def _judged(self, error: MCPError) -> Exception:
        """What an error says of the call."""
        from mcp_types import CONNECTION_CLOSED, HEADER_MISMATCH, PARSE_ERROR

        fate = None if self.door is None else self.door.fate(error.data)
        said = self._said(error)
        if fate is not None:
            match fate[0]:
                case "unsent" | "session":
                    return NotSent(said)
                case "refused":
                    return Unavailable(said)
                case "lost":
                    self.changed()
                    return LostAnswer(said)
                case "unreadable":
                    return OutcomeUnknown(f"the answer cannot be read: {said}")
                case "answered":
                    pass
        elif error.code == PARSE_ERROR and self.door is not None:
            return OutcomeUnknown("the answer cannot be read")
        elif error.code == CONNECTION_CLOSED and (self.lost or self._closing.is_set() or self.door is not None):
            # The SDK's word for it; a server that uses the code for something else cannot be told apart by HTTP.
            self.changed()
            return LostAnswer(said)
        if error.code == HEADER_MISMATCH:
            self.changed()
            return Unavailable("the definition of the tool has changed")
        return BusinessError(said or f"The server refused the call ({error.code}).", details={"code": error.code})


@cache
def _answer() -> TypeAdapter[types.CallToolResult | types.InputRequiredResult]:
    import mcp_types as types
    from pydantic import TypeAdapter

    return TypeAdapter(types.CallToolResult | types.InputRequiredResult)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    return [error]


def _where(error: Any) -> str:
    """Where something is wrong; not with which value."""
    return ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False)[:3])

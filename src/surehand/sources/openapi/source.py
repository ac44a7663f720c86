"""`OpenAPISource`: the operations of an HTTP API, each a tool."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from ...call import CallContext
from ...errors import BusinessError, HandlerError, SourceError, SpecError
from ...secrets import Secret
from ...spec import Tool, raw_tool
from ...types import Output
from ..pinned import PinnedTransport
from ..settings import SourceSettings
from .answers import read_answer
from .calling import Answer, send
from .contract import READS, contract_of, without_credentials
from .document import Document, UnusableError, parse, read_file
from .naming import tool_names
from .operations import Operation, Unusable, read_operations
from .request import Prepared, prepare, with_credentials
from .security import Credential, credentials_for, secrets_from
from .servers import server_of
from .swagger import as_three

DOCUMENT_S: Final = 30.0


class OpenAPISource:
    """One description, and the API that it describes.

    Args:
        name: As in the project file.
        settings: Its table.
        folder: What the path of its document is relative to.
    """

    kind = "openapi"

    def __init__(self, name: str, settings: SourceSettings, folder: Path) -> None:
        self.name = name
        self.notes: tuple[str, ...] = ()
        self._settings = settings
        self._folder = folder
        self._document = Document({}, "3.1")
        self._transport: httpx2.AsyncBaseTransport | None = None
        self._secrets: dict[str, Secret] = {}
        self._headers: dict[str, Secret] = {}

    async def open(self, changed: Callable[[], None]) -> None:
        """See `Source`. The document is read once; it never changes by itself."""
        await self.close()
        self._secrets = secrets_from(self._settings.credentials, os.environ)
        self._headers = secrets_from(self._settings.headers, os.environ)
        self._transport = PinnedTransport(allow="private" if self._settings.private else "none")
        self._document = await self._read()

    async def tools(self) -> Sequence[Tool]:
        """See `Source`. What cannot be a tool is in `notes`."""
        notes: list[str] = []
        usable: list[Operation] = []
        for one in read_operations(self._document):
            if isinstance(one, Unusable):
                notes.append(f"{one.method.upper()} {one.path}: {one.why}")
            else:
                usable.append(one)
        found: list[Tool] = []
        names = tool_names(self.name, [(one.id, one.method, one.path) for one in usable])
        for one, name in zip(usable, names, strict=True):
            if not self._wanted(one, name):
                continue
            try:
                found.append(self._tool(one, name))
            except (UnusableError, SpecError) as error:
                notes.append(f"{one.method.upper()} {one.path}: {error}")
        self.notes = tuple(notes)
        return found

    async def close(self) -> None:
        """See `Source`."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _read(self) -> Document:
        where = self._settings.document
        url = where if "://" in where else ""
        data = await self._fetched(url) if url else await asyncio.to_thread(read_file, self._folder / where)
        root, version = await asyncio.to_thread(parse, data, where)
        return Document(as_three(root) if version == "2.0" else root, version, url)

    async def _fetched(self, url: str) -> bytes:
        assert self._transport is not None
        asked = Prepared(method="GET", url=url, headers=(), cookies=(), content=None)
        try:
            answer = await send(self._transport, asked, read_only=True, timeout_s=DOCUMENT_S)
        except HandlerError as error:
            raise SourceError(f"the document could not be fetched: {error}") from None
        if answer.status != 200 or answer.incomplete:
            raise SourceError(f"the document could not be fetched: {_why(answer)}")
        return answer.body

    def _wanted(self, operation: Operation, name: str) -> bool:
        known = (operation.id, name, f"{operation.method.upper()} {operation.path}")
        include, exclude = self._settings.include, self._settings.exclude
        return (not include or _fits(known, include)) and not _fits(known, exclude)

    def _tool(self, operation: Operation, name: str) -> Tool:
        server = server_of(operation.servers, document_url=self._document.url, given=self._settings.url)
        credentials = self._credentials(operation)
        if credentials and server.startswith("http:") and not self._settings.private:
            raise UnusableError("its server has no TLS, so no credentials are sent there; set url to https://...")
        operation = replace(operation, parameters=without_credentials(operation.parameters, credentials))
        known = (operation.id, name, f"{operation.method.upper()} {operation.path}")
        read_only = operation.method in READS or _fits(known, self._settings.read_only)
        spec = contract_of(
            self._document,
            operation,
            name=name,
            source=self.name,
            server=server,
            credentials=credentials,
            settings=self._settings,
            read_only=read_only,
        )

        async def call(context: CallContext, json: str) -> Output:
            return await self._call(operation, server, credentials, _object(json), read_only)

        return raw_tool(spec, call)

    def _credentials(self, operation: Operation) -> tuple[Credential, ...]:
        """What goes with each request: what the operation asks for, and the project's own headers."""
        own = tuple(
            Credential(scheme=header, place="header", name=header, value=value)
            for header, value in self._headers.items()
        )
        try:
            return (*credentials_for(self._document, operation.security, self._secrets), *own)
        except UnusableError:
            if own:  # they may be what it asks for, in another form
                return own
            raise

    async def _call(
        self,
        operation: Operation,
        server: str,
        credentials: Sequence[Credential],
        arguments: dict[str, Any],
        read_only: bool,
    ) -> Output:
        transport = self._transport
        if transport is None:
            raise BusinessError(f"The source {self.name} is closed.")
        request = with_credentials(prepare(self._document, operation, server, arguments), credentials)
        answer = await send(transport, request, read_only=read_only, timeout_s=self._settings.timeout_s)
        return read_answer(answer, read_only=read_only, host=urlsplit(server).hostname or "")


def _fits(known: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(one, pattern) for one in known if one for pattern in patterns)


def _object(written: str) -> dict[str, Any]:
    return json.loads(written or "{}")


def _why(answer: Answer) -> str:
    if 300 <= answer.status < 400:
        place = urlsplit(answer.headers.get("location", ""))
        return f"it is elsewhere ({place.scheme}://{place.hostname or ''}{place.path}); write that URL"
    return answer.incomplete or f"the answer is {answer.status}"

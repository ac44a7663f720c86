"""An operation and arguments become a request. Pure: nothing is sent here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from ...errors import BusinessError
from . import styles
from .bodies import Content, content_of
from .document import Document
from .operations import PLACEHOLDER, Operation, Parameter, split_path
from .security import Credential

_PATH_SAFE = "/!$&'()*+,;=:@-._~%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request, but for the secrets in it."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    cookies: tuple[str, ...]
    content: Content | None


def prepare(document: Document, operation: Operation, server: str, arguments: dict[str, Any]) -> Prepared:
    """The request of a call, without credentials.

    Raises:
        BusinessError: An argument cannot be sent.
    """
    given = [(one, arguments[one.argument]) for one in operation.parameters if one.argument in arguments]
    path, fixed = split_path(operation.path)
    query = [part for one, value in given if one.place == "query" for part in styles.query(one, value)]
    query = [quote(fixed, safe=_PATH_SAFE), *query] if fixed else query
    body = operation.body
    content = None
    if body is not None and body.argument in arguments:
        content = content_of(document, body, arguments[body.argument])
    return Prepared(
        method=operation.method.upper(),
        url=server + _path(path, given) + ("?" + "&".join(query) if query else ""),
        headers=tuple((one.name, styles.header(one, value)) for one, value in given if one.place == "header"),
        cookies=tuple(part for one, value in given if one.place == "cookie" for part in styles.cookie(one, value)),
        content=content,
    )


def _path(path: str, given: Sequence[tuple[Parameter, Any]]) -> str:
    values = {one.name: styles.segment(one, value) for one, value in given if one.place == "path"}
    segments: list[str] = []
    for template in path.split("/"):
        written, end = "", 0
        for found in PLACEHOLDER.finditer(template):
            if found[1] not in values:
                raise BusinessError(f"{found[1]} is missing: the path is made of it")
            written += quote(template[end : found.start()], safe=_PATH_SAFE) + values[found[1]]
            end = found.end()
        written += quote(template[end:], safe=_PATH_SAFE)
        if end and unquote(written) in (".", "..", ""):
            raise BusinessError("the arguments lead to another path")
        segments.append(written)
    return "/".join(segments)


def with_credentials(prepared: Prepared, credentials: Sequence[Credential]) -> Prepared:
    """The request with the secrets in it: not to be shown.

    Raises:
        BusinessError: An argument would stand where a credential does.
    """
    url, headers, cookies = prepared.url, list(prepared.headers), list(prepared.cookies)
    for one in credentials:
        name, value = one.name, one.value.reveal()
        if one.place == "header":
            headers = [(key, old) for key, old in headers if key.lower() != name.lower()]
            headers.append((name, value))
            continue
        part = f"{quote(name, safe='')}={quote(value, safe='')}"
        written = cookies if one.place == "cookie" else url.partition("?")[2].split("&")
        if any(unquote(old.partition("=")[0]) == name for old in written):
            raise BusinessError(f"{name} is not yours to set")
        if one.place == "cookie":
            cookies.append(part)
        else:
            url += ("&" if "?" in url else "?") + part
    return Prepared(
        method=prepared.method, url=url, headers=tuple(headers), cookies=tuple(cookies), content=prepared.content
    )

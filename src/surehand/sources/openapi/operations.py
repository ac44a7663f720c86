"""Operations of a description, as far as they can be called: where each parameter goes and what the body is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from .document import Document, UnusableError
from .naming import argument_names
from .plain import Node, items, node, text

Place: TypeAlias = Literal["path", "query", "header", "cookie"]

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
PLACEHOLDER: Final = re.compile(r"\{([^{}/]+)\}")
_STYLES: Final[dict[Place, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_NOT_OURS: Final = {
    "accept", "authorization", "connection", "content-length", "content-type", "cookie", "expect", "host", "keep-alive",
    "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that no parameter sets: the specification says so of three, HTTP needs the others for itself."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter, and the argument that the model writes for it."""

    name: str
    place: Place
    argument: str
    schema: Any
    required: bool = False
    description: str = ""
    style: str = "form"
    explode: bool = True
    reserved: bool = False
    """Whether characters that URLs reserve stay as they are."""
    json: bool = False
    """Whether the value is written as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent, and the argument that the model writes for it."""

    argument: str
    media: str
    schema: Any
    encoding: Node
    required: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation."""

    id: str
    method: str
    """In small letters."""
    path: str
    """As the description writes it, with `{placeholders}`."""
    description: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    servers: Sequence[Any]
    security: Sequence[Any]
    """Alternatives; each names the schemes that are needed together."""
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Unusable:
    """An operation that cannot be called."""

    id: str
    method: str
    path: str
    why: str


def read_operations(document: Document) -> Iterator[Operation | Unusable]:
    """All operations, in the order of the description."""
    for path, item in node(document.root.get("paths")).items():
        if path.startswith("x-"):
            continue
        try:
            found = document.follow(item)
        except UnusableError as error:
            yield Unusable("", "any", path, str(error))
            continue
        for method in METHODS:
            if isinstance(found.get(method), dict):
                yield _operation(document, path, method, found)


def _operation(document: Document, path: str, method: str, item: Node) -> Operation | Unusable:
    given = node(item[method])
    operation_id = text(given.get("operationId"))
    try:
        if not path.startswith("/"):
            raise UnusableError("its path does not begin with a slash")
        if PLACEHOLDER.search(split_path(path)[1]):
            raise UnusableError("its path has a query with placeholders; describe them as parameters")
        body = _body(document, given)
        parameters = _parameters(document, path, [*items(item.get("parameters")), *items(given.get("parameters"))])
        names = argument_names([(one.name, one.place) for one in parameters], body.argument if body else "")
    except UnusableError as error:
        return Unusable(operation_id, method, path, str(error))
    told = _told(given) or _told(item)
    return Operation(
        id=operation_id,
        method=method,
        path=path,
        description=told,
        parameters=tuple(_named(one, name) for one, name in zip(parameters, names, strict=True)),
        body=body,
        servers=items(given.get("servers")) or items(item.get("servers")) or items(document.root.get("servers")),
        security=items(given["security"]) if "security" in given else items(document.root.get("security")),
        deprecated=given.get("deprecated") is True,
    )


def split_path(path: str) -> tuple[str, str]:
    """The path itself, and the fixed query that some descriptions write behind it; a fragment only tells them apart."""
    itself, _, query = path.partition("#")[0].partition("?")
    return itself, query


def _told(given: Node) -> str:
    parts = (text(given.get("summary")).strip(), text(given.get("description")).strip())
    return "\n\n".join(dict.fromkeys(part for part in parts if part))


def _named(parameter: Parameter, argument: str) -> Parameter:
    return replace(parameter, argument=argument)


def _parameters(document: Document, path: str, given: Sequence[Any]) -> list[Parameter]:
    """Those of the path's item and the operation's, which replace them; and placeholders that none is declared for."""
    found: dict[tuple[str, str], Parameter] = {}
    placeholders = dict.fromkeys(PLACEHOLDER.findall(split_path(path)[0]))
    for one in given:
        declared = document.follow(one)
        parameter = _parameter(document, declared)
        if parameter is None or (parameter.place == "path" and parameter.name not in placeholders):
            continue
        found[parameter.place, parameter.name] = parameter
    for name in placeholders:
        if ("path", name) not in found:
            found["path", name] = _of_path(name)
    return list(found.values())


def _of_path(name: str) -> Parameter:
    return Parameter(
        name=name, place="path", argument="", schema={"type": "string"}, required=True, style="simple", explode=False
    )


def _parameter(document: Document, given: Node) -> Parameter | None:
    name, place = text(given.get("name")), given.get("in")
    if not name or place not in _STYLES:
        raise UnusableError(f"it has a parameter {name!r:.80} in {place!r:.80}")
    if place == "header" and name.lower() in _NOT_OURS:
        return None
    if place in ("header", "cookie") and not _TOKEN.fullmatch(name):
        raise UnusableError(f"the name of its {place} parameter {name!r:.80} cannot be sent")
    content = node(given.get("content"))
    media, inside = next(iter(content.items()), ("", None))
    style = text(given.get("style")) or _STYLES[place][0]
    if style not in _STYLES[place]:
        raise UnusableError(f"its {place} parameter {name!r:.80} has the unknown style {style!r:.40}")
    return Parameter(
        name=name,
        place=place,
        argument="",
        schema=node(inside).get("schema", {}) if content else given.get("schema", {}),
        required=place == "path" or given.get("required") is True,
        description=text(given.get("description")),
        style=style,
        explode=given["explode"] if isinstance(given.get("explode"), bool) else style == "form",
        reserved=given.get("allowReserved") is True,
        json="json" in media,
    )


def _body(document: Document, given: Node) -> Body | None:
    if "requestBody" not in given:
        return None
    declared = document.follow(given["requestBody"])
    content = {media.strip(): one for media, one in node(declared.get("content")).items()}
    if not content:
        return None
    media = min(content, key=_preference)
    chosen = document.follow(content[media])
    return Body(
        argument="body",
        media="application/json" if "*" in media and not media.startswith("text/") else media.replace("*", "plain"),
        schema=chosen.get("schema", {}),
        encoding=node(chosen.get("encoding")),
        required=declared.get("required") is True,
        description=text(declared.get("description")),
    )


def _preference(media: str) -> int:
    """Which kind of body models write best."""
    kind = media.partition(";")[0].strip().lower()
    for rank, fits in enumerate((is_json, is_form, is_multipart, _is_any, is_text)):
        if fits(kind):
            return rank
    return 9


def _is_any(media: str) -> bool:
    return media == "*/*"


def is_json(media: str) -> bool:
    """Whether a body of this media type is JSON."""
    kind = media.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def is_form(media: str) -> bool:
    """Whether it is a form in one line."""
    return media.lower().startswith("application/x-www-form-urlencoded")


def is_multipart(media: str) -> bool:
    """Whether it is a form in parts."""
    return media.lower().startswith("multipart/form-data")


def is_text(media: str) -> bool:
    """Whether it is text, XML included."""
    kind = media.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in ("application/xml", "application/yaml") or kind.endswith("+xml")

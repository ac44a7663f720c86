"""A description of version 2.0 in the form of 3.0, so that the rest knows one form. Schemas stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .document import Document, UnusableError
from .plain import Node, items, node, text

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_KEPT: Final = ("name", "in", "description", "required", "deprecated")
_FORMS: Final = ("multipart/form-data", "application/x-www-form-urlencoded")
_STYLES: Final[dict[str, tuple[str, bool]]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
    "tsv": ("tabDelimited", False),
}
_FLOWS: Final = {"implicit", "password", "application", "accessCode"}


def as_three(root: Node) -> Node:
    """The description with `paths`, `servers` and `components.securitySchemes` as 3.0 has them."""
    document = Document(root, "2.0")
    paths = {path: _path(document, item) for path, item in node(root.get("paths")).items()}
    schemes = {name: _scheme(node(one)) for name, one in node(root.get("securityDefinitions")).items()}
    return {**root, "paths": paths, "servers": _servers(root), "components": {"securitySchemes": schemes}}


def _servers(root: Node) -> list[Node]:
    host, base = text(root.get("host")), text(root.get("basePath")) or "/"
    if not host:
        return [{"url": base}]
    schemes = [one for one in items(root.get("schemes")) if one in ("https", "http")]
    ordered = sorted(schemes, key=lambda one: one != "https") or [""]
    return [{"url": f"{scheme}://{host}{base}" if scheme else f"//{host}{base}"} for scheme in ordered]


def _path(document: Document, item: object) -> Node:
    try:
        found = document.follow(item)
    except UnusableError:
        return node(item)
    shared = items(found.get("parameters"))
    return {
        method: _operation(document, node(operation), shared)
        for method, operation in found.items()
        if method in _METHODS
    }


def _operation(document: Document, operation: Node, shared: Any) -> Node:
    """An operation; one with a parameter that cannot be read keeps it, for the reader of 3.0 to refuse."""
    given: dict[tuple[str, str], Node] = {}
    for one in (*shared, *items(operation.get("parameters"))):
        try:
            found = document.follow(one)
        except UnusableError:
            found = node(one)
        given[text(found.get("in")), text(found.get("name")) or str(found.get("$ref"))] = found
    parameters = list(given.values())
    fields = [one for one in parameters if one.get("in") == "formData"]
    bodies = [one for one in parameters if one.get("in") == "body"]
    consumes = [one for one in items(operation.get("consumes", document.root.get("consumes"))) if isinstance(one, str)]
    made: Node = {key: value for key, value in operation.items() if key not in ("parameters", "consumes", "schemes")}
    made["parameters"] = [_parameter(one) for one in parameters if one.get("in") not in ("body", "formData")]
    if fields:
        made["requestBody"] = _form(fields, consumes)
    elif bodies:
        media = consumes or ["application/json"]
        made["requestBody"] = {
            "description": text(bodies[0].get("description")),
            "required": bodies[0].get("required") is True,
            "content": {one: {"schema": bodies[0].get("schema", {})} for one in media},
        }
    return made


def _parameter(given: Node) -> Node:
    if "$ref" in given:
        return given
    style, explode = _STYLES.get(text(given.get("collectionFormat")), ("", False))
    if given.get("in") in ("path", "header"):
        style = "simple"
    return {
        **{key: given[key] for key in _KEPT if key in given},
        "schema": _schema(given),
        "style": style or "form",
        "explode": explode,
        "allowEmptyValue": given.get("allowEmptyValue") is True,
    }


def _schema(given: Node) -> Node:
    return {key: value for key, value in given.items() if key not in (*_KEPT, "collectionFormat", "allowEmptyValue")}


def _form(fields: list[Node], consumes: list[str]) -> Node:
    files = any(one.get("type") == "file" for one in fields)
    media = next((one for one in consumes if one in _FORMS and (not files or one == _FORMS[0])), "")
    media = media or _FORMS[0 if files else 1]
    properties = {
        text(one.get("name")): {**_schema(one), "description": text(one.get("description"))} for one in fields
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [text(one.get("name")) for one in fields if one.get("required") is True],
    }
    encoding = dict(_encodings(fields))
    return {"required": bool(schema["required"]), "content": {media: {"schema": schema, "encoding": encoding}}}


def _encodings(fields: list[Node]) -> Iterator[tuple[str, Node]]:
    for one in fields:
        if one.get("type") == "array":
            style, explode = _STYLES.get(text(one.get("collectionFormat")), ("form", False))
            yield text(one.get("name")), {"style": style, "explode": explode}


def _scheme(given: Node) -> Node:
    if given.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if given.get("type") == "oauth2" and given.get("flow") in _FLOWS:
        return {"type": "oauth2"}
    return given

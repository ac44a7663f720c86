"""The contract of an operation: what the model reads of it, and what it may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...spec import ToolSpec
from ...types import Risk
from ..settings import SourceSettings
from .document import Document
from .operations import Body, Operation, Parameter, is_json, is_multipart, is_text
from .plain import Node, node, text
from .schemas import DEFS, Schemas, is_binary
from .security import Credential
from .servers import host_of

READS: Final = ("get", "head")
MAX_DESCRIPTION_CHARS: Final = 4000


def contract_of(
    document: Document,
    operation: Operation,
    *,
    name: str,
    source: str,
    server: str,
    credentials: Sequence[Credential],
    settings: SourceSettings,
    read_only: bool,
) -> ToolSpec:
    """The contract of an operation. A credential's place is nobody's argument.

    Raises:
        SpecError: It cannot be a tool.
        UnusableError: A schema refers to what is not there.
    """
    return ToolSpec(
        name=name,
        description=_description(operation, source),
        parameters=_parameters(document, operation),
        read_only=read_only,
        risk=risk_of(operation.method, read_only=read_only),
        permissions=settings.permissions,
        timeout_s=settings.timeout_s,
        source="openapi",
        target=f"{operation.method.upper()} {server}{operation.path}",
        upstream=host_of(server),
        credential=" ".join(sorted({one.scheme for one in credentials})),
        tags=("deprecated",) if operation.deprecated else (),
    )


def risk_of(method: str, *, read_only: bool) -> Risk:
    """By what HTTP says of a method, and who runs the source of the operation."""
    if read_only:
        return "low"
    return "high" if method == "delete" else "medium"


def without_credentials(parameters: Sequence[Parameter], credentials: Sequence[Credential]) -> tuple[Parameter, ...]:
    """Those that stand where no credential does."""
    taken = {(one.place, _key(one.place, one.name)) for one in credentials}
    return tuple(one for one in parameters if (one.place, _key(one.place, one.name)) not in taken)


def _key(place: str, name: str) -> str:
    return name.lower() if place == "header" else name


def _description(operation: Operation, source: str) -> str:
    told = operation.description or f"{operation.method.upper()} {operation.path}"
    return f"[OpenAPI:{source}] {told}"[:MAX_DESCRIPTION_CHARS]


def _parameters(document: Document, operation: Operation) -> Node:
    schemas = Schemas(document)
    properties: Node = {}
    for one in operation.parameters:
        properties[one.argument] = _described(schemas.convert(one.schema), one.description)
    required = [one.argument for one in operation.parameters if one.required]
    body = operation.body
    if body is not None:
        properties[body.argument] = _described(_body(document, schemas, body), body.description)
        required += [body.argument] if body.required else []
    made: Node = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        made["required"] = required
    if schemas.defs:
        made[DEFS] = schemas.defs
    return made


def _body(document: Document, schemas: Schemas, body: Body) -> Any:
    if is_multipart(body.media) or is_json(body.media):
        return schemas.convert(body.schema)
    if is_text(body.media):
        text_schema = document.follow(body.schema)
        if text_schema.get("type") == "string":
            return schemas.convert(body.schema)
        return {"type": "string", "description": f"The whole text, as {body.media}."}
    if body.media.startswith("application/x-www-form-urlencoded"):
        return schemas.convert(body.schema)
    plain = {} if is_binary(document, body.schema) else node(schemas.convert(body.schema))
    told = text(plain.get("description")) or f"The bytes of a file, as {body.media}"
    return {"type": "string", "contentEncoding": "base64", "description": f"{told} (base64)"}


def _described(schema: Any, description: str) -> Any:
    """A schema with what is said of its place, where it says nothing itself."""
    if not description:
        return schema
    if schema is True:
        return {"description": description}
    if schema is False:
        return schema
    return schema if text(node(schema).get("description")) else {**schema, "description": description}

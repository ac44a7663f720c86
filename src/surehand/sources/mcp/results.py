"""What a server answered, as a result: every kind of content, and errors in the server's own words."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, assert_never

from ...errors import BusinessError
from ...types import Attachment, Output

if TYPE_CHECKING:
    import mcp_types as types

_MAX_ERROR_CHARS: Final = 4_000
_MAX_NAME_CHARS: Final = 300


def read_result(result: types.CallToolResult, clean: Callable[[str], str]) -> Output:
    """The result of a call.

    Args:
        result: As the server gave it.
        clean: Takes the source's own secrets out of a text.

    Raises:
        BusinessError: The server says that the call failed; the text is the server's. The output schema says nothing
            about such a result.
    """
    texts, attachments = _read(result.content)
    text = clean("\n".join(texts))
    structured = _cleaned(result.structured_content, clean)
    if result.is_error:
        details: dict[str, Any] = {} if structured is None else {"structured": structured}
        raise BusinessError(text[:_MAX_ERROR_CHARS] or "The tool failed and did not say why.", details=details)
    if not texts and structured is not None:
        return Output(structured=structured, attachments=attachments)
    return Output(text=text, structured=structured, attachments=attachments)


def _read(content: Iterable[types.ContentBlock]) -> tuple[list[str], tuple[Attachment, ...]]:
    texts: list[str] = []
    attachments: list[Attachment] = []
    for block in content:
        read = _block(block)
        if isinstance(read, str):
            texts.append(read)
        else:
            attachments.append(read)
    return texts, tuple(attachments)


def _block(block: types.ContentBlock) -> str | Attachment:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _bytes(block.data, block.mime_type, block.type)
        case "resource":
            return _resource(block.resource)
        case "resource_link":
            what = f"{block.name[:_MAX_NAME_CHARS]}: {block.uri[:_MAX_NAME_CHARS]}"
            return f"[resource {what}{f' ({block.mime_type})' if block.mime_type else ''}]"
    assert_never(block)


def _resource(resource: types.TextResourceContents | types.BlobResourceContents) -> str | Attachment:
    import mcp_types as types

    if isinstance(resource, types.TextResourceContents):
        return f"[resource {resource.uri[:_MAX_NAME_CHARS]}]\n{resource.text}"
    return _bytes(resource.blob, resource.mime_type or "application/octet-stream", "resource")


def _bytes(data: str, media_type: str, kind: str) -> str | Attachment:
    try:
        return Attachment(body=base64.b64decode(data, validate=True), media_type=media_type)
    except (binascii.Error, ValueError):
        return f"[{kind} that cannot be read: its data is not base64]"


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(item, clean) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value

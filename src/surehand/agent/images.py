"""Images of results, fetched for the request that shows them: a stored run keeps only where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ..engine import Engine
from ..errors import NotFoundError
from ..providers import CallResult, Media, Message, ResultMessage
from ..types import Caller

REQUEST_BYTES: Final = 8 * 1024 * 1024
"""Of images in one request; older ones are only told of. The providers' own bounds are 20 to 32 MB, as base64."""


async def with_images(engine: Engine, by: Caller, messages: Sequence[Message]) -> list[Message]:
    """The conversation with the bytes of its images, the newest first, as far as a request may hold them."""
    left = REQUEST_BYTES
    found: list[Message] = []
    for message in reversed(messages):
        if isinstance(message, ResultMessage) and any(result.media for result in message.results):
            results: list[CallResult] = []
            for result in message.results:
                media = [await _fetched(engine, by, one, left) for one in result.media]
                left -= sum(len(one.data) for one in media)
                results.append(msgspec.structs.replace(result, media=tuple(media)))
            message = ResultMessage(results=tuple(results))
        found.append(message)
    return found[::-1]


async def _fetched(engine: Engine, by: Caller, media: Media, left: int) -> Media:
    if media.data or not media.artifact_id:
        return media
    try:
        artifact, data = await engine.artifacts.get(media.artifact_id, by=by)
    except NotFoundError:
        return media
    return msgspec.structs.replace(media, data=data) if artifact.size_bytes <= left else media

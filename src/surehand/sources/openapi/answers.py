"""What an API answered, as a tool's output or as an error with a meaning."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx2

from ...errors import BusinessError, OutcomeUnknown, Unavailable
from ...types import Attachment, Output
from .calling import Answer
from .operations import is_json, is_text

MAX_SAID_CHARS: Final = 2000
"""Of the body of an error."""
_MAX_NEXT_CHARS: Final = 500
_AGAIN: Final = (502, 503, 504)
"""Said by what stands before an API, when it is not there."""
_NOT_DONE: Final = (501, 505, 511)
"""Errors of a server that say that it did not begin."""


def read_answer(answer: Answer, *, read_only: bool, host: str) -> Output:
    """A tool's output.

    A refusal (4xx) is the far side's last word. What a server says when it failed (5xx), or where else to look after
    an effect (3xx), does not say whether the effect happened.

    Raises:
        BusinessError: It said no; or it cannot be read.
        Unavailable: It is not there now.
        OutcomeUnknown: It failed, and may have had its effect.
    """
    status = answer.status
    if 200 <= status < 300:
        return _output(answer, read_only=read_only)
    if read_only and status in _AGAIN:
        raise Unavailable(f"{host} answered {status}")
    if not read_only and _may_be_done(answer):
        raise OutcomeUnknown(f"{host} answered {status}")
    if 300 <= status < 400:
        raise BusinessError(
            f"The API answered {status}: it is elsewhere, and redirects are not followed.", details={"status": status}
        )
    said = _text(answer).strip()[:MAX_SAID_CHARS]
    details: dict[str, Any] = {"status": status}
    if after := answer.headers.get("retry-after", ""):
        details["retry_after"] = after[:100]
    raise BusinessError(f"The API answered {status}" + (f": {said}" if said else "."), details=details)


def _may_be_done(answer: Answer) -> bool:
    status = answer.status
    if status == 503:  # proxies say it too when a connection breaks; only an API itself says when to come again
        return "retry-after" not in answer.headers
    return (status >= 500 and status not in _NOT_DONE) or status in (301, 302, 303)


def _output(answer: Answer, *, read_only: bool) -> Output:
    if answer.incomplete:
        if read_only:
            raise BusinessError(
                f"The API answered {answer.status}, but its answer cannot be used: {answer.incomplete}."
            )
        return Output(
            text=f"The API answered {answer.status}: it is done. What it said is not known: {answer.incomplete}."
        )
    media = answer.headers.get("content-type", "").strip()
    if not answer.body:
        return Output(text=f"Done ({answer.status}).{_hints(answer)}")
    if is_json(media):
        try:
            return _structured(json.loads(answer.body), answer)
        except (ValueError, RecursionError):
            return Output(text=_text(answer) + _hints(answer))
    if is_text(media) or (not media and _is_utf8(answer.body)):
        return Output(text=_text(answer) + _hints(answer))
    told = f"The API gave a file of {len(answer.body)} bytes.{_hints(answer)}"
    return Output(text=told, attachments=(Attachment(body=answer.body, media_type=media),))


def _structured(value: Any, answer: Answer) -> Output:
    hints = _hints(answer)
    if not hints and not isinstance(value, str):
        return Output(structured=value)
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Output(text=said + hints, structured=value)


def _hints(answer: Answer) -> str:
    """What only the headers say: where a new thing is, and how to ask for the next page."""
    hints: list[str] = []
    if answer.status in (201, 202) and (place := answer.headers.get("location", "")):
        hints.append(f"It is at {_relative(place)}.")
    following = httpx2.Response(200, headers={"link": answer.headers.get("link", "")}).links.get("next", {}).get("url")
    if following:
        asked = ", ".join(f"{name}={value}" for name, value in parse_qsl(urlsplit(following).query))
        hints.append(f"There is a next page: ask with {asked or _relative(following)}."[:_MAX_NEXT_CHARS])
    return "".join(f"\n{hint}" for hint in hints)


def _relative(url: str) -> str:
    parts = urlsplit(url)
    return parts.path[:_MAX_NEXT_CHARS]


def _text(answer: Answer) -> str:
    media = answer.headers.get("content-type", "").lower()
    if media and not is_json(media) and not is_text(media) and not _is_utf8(answer.body):
        return f"({len(answer.body)} bytes of {media:.80})"
    charset = httpx2.Response(200, headers={"content-type": media}).charset_encoding or "utf-8"
    try:
        return answer.body.decode(charset, "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")


def _is_utf8(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False

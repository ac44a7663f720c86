"""Models whose answers are written by hand, whatever a provider may send."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import surehand as sh


class Raw:
    """Gives answers, or raises them, one by one; keeps the requests."""

    name = "raw"

    def __init__(self, *answers: Any, dialect: str = "openai-chat") -> None:
        self.dialect = dialect
        self.answers = list(answers)
        self.requests: list[Mapping[str, Any]] = []

    async def complete(self, request: Mapping[str, Any]) -> Any:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        self.requests.append(request)
        for event in self.answers.pop(0):
            yield event


def said(text: str | None = None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer of Chat Completions."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], **more}


def asked(arguments: str, *, name: str = "pay", id: str = "c1") -> dict[str, Any]:
    """A call of Chat Completions."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def paying(no: int, amount: int = 500, **more: Any) -> dict[str, Any]:
    """A call of the payment."""
    return asked(f'{{"to":"bob","no":{no},"amount":{amount}}}', **more)


async def drive(engine: sh.Engine, model: Any, caller: sh.Caller, **options: Any) -> list[sh.RunEvent]:
    """All events of a run, of which nothing is streamed."""
    options = {"stream": False, **options}
    return [event async for event in sh.run(engine, model=model, caller=caller, **options)]

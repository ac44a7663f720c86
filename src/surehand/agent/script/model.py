"""`ScriptedModel`: plays a script, and fails on a request that the script does not foresee."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from ...errors import ConfigError
from ..clients.sdk import passes_with_time
from ..model import ModelFailure
from . import anthropic, openai_chat
from .step import ScriptError, Seen, Step, as_step, read_script
from .wire import Wire

Dialects: TypeAlias = Literal["openai-chat", "anthropic"]
"""What a script can speak."""
StepLike: TypeAlias = Step | Mapping[str, Any] | str
"""A step, its fields as in a file, or only its text."""

_WIRES: dict[str, Wire] = {"openai-chat": openai_chat, "anthropic": anthropic}


class ScriptedModel:
    r"""A model that says what its script says, one step for each request. No network.

        model = ScriptedModel([
            {"calls": [{"name": "find_order", "arguments": {"order_id": "A1"}}]},
            {"fail": 500},
            {"expect": {"results": ["A1"]}, "text": "It is on its way."},
        ])

    A step is a `Step`, its fields as a mapping, a string (its text), or a function that gets what the request holds
    (`Seen`) and returns one of these; it may raise. A request that comes after the last step, or that does not hold
    what its step expects, raises `ScriptError`, then and at every later request; `assert_done` raises it once more,
    and when steps were not played.

    **A script file** is JSON with these fields, of which only `steps` must be there:

        {
          "dialect": "openai-chat",                    what is spoken: that or "anthropic"
          "name": "script",                            the model's name
          "steps": [
            {
              "expect": {                              all optional; texts are contained, and case counts
                "user": "refund",                      in the last user message
                "results": ["shipped", "denied"],      in each result of the last answer's calls, in order;
                                                       a single text instead of a list: in any of them
                "tools": ["find_order", "refund"],     exactly the tools offered, in any order
                "has_tools": [...], "lacks_tools": [...],
                "messages": 4                          how many the provider counts
              },
              "text": "Let me look.",
              "calls": [
                {"name": "find_order", "arguments": {"order_id": "A1"}},
                {"name": "refund", "arguments": "{\"order_id\": \"A1", "id": "c7"}
              ],                                       arguments are an object or the exact text, broken or not
              "refusal": "...",                        the model refuses
              "finish": "length",                      the provider's word for why it stopped; else what fits
              "usage": {"input_tokens": 120, "output_tokens": 30},
              "break_after": 3                         the stream breaks off after three events
            },
            {"fail": 500},                             a status from 400 to 599, "connection" or "timeout"
            {"raw": {...}},                            a whole answer of the dialect, exactly
            {"text": "Done."}
          ]
        }

    Args:
        steps: What to play, in order.
        dialect: What is spoken: `openai-chat` or `anthropic`.
        name: The model's name.
        chunk_chars: How finely a streamed answer is cut.
        catch_up: For a run that another process began: before its first step, the script skips as many answers as the
            first request holds already. Those count as played.

    Attributes:
        requests: All that it was sent, in order.
    """

    def __init__(
        self,
        steps: Iterable[StepLike | Callable[[Seen], StepLike]],
        *,
        dialect: str = "openai-chat",
        name: str = "script",
        chunk_chars: int = 5,
        catch_up: bool = False,
    ) -> None:
        if dialect not in _WIRES:
            raise ConfigError(f"a script speaks {' or '.join(_WIRES)}, not {dialect!r}")
        if chunk_chars < 1:
            raise ConfigError("chunk_chars must be at least 1")
        self.dialect = dialect
        self.name = name
        self.requests: list[Mapping[str, Any]] = []
        self._steps = [step if callable(step) else as_step(step, f"step {n}") for n, step in enumerate(steps, 1)]
        self._wire = _WIRES[dialect]
        self._chars = chunk_chars
        self._catch_up = catch_up
        self._played = 0
        self._problem = ""

    @classmethod
    def from_file(
        cls, path: str | Path, *, dialect: str | None = None, chunk_chars: int = 5, catch_up: bool = False
    ) -> Self:
        """Reads the script from a file; `dialect` wins over what the file says.

        Raises:
            ConfigError: It cannot be read, or is not a script; the message says where.
        """
        script = read_script(Path(path))
        return cls(
            script.steps,
            dialect=dialect or script.dialect,
            name=script.name,
            chunk_chars=chunk_chars,
            catch_up=catch_up,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, step {self._played} of {len(self._steps)})"

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The next step's answer.

        Raises:
            ModelFailure: The step is a failure.
            ScriptError: The request was not foreseen.
        """
        step, number = self._next(request)
        if step.break_after is not None:
            raise _broken()
        return self._wire.whole(step, number, self.name)

    async def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The next step's answer, as events.

        Raises:
            ModelFailure: The step is a failure, or breaks off.
            ScriptError: The request was not foreseen.
        """
        step, number = self._next(request)
        for count, event in enumerate(self._wire.events(step, number, self.name, self._chars)):
            if count == step.break_after:
                break
            yield event
        if step.break_after is not None:
            raise _broken()

    def assert_done(self) -> None:
        """Checks that every request was foreseen and every step played.

        Raises:
            ScriptError: It was not so.
        """
        if self._problem:
            raise ScriptError(self._problem)
        left = self._steps[self._played :]
        if left:
            what = "; ".join("a function" if callable(step) else str(step) for step in left)
            raise ScriptError(f"{self.name}: {len(left)} of {len(self._steps)} steps were not played: {what}")

    def _next(self, request: Mapping[str, Any]) -> tuple[Step, int]:
        """The next step, if it is an answer to this request."""
        self.requests.append(request)
        if self._problem:
            raise ScriptError(self._problem)
        seen = self._wire.seen(request)
        if self._catch_up and len(self.requests) == 1:
            self._skip(seen.turns)
        if self._played == len(self._steps):
            raise self._unforeseen(f"the script ended after {self._played} steps, but the model was asked again", seen)
        step, number = self._steps[self._played], self._played + 1
        self._played = number
        if callable(step):
            try:
                step = as_step(step(seen), f"step {number}")
            except Exception as error:
                self._problem = f"{self.name}, step {number}: {error}"
                raise
        unmet = step.expect and seen.unmet(step.expect)
        if unmet:
            raise self._unforeseen(f"step {number}: {unmet}", seen)
        if step.fail is not None:
            raise _failure(step.fail)
        return step, number

    def _skip(self, answers: int) -> None:
        for at, step in enumerate(self._steps):
            if answers == 0:
                break
            answers -= callable(step) or step.speaks
            self._played = at + 1

    def _unforeseen(self, problem: str, seen: Seen) -> ScriptError:
        latest = f" The last results: {list(seen.results)}." if seen.results and "results" not in problem else ""
        self._problem = f"{self.name}, {problem}.{latest}"
        return ScriptError(self._problem)


def _failure(fail: int | str) -> ModelFailure:
    if isinstance(fail, str):
        return ModelFailure(f"the script fails with {fail}", retryable=True)
    return ModelFailure(f"the script fails with status {fail}", retryable=passes_with_time(fail))


def _broken() -> ModelFailure:
    return ModelFailure("the script breaks off here", retryable=True)

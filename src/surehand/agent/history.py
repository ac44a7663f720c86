"""What a run has come to: pure, rebuilt from what is stored. A resumed run counts like one that never stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ..call import ToolCall, ToolResult
from ..providers import CallResult, Message, ModelTurn, ResultMessage
from ..spec.hashes import content_hash
from .bounds import Bounds, Reason


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of one answer of the model."""

    model: ModelTurn
    pins: dict[str, str]
    """Name -> version of every tool that the model was shown in this turn."""


@dataclass(slots=True)
class Turn:
    """One answer and the results of its calls so far, by position."""

    answer: Answer
    view_digest: str
    results: list[ToolResult | None]

    @property
    def open(self) -> list[int]:
        """Positions without a final result."""
        return [i for i, one in enumerate(self.results) if one is None or one.status == "pending"]


@dataclass(slots=True)
class History:
    """The first messages and all turns."""

    start: Sequence[Message]
    turns: list[Turn] = field(default_factory=list[Turn])

    def messages(self) -> list[Message]:
        """The conversation for the next request."""
        messages = list(self.start)
        for turn in self.turns:
            messages.append(turn.answer.model)
            if turn.results:
                messages.append(ResultMessage(results=tuple(_read(turn, i) for i in range(len(turn.results)))))
        return messages

    @property
    def pins(self) -> dict[str, str]:
        """The version that the run saw first of each tool."""
        pins: dict[str, str] = {}
        for turn in reversed(self.turns):
            pins.update(turn.answer.pins)
        return pins

    @property
    def narrowed(self) -> Counter[str]:
        """How often each tool was denied."""
        return Counter(one.name for one in self._results() if one.status == "denied")

    def end(self, bounds: Bounds) -> tuple[Reason, str] | None:
        """Why the run must not go on after its last turn, if it must not."""
        calls = sum(len(turn.results) for turn in self.turns)
        tokens = sum(t.answer.model.usage.input_tokens + t.answer.model.usage.output_tokens for t in self.turns)
        if sum(self.narrowed.values()) >= 2 * bounds.denials:
            return "denied_repeatedly", "the model went on asking for what it may not do"
        failure = self._failure(bounds.same_failure)
        if failure is not None:
            return "failed", f"the model repeated a call of `{failure}` that fails"
        for what, count, most in (
            ("turns", len(self.turns), bounds.turns),
            ("calls", calls, bounds.calls),
            ("tokens", tokens, bounds.tokens),
        ):
            if count >= most:
                return "limit", f"the run's bound of {most} {what} is reached"
        return None

    def without(self, bounds: Bounds) -> dict[str, str]:
        """Tools that left the run's view, with the reason."""
        return {
            name: f"denied {count} times in this run"
            for name, count in self.narrowed.items()
            if count >= bounds.denials
        }

    def _failure(self, most: int) -> str | None:
        seen: Counter[str] = Counter()
        for turn in self.turns:
            for call, result in zip(turn.answer.model.calls, turn.results, strict=False):
                if result is None or result.status != "error":
                    continue
                seen[_signature(call)] += 1
                if seen[_signature(call)] >= most:
                    return call.name
        return None

    def _results(self) -> list[ToolResult]:
        return [one for turn in self.turns for one in turn.results if one is not None]


def _signature(call: ToolCall) -> str:
    return content_hash([call.name, call.arguments])


def _read(turn: Turn, position: int) -> CallResult:
    result = turn.results[position]
    call = turn.answer.model.calls[position]
    if result is None:
        return CallResult(tool_call_id=call.id, content="not executed", is_error=True)
    return CallResult(tool_call_id=call.id, content=result.content, is_error=result.is_error)

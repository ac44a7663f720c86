"""What a run has come to: pure, rebuilt from what is stored. A resumed run counts like one that never stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ..call import ToolCall, ToolResult
from ..pipeline.breaker import UNAVAILABLE
from ..provenance import Provenance
from ..providers import CallResult, Media, Message, ModelTurn, ResultMessage, SystemMessage, UserMessage
from ..search import found
from ..spec.hashes import content_hash
from ..view import Hidden
from .bounds import Bounds, Reason

_DENIALS = frozenset({"POLICY_DENIED", "HOOK_BLOCKED", "APPROVAL_REJECTED"})
"""Somebody or something said no to the model's wish; not: nobody said anything in time."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of one answer of the model."""

    model: ModelTurn
    pins: dict[str, str]
    """Name -> version of every tool that the model was shown in this turn."""
    left: tuple[str, ...] = ()
    """Tools shown before that were unavailable in this turn: the run does not see them again."""


@dataclass(slots=True)
class Turn:
    """One answer and the results of its calls so far, by position."""

    answer: Answer
    view_digest: str
    results: list[ToolResult | None]
    spent_s: float = 0.0
    """What the run has taken of its time, up to its last result."""

    @property
    def open(self) -> list[int]:
        """Positions without a final result."""
        return [i for i, one in enumerate(self.results) if one is None or one.status == "pending"]

    @property
    def open_results(self) -> list[ToolResult | None]:
        """What there is at those positions: a pending result, or nothing."""
        return [self.results[i] for i in self.open]


@dataclass(slots=True)
class History:
    """The first messages and all turns."""

    start: Sequence[Message]
    turns: list[Turn] = field(default_factory=list[Turn])
    before_s: float = 0.0
    """What the run has taken of its time without a turn that could be stored."""

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
    def loaded(self) -> list[str]:
        """Tools that were found by search, the latest first."""
        results = [result for turn in reversed(self.turns) for result in reversed(turn.results)]
        return [name for result in results if result is not None for name in found(result)]

    @property
    def asked(self) -> str:
        """What the user said first; later turns see the tools that fit it too, so that the list stays the same."""
        return "\n".join(one.content for one in self.start if isinstance(one, UserMessage))

    @property
    def spent_s(self) -> float:
        """What the run has taken of its time, as far as it is stored."""
        return self.turns[-1].spent_s if self.turns else self.before_s

    @spent_s.setter
    def spent_s(self, value: float) -> None:
        if self.turns:
            self.turns[-1].spent_s = value
        else:
            self.before_s = value

    def ended(self) -> set[tuple[int, int]]:
        """Turn and position of every call with a final result."""
        return {
            (number, i)
            for number, turn in enumerate(self.turns)
            for i in range(len(turn.results))
            if i not in turn.open
        }

    def seen(self, number: int) -> Provenance:
        """What the model had read before a turn, with who vouches for it. Results that the run began with: nobody."""
        said = [one.content for one in self.start if isinstance(one, SystemMessage | UserMessage)]
        given = [r.content for one in self.start if isinstance(one, ResultMessage) for r in one.results]
        for turn in self.turns[:number]:
            for one in turn.results:
                if one is not None and one.trust == "untrusted":
                    given.append(one.content)
                elif one is not None and one.status == "ok" and not one.is_error:
                    said.append(one.content)
        return Provenance(tuple(said), tuple(given))

    def calls_left(self, number: int, bounds: Bounds) -> int:
        """How many calls of a turn may be made."""
        return max(0, bounds.calls - sum(len(turn.results) for turn in self.turns[:number]))

    def end(self, bounds: Bounds) -> tuple[Reason, str] | None:
        """Why the run must not go on after its last turn, if it must not."""
        calls = sum(len(turn.results) for turn in self.turns)
        tokens = sum(t.answer.model.usage.input_tokens + t.answer.model.usage.output_tokens for t in self.turns)
        if sum(bool(_denied(turn)) for turn in self.turns) >= 2 * bounds.denials:
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

    def without(self, bounds: Bounds, before: int | None = None) -> dict[str, Hidden]:
        """Tools that left the run's view, with the reason; with `before`, as the model of that turn was shown it."""
        denials = Counter(name for turn in self.turns[:before] for name in _denied(turn))
        down = {name: UNAVAILABLE for turn in self.turns[:before] for name in turn.answer.left}
        return down | {
            name: Hidden(reason="denied_repeatedly", why=f"denied in {count} answers of this run")
            for name, count in denials.items()
            if count >= bounds.denials
        }

    def _failure(self, most: int) -> str | None:
        seen: Counter[str] = Counter()
        for turn in self.turns:
            pairs = zip(turn.answer.model.calls, turn.results, strict=False)
            failed = {
                _signature(call): call.name for call, result in pairs if result is not None and result.status == "error"
            }
            seen.update(failed.keys())
            for signature, name in failed.items():
                if seen[signature] >= most:
                    return name
        return None


def _denied(turn: Turn) -> set[str]:
    """The tools that were denied in a turn; once each, since the model read of all at once."""
    return {
        one.name
        for one in turn.results
        if one is not None and one.status == "denied" and one.error is not None and one.error.code in _DENIALS
    }


def _signature(call: ToolCall) -> str:
    return content_hash([call.name, call.arguments])


def _read(turn: Turn, position: int) -> CallResult:
    result = turn.results[position]
    call = turn.answer.model.calls[position]
    if result is None:
        return CallResult(tool_call_id=call.id, content="not executed", is_error=True)
    images = tuple(
        Media(media_type=one.media_type, artifact_id=one.id)
        for one in result.artifacts
        if one.media_type.startswith("image/")
    )
    return CallResult(tool_call_id=call.id, content=result.content, is_error=result.is_error, media=images)

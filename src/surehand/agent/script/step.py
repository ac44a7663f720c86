"""What a script says: steps, what they expect, and how a script is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from ...errors import ConfigError, SurehandError
from ...providers.message import Usage


class ScriptError(SurehandError, AssertionError):
    """The model was asked for something that its script does not foresee, or not asked for all that it does."""


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call as a model would write it."""

    name: str
    """The name on the wire."""
    arguments: dict[str, Any] | str = ""
    """An object, or the exact text: broken, cut off or empty as a model may leave it."""
    id: str | None = None
    """May be empty or repeated. By default `call_STEP_POSITION`, both counted from 1."""


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request must hold. A text is contained, and case counts."""

    user: str = ""
    """A text in the last user message."""
    results: list[str] | str | None = None
    """Of the calls of the last answer: a list has a text for each result, in order; a single text is in any of them."""
    tools: list[str] | None = None
    """Exactly the tools offered, in any order."""
    has_tools: list[str] = []
    """Some of the tools offered."""
    lacks_tools: list[str] = []
    """Tools that are not offered."""
    messages: int | None = None
    """How many messages there are, as the provider counts them."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer or failure of the model. An empty step is an answer that says nothing."""

    text: str = ""
    calls: list[ScriptedCall] = []
    refusal: str = ""
    finish: str | None = None
    """The provider's word for why it stopped; by default what fits, such as `tool_calls` or `end_turn`."""
    usage: Usage = Usage()
    raw: dict[str, Any] | None = None
    """Instead of all above: a whole answer of the dialect. It can be streamed too."""
    fail: int | Literal["connection", "timeout"] | None = None
    """Instead of an answer: the HTTP status of a failure, or no answer at all."""
    break_after: int | None = None
    """The answer breaks off after so many events of its stream; one that is not streamed fails."""
    expect: Expect | None = None

    def __post_init__(self) -> None:
        answer = bool(self.text or self.calls or self.refusal or self.finish is not None or self.usage != Usage())
        if answer + (self.raw is not None) + (self.fail is not None) > 1:
            raise ValueError("a step is an answer, or `raw`, or `fail`, not several of them")
        if isinstance(self.fail, int) and not 400 <= self.fail <= 599:
            raise ValueError(f"`fail` must be an HTTP status from 400 to 599, not {self.fail}")

    @property
    def speaks(self) -> bool:
        """Whether there is an answer that says something, so that it becomes a turn of the conversation."""
        return bool(self.text or self.calls or self.refusal or self.raw) and self.break_after is None

    def __str__(self) -> str:
        if self.fail is not None:
            return f"fail {self.fail}"
        said = [repr(self.text)] if self.text else []
        return ", ".join([*said, *(call.name for call in self.calls)]) or self.finish or "an empty answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request, as a script looks at it: the same in every dialect."""

    request: Mapping[str, Any]
    """As it came."""
    messages: Sequence[Mapping[str, Any]]
    """As they are on the wire."""
    tools: tuple[str, ...]
    """Names on the wire."""
    results: tuple[str, ...]
    """What the calls of the last answer gave, in order."""
    user: str
    """The last user message."""
    turns: int
    """How many answers the conversation holds."""

    def unmet(self, expect: Expect) -> str | None:
        """What the request lacks of what is expected, for people."""
        if expect.user not in self.user:
            return f"the last user message must hold {expect.user!r}, and is {self.user!r}"
        if expect.messages not in (None, len(self.messages)):
            return f"there must be {expect.messages} messages, and are {len(self.messages)}"
        return self._unmet_results(expect.results) or self._unmet_tools(expect)

    def _unmet_results(self, wanted: list[str] | str | None) -> str | None:
        got = list(self.results)
        if isinstance(wanted, str):
            return None if any(wanted in text for text in got) else f"a result must hold {wanted!r}; they are {got}"
        if wanted is None or (len(wanted) == len(got) and all(map(str.__contains__, got, wanted))):
            return None
        return f"the results must hold, one by one, {wanted}; they are {got}"

    def _unmet_tools(self, expect: Expect) -> str | None:
        offered = sorted(self.tools)
        if expect.tools is not None and sorted(expect.tools) != offered:
            return f"the tools offered must be {sorted(expect.tools)}, and are {offered}"
        missing = sorted(set(expect.has_tools).difference(offered))
        if missing:
            return f"{', '.join(missing)} must be offered; there are {offered}"
        extra = sorted(set(expect.lacks_tools).intersection(offered))
        return f"{', '.join(extra)} must not be offered" if extra else None


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A script file."""

    steps: list[Step]
    dialect: str = "openai-chat"
    name: str = "script"


def read_script(path: Path) -> Script:
    """Reads a script file.

    Raises:
        ConfigError: It cannot be read, or is not a script; the message says where.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Script)
    except OSError as error:
        raise ConfigError(f"script {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"script {path}: {_told(error, Script)}") from error


def as_step(given: Step | Mapping[str, Any] | str, where: str) -> Step:
    """A step from what people write in Python: a step, its fields as in a file, or only its text.

    Raises:
        ConfigError: It is not a step.
    """
    if isinstance(given, Step):
        return given
    try:
        return Step(text=given) if isinstance(given, str) else msgspec.convert(dict(given), Step)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {_told(error, Step)}") from error


_FIELDS: dict[str, type[msgspec.Struct]] = {"steps": Step, "calls": ScriptedCall, "expect": Expect}


def _told(error: Exception, whole: type[msgspec.Struct]) -> str:
    """What is wrong; of a field that does not exist also which do."""
    text = str(error)
    if "unknown field" not in text:
        return text
    place = text.rpartition(" - at `$")[2].strip("`").rpartition(".")[2].partition("[")[0]
    return f"{text}; there are {', '.join(_FIELDS.get(place, whole).__struct_fields__)}"

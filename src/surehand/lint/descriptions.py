"""What a description must say: a model knows nothing else of a tool. English; other languages find fewer words here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, cast

from ..schema.keywords import walk
from ..spec import ToolSpec
from .finding import Problem, Rule

_VERBS_TEXT: Final = """
accept add allocate analyse analyze append apply approve archive ask assign attach authorize begin block book
build calculate call cancel change charge check choose classify clear close collect compare complete compute
confirm connect convert copy count create decide decline decode delete deliver deploy describe detect disable
display download draft edit email enable encode estimate evaluate execute explain export extract fetch file fill
filter find format forward gather generate get give group import increase index insert inspect install invite
invoke issue join keep launch link list load locate lock log look lookup make map mark match measure merge modify
monitor move name notify open order parse pause pay perform ping place play plan post predict prepare print
process produce propose publish purge put query queue rank read rebuild recommend record refund refresh register
reject release remove rename render reopen replace reply report request reserve reset resize resolve restart
restore resume retrieve retry return revert review revoke rotate route run save scan schedule score search see
select send set share ship show sign sort split start stop store submit subscribe suggest summarise summarize sum
suspend sync tag take tell test total track transfer transform translate trigger turn undo unlock update upload
upgrade use validate verify view wait warn watch withdraw write
"""
_VERBS: Final = frozenset(_VERBS_TEXT.split())
_WORD: Final = re.compile(r"[a-z]+")
_SENTENCE: Final = re.compile(r"[.!?](?:\s|$)|\n\s*\n")
_WHEN: Final = re.compile(
    r"\b(use|call|choose|ask|run)\b.{0,40}\b(it|this|when|if|for|to|before|after|once|only|at|during|whenever)\b"
    r"|\b(only|meant|intended|good) (for|when|if|to)\b",
    re.IGNORECASE | re.DOTALL,
)
_WHEN_NOT: Final = re.compile(
    r"\b(not|never|don't|doesn't|cannot|instead|rather|unless|except|only)\b"
    r"|\buse \w+ (for|to) |\bfor [^.]{1,60} use \w+",
    re.IGNORECASE,
)
_READS: Final = re.compile(
    r"\b(changes|modifies|alters|writes|sends|stores) (nothing|no )|\bread[- ]only\b|\bonly (reads|looks|lists)\b"
    r"|\b(does not|doesn't|never) (change|modify|write|alter|send|store)|\b(no|without) side[- ]effects?\b",
    re.IGNORECASE,
)
_EFFECT: Final = re.compile(
    r"\b(undone|undo|taken back|called back|reversed|reversible|irreversible|permanent(ly)?|reopened|restored?|for good"
    r"|side[- ]effects?|charged?|real money|moves? money|pays?|billed|sends?|sent|deletes?|overwrites?|changes?"
    r"|creates?|removes?|cancels?|books?|orders?|publishes|notif(y|ies)|updates?|writes?|starts?|restarts?|stops?)\b",
    re.IGNORECASE,
)
_KEPT_BACK: Final = re.compile(
    r"\b(never|no|not|without|nothing|only|neither|except|leaves? out)\b[^.]{0,80}"
    r"\b(return|returns|returned|give|gives|given|show|shows|shown|include|includes|included|contain|contains|data"
    r"|secrets?|address(es)?|names|details|personal|passwords?|customers?|tools?|numbers?)\b"
    r"|\b(returns?|gives?|shows?) (only|just|nothing|no)\b",
    re.IGNORECASE,
)
_BOUND: Final = re.compile(
    r"\b(at most|up to|no more than|maximum|max\.?|limit(ed)?|first|latest|newest|top|most recent|within|page"
    r"|below|above|under|over|between)\b|\bonly (one|the)\b|<=|≤",
    re.IGNORECASE,
)
_SAME: Final = 0.92


def _first(spec: ToolSpec) -> str:
    return _SENTENCE.split(spec.description.strip(), maxsplit=1)[0]


def _is_verb(word: str) -> bool:
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"}
    stems |= {word.removesuffix("ing"), word.removesuffix("ing") + "e", word.removesuffix("ed")}
    return not stems.isdisjoint(_VERBS)


def _no_verb(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    found = _WORD.findall(_first(spec).lower())
    if not any(_is_verb(word) for word in found):
        yield Problem("description", "the first sentence has no verb; begin with what it does, such as `Finds orders`")


def _vague(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    found = set(_WORD.findall(spec.description.lower()))
    own = set(_WORD.findall(spec.name.lower().replace("_", " ")))
    new = {word for word in found if not {word, word.removesuffix("s"), f"{word}s"} & own and len(word) > 3}
    if len(new) < 3:
        yield Problem(
            "description", "it says little more than the name; say what it does, to what, and with what result"
        )


def _when(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if not _WHEN.search(spec.description):
        yield Problem("description", "it does not say when to use it; write `Use it when ...`")


def _when_not(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if not _WHEN_NOT.search(spec.description):
        yield Problem("description", "it does not say when not to use it, or what to use instead")


def _effects(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if spec.read_only and not _READS.search(spec.description):
        yield Problem("description", "it does not say that nothing is changed; write `Changes nothing.`")
    if not spec.read_only and not _EFFECT.search(spec.description):
        yield Problem("description", "it does not say what it changes, and whether that can be undone")


def _returns(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if spec.read_only and not _KEPT_BACK.search(spec.description):
        yield Problem("description", "it does not say what it never returns; write `Never returns ...`")


def _limits(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    if _returns_many(spec) and not _BOUND.search(spec.description + _limit_text(spec)):
        yield Problem("description", "it returns a list and does not say how long at most; write `At most 50 rows.`")


def _returns_many(spec: ToolSpec) -> bool:
    return any(
        node.get("type") == "array" and "maxItems" not in node for _, node in walk(dict(spec.output_schema or {}))
    )


def _limit_text(spec: ToolSpec) -> str:
    properties = cast("dict[str, Any]", spec.parameters.get("properties", {}))
    return "".join(f" {one.get('description', '')}" for one in properties.values() if isinstance(one, dict))  # pyright: ignore[reportUnknownMemberType]


def _duplicate(spec: ToolSpec, among: Sequence[ToolSpec]) -> Iterator[Problem]:
    own = _plain(spec)
    for other in among:
        if other.name == spec.name:
            continue
        theirs = _plain(other)
        same = own == theirs
        near = not same and len(own) > 40 and _close(own, theirs)
        if same or near:
            yield Problem(
                "description", f"it is {'the same as' if same else 'almost that'} of {other.id}; tell them apart"
            )


def _plain(spec: ToolSpec) -> str:
    return " ".join(_WORD.findall(spec.description.lower()))


def _close(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 0.1 * len(one):
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= _SAME and matcher.quick_ratio() >= _SAME and matcher.ratio() >= _SAME


DESCRIPTION_RULES: Final = (
    Rule("description-verb", "warning", "The first sentence says what it does, with a verb.", _no_verb),
    Rule("description-vague", "warning", "The description says more than the name.", _vague),
    Rule("description-when", "warning", "It says when to use the tool.", _when),
    Rule("description-when-not", "warning", "It says when not to, or what to use instead.", _when_not),
    Rule("description-effects", "warning", "It says what the tool changes, or that it changes nothing.", _effects),
    Rule("description-never-returned", "warning", "A read says what it never returns.", _returns),
    Rule("description-limits", "warning", "What returns a list says how much at most.", _limits),
    Rule("description-duplicate", "error", "No two tools have the same text, or almost.", _duplicate),
)

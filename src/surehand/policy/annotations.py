"""What the annotations of a policy say: whom it asks, how many of them, whether it is enforced, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cedarpy import pst

from ..types import QUORUM_MAX, SELF, group_names
from .syntax import action_names

_KNOWN: Final = frozenset({"id", "approvers", "quorum", "escalate", "mode", "reason", "advice", "description"})
_WHOLE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_ADMINISTRATION: Final = frozenset({"publish", "admin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The annotations of one policy, read."""

    groups: tuple[str, ...]
    """Of `@approvers`; empty: nobody can lift it."""
    quorum: int
    """Of `@quorum`: how many distinct people of each group must say yes."""
    escalate_to: str
    """Of `@escalate`: the role that counts too after `Limits.escalate_after_s`; empty: none."""
    shadow: bool
    """Of `@mode("shadow")`: it is judged and recorded, and enforces nothing."""
    reason: str
    """For people; never empty."""
    wrong: tuple[str, ...]
    """What is wrong with them, one line each, without the policy's name."""


def read_notes(template: pst.Template, tenant: str | None) -> Notes:
    """Reads all annotations but `@id`.

    Args:
        template: The policy under its own id.
        tenant: The only one that it holds for.
    """
    notes = template.annotations
    wrong: list[str] = []
    groups = _groups(template, wrong) if "approvers" in notes else ()
    quorum = _quorum(notes["quorum"], groups, wrong) if "quorum" in notes else 1
    escalate_to = _escalation(notes["escalate"], groups, wrong) if "escalate" in notes else ""
    shadow = "mode" in notes
    if shadow:
        _check_mode(template, wrong)
    if tenant is not None and template.effect == "permit":
        _check_reach(template, wrong)
    wrong += [
        f"the annotation @{name} has no meaning here; use {', '.join(sorted(_KNOWN))}, or a comment"
        for name in sorted(set(notes) - _KNOWN)
    ]
    reason = notes.get("reason", "").strip() or _reason(template, groups, quorum)
    advice = notes.get("advice", "").strip()
    return Notes(
        groups=groups,
        quorum=quorum,
        escalate_to=escalate_to,
        shadow=shadow,
        reason=f"{reason}; {advice}" if advice else reason,
        wrong=tuple(wrong),
    )


def _groups(template: pst.Template, wrong: list[str]) -> tuple[str, ...]:
    groups: tuple[str, ...] = ()
    try:
        groups = group_names(template.annotations["approvers"])
    except ValueError:
        wrong.append(
            '@approvers is empty or names no group; write @approvers("finance") or @approvers("finance, legal")'
        )
    if template.effect == "permit":
        wrong.append("@approvers on a permit asks nobody; put it on a forbid that people may lift")
    named = action_names(template.action)
    if named is None:
        wrong.append(
            '@approvers on an open action; write action in Action::"call" (or a tool\'s call, publish or admin)'
        )
    elif any(name not in _ADMINISTRATION and not _is_call(name) for name in named):
        wrong.append(
            "@approvers is for the actions call, publish and admin only; give other actions a policy of their own"
        )
    return groups


def _quorum(text: str, groups: tuple[str, ...], wrong: list[str]) -> int:
    if not groups:
        wrong.append('@quorum without @approvers counts nobody; name whom it asks: @approvers("finance") @quorum("2")')
    if SELF in groups:
        wrong.append("@quorum counts distinct people, and self is one: ask self in a policy of its own")
    if _WHOLE.fullmatch(text) and 1 <= int(text) <= QUORUM_MAX:
        return int(text)
    wrong.append(f'@quorum("{text:.40}") is no whole number from 1 to {QUORUM_MAX}; write @quorum("2")')
    return 1


def _escalation(text: str, groups: tuple[str, ...], wrong: list[str]) -> str:
    if not groups or SELF in groups:
        wrong.append('@escalate goes beside roles that are asked: write @approvers("finance") @escalate("director")')
    try:
        if group_names(text) == (text,) and text != SELF:
            return text
    except ValueError:
        pass
    wrong.append(f'@escalate("{text:.40}") names no role; write one, such as @escalate("director")')
    return ""


def _check_mode(template: pst.Template, wrong: list[str]) -> None:
    mode = template.annotations["mode"]
    if mode != "shadow":
        wrong.append(f'@mode("{mode:.40}") is not known; write @mode("shadow"), or leave it out to enforce the policy')
    named = action_names(template.action)
    if named is None or any(name != "view" and not _is_call(name) for name in named):
        wrong.append('@mode("shadow") is for the actions view and call only, which are recorded; name those')


def _check_reach(template: pst.Template, wrong: list[str]) -> None:
    """What is published or administered is there for all tenants."""
    named = action_names(template.action)
    if named is None or not _ADMINISTRATION.isdisjoint(named):
        wrong.append(
            "a tenant's policy permits neither publish nor admin, which reach beyond the tenant; name other actions"
        )


def _is_call(name: str) -> bool:
    return name == "call" or name.startswith("call/")


def _reason(template: pst.Template, groups: tuple[str, ...], quorum: int) -> str:
    if groups:
        people = "" if quorum == 1 else f"{quorum} people of "
        return f'policy "{template.id}" asks for the yes of {people}{", ".join(groups)}'
    verb = "forbids" if template.effect == "forbid" else "permits"
    return f'policy "{template.id}" {verb} it'

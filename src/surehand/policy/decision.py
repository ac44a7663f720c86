"""What policies say of one call: `Allow`, `Deny` or `Ask`, always with the reason."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..types import SELF, Requirement

__all__ = ["SELF", "Allow", "Ask", "Decision", "Deny", "Requirement", "Shadow", "Word", "word"]

Word: TypeAlias = Literal["allow", "ask", "deny"]
"""A decision in one word."""


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy in shadow mode would have made of a call, were it enforced beside those in force."""

    policy_id: str
    decision: Word
    """What it would have been. The same word as the decision's means: more people would have been asked."""
    groups: tuple[str, ...] = ()
    """Whose yes it would have taken because of this policy."""
    reason: str
    """For people."""
    policy_hash: str
    """sha256 of the policy's text."""


class Allow(msgspec.Struct, frozen=True, kw_only=True, tag="allow"):
    """It may run."""

    policies: tuple[str, ...]
    """Ids of the permits that apply."""
    reasons: tuple[str, ...] = ()
    shadow: tuple[Shadow, ...] = ()
    """What policies in shadow mode would have changed, by their ids."""


class Deny(msgspec.Struct, frozen=True, kw_only=True, tag="deny"):
    """It may not run, and nobody can lift that."""

    policies: tuple[str, ...]
    """Ids of the forbids that apply; empty when no permit does."""
    reasons: tuple[str, ...]
    """For people, one line each."""
    shadow: tuple[Shadow, ...] = ()


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """It may run when every requirement is met."""

    policies: tuple[str, ...]
    reasons: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    shadow: tuple[Shadow, ...] = ()


Decision: TypeAlias = Allow | Deny | Ask


def word(decision: Decision) -> Word:
    """`allow`, `ask` or `deny`."""
    match decision:
        case Allow():
            return "allow"
        case Ask():
            return "ask"
        case Deny():
            return "deny"

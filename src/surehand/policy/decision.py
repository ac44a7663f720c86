"""What policies say of one call: `Allow`, `Deny` or `Ask`, always with the reason."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..types import SELF, Requirement

__all__ = ["SELF", "Allow", "Ask", "Decision", "Deny", "Requirement"]


class Allow(msgspec.Struct, frozen=True, kw_only=True, tag="allow"):
    """It may run."""

    policies: tuple[str, ...]
    """Ids of the permits that apply."""
    reasons: tuple[str, ...] = ()


class Deny(msgspec.Struct, frozen=True, kw_only=True, tag="deny"):
    """It may not run, and nobody can lift that."""

    policies: tuple[str, ...]
    """Ids of the forbids that apply; empty when no permit does."""
    reasons: tuple[str, ...]
    """For people, one line each."""


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """It may run when every requirement is met."""

    policies: tuple[str, ...]
    reasons: tuple[str, ...]
    requirements: tuple[Requirement, ...]


Decision: TypeAlias = Allow | Deny | Ask

"""`Hidden`: why a tool is not in a view. For operators: a model must not learn that it exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

HiddenReason: TypeAlias = Literal[
    "removed",
    "disabled",
    "not_published",
    "undoing",
    "killed",
    "unavailable",
    "stage",
    "permission",
    "policy",
    "agent",
    "scene",
    "run_state",
    "environment",
    "denied_repeatedly",
    "not_shown",
    "too_many",
    "not_needed",
]
"""All reasons that there are; `REASONS` says of each what would change it."""

REASONS: Final[Mapping[HiddenReason, str]] = {
    "removed": "a name once unregistered stays so; register the tool under a new version",
    "disabled": "publish a new version, or register one that is not disabled",
    "not_published": "give a version the stage test, canary or active; until then it is called as name@version",
    "undoing": "it is called by engine.undo, or surehand call undo, only",
    "killed": "lift the kill switch",
    "unavailable": "it comes back by itself when what it depends on does",
    "stage": "publish a version of a stage that is let in, or let the stage in",
    "permission": "give the caller the missing scopes, and the tenant too if it is limited",
    "policy": "change the policy, or act as a caller whom it permits",
    "agent": "change the agent's table in [agents] of the project file",
    "scene": "act in another scene, or change the scene's table in [scenes]",
    "run_state": "act in another state of the run, or change its table in [run_states]",
    "environment": "act in another environment, or change its table in [environments]",
    "denied_repeatedly": "it comes back in a new run",
    "not_shown": "it was not among the tools of that turn; a later turn may have it",
    "too_many": "find it with search_tools, name it in `always` or `loaded=`, or raise limits.view_tools",
    "not_needed": "all tools fit into the view, so there is nothing to search for",
}
"""Reason -> what would change it."""


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """Why one tool is left out."""

    reason: HiddenReason
    why: str
    """The same in the words of this case."""
    policies: tuple[str, ...] = ()
    """Ids of the policies that say so."""

    @property
    def change(self) -> str:
        """What would change it."""
        return REASONS[self.reason]

    def __str__(self) -> str:
        """For people."""
        return self.why

"""What the control plane says, read from its rows. Pure: rows in, one frozen state out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from ..approval import Vote
from ..policy import PolicySource
from ..registry import Canary, Kills, Standing
from ..types import Caller, Requirement

Kind = Literal["version", "alias", "kill", "policies", "proposal"]
Action = Literal[
    "publish", "bind", "use", "promote", "disable", "remove", "deprecate", "canary", "halt", "alias", "kill", "revive",
    "policies",
]  # fmt: skip
"""What a change does. The first three, and `halt`, engines do by themselves."""


Subject = tuple[str, str, str]
"""Kind, tenant and name of a row."""


class PolicyText(msgspec.Struct, frozen=True, array_like=True):
    """A policy source as it is stored."""

    name: str
    text: str
    tenant: str | None = None
    """The only tenant that it holds for; `None` for all."""

    @property
    def source(self) -> PolicySource:
        """To be loaded."""
        return PolicySource(self.name, self.text, self.tenant)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to be changed. Fields that an action does not need are empty."""

    action: Action
    name: str = ""
    """Of the tool."""
    version: str = ""
    to: str = ""
    """The stage."""
    rollback: str = ""
    use: str = ""
    until: str = ""
    canary: Canary | None = None
    alias: str = ""
    tenant: str = ""
    """Whose tool or agent is switched; empty for all."""
    switch: str = ""
    """What is switched, as `kill_name` gives it."""
    digest: str = ""
    """Of a policy set; empty for the policies of the project."""
    sources: tuple[PolicyText, ...] = ()
    """Of a policy set."""
    reason: str = ""

    @property
    def subject(self) -> Subject:
        """The row that it changes."""
        if self.action in ("kill", "revive"):
            return "kill", self.tenant, self.switch
        if self.action == "policies":
            return "policies", "", ""
        return ("alias", "", self.alias) if self.action == "alias" else ("version", "", f"{self.name}@{self.version}")

    @property
    def target(self) -> str:
        """What it is about, in a word."""
        if self.action in ("kill", "revive"):
            return self.switch if not self.tenant else f"{self.switch} of {self.tenant}"
        if self.action == "policies":
            return "policies"
        return self.alias or (f"{self.name}@{self.version}" if self.version else self.name)


class PolicySet(msgspec.Struct, frozen=True, kw_only=True):
    """Policies that were published."""

    digest: str
    """As the audit records it; empty when the policies of the project hold again."""
    sources: tuple[PolicyText, ...]

    @property
    def texts(self) -> tuple[PolicySource, ...] | None:
        """To be loaded; `None` for those of the project."""
        return tuple(one.source for one in self.sources) if self.digest else None


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A change that waits for people."""

    change_id: str
    change: Change
    requester: Caller
    needs: tuple[Requirement, ...]
    digest: str
    """Of the change, of what it starts from, and of the question."""
    status: Literal["open", "approved", "rejected", "stale"] = "open"
    votes: tuple[Vote, ...] = ()
    created_us: int
    expires_us: int


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What is sealed in a row."""

    action: Action | Literal["ask"]
    reason: str = ""
    was: str = ""
    """In a word, what there was before."""
    now: str = ""
    confirmed_by: tuple[str, ...] = ()
    value: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A row that was opened."""

    tenant: str
    kind: str
    name: str
    revision: int
    at_us: int
    by: str
    body: Body

    def value(self, kind: type[Any]) -> Any:
        """What it says."""
        return msgspec.json.decode(self.body.value, type=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """Everything that holds at one revision."""

    revision: int = 0
    standings: Mapping[tuple[str, str], Standing] = field(default_factory=dict[tuple[str, str], Standing])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    kills: Kills = field(default_factory=Kills)
    policies: PolicySet | None = None
    """The set in force; `None` if none was ever published."""
    policies_by: str = ""
    policies_us: int = 0
    proposals: Mapping[tuple[str, str], Proposal] = field(default_factory=dict[tuple[str, str], Proposal])
    """By tenant and name of the row."""
    changed: Mapping[Subject, int] = field(default_factory=dict[Subject, int])
    """The revision that last changed what a row is about. That a draft is used now, or is asked about, is no change."""

    def taking(self, rows: Iterable[Read]) -> ControlState:
        """The state after rows that are newer, oldest first."""
        state = self
        standings, aliases = dict(self.standings), dict(self.aliases)
        reasons, proposals, changed = dict(self.kills.reasons), dict(self.proposals), dict(self.changed)
        for row in rows:
            if row.kind != "proposal" and row.body.action != "use":
                changed[row.kind, row.tenant, row.name] = row.revision
            match row.kind:
                case "version":
                    name, _, version = row.name.partition("@")
                    standings[name, version] = row.value(Standing)
                case "alias":
                    aliases[row.name] = row.value(str)
                case "kill":
                    if row.value(bool):
                        reasons[row.tenant, row.name] = row.body.reason
                    else:
                        reasons.pop((row.tenant, row.name), None)
                case "policies":
                    state = replace(state, policies=row.value(PolicySet), policies_by=row.by, policies_us=row.at_us)
                case "proposal":
                    proposals[row.tenant, row.name] = row.value(Proposal)
                case _:  # of a newer release: what it means is not known, and it took effect there
                    pass
            state = replace(state, revision=max(state.revision, row.revision))
        kills = self.kills if reasons == self.kills.reasons else Kills(reasons)
        return replace(state, standings=standings, aliases=aliases, kills=kills, proposals=proposals, changed=changed)

    def proposal(self, tenant: str, change_id: str) -> tuple[str, Proposal] | None:
        """A waiting change by its id, and the name of its row."""
        for (of, name), found in self.proposals.items():
            if of == tenant and found.change_id == change_id:
                return name, found
        return None

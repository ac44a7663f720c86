"""The vocabulary that all rooms share: JSON values, the caller, the words of a contract."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from .errors import ConfigError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A JSON value."""

Arguments: TypeAlias = dict[str, Any]
"""Arguments of one call: a JSON object."""

Risk = Literal["low", "medium", "high"]
Idempotency = Literal["safe_retry", "idempotency_key", "single_effect", "irreversible"]
"""What repeating a call does.

`safe_retry`: nothing more (reads, puts). `idempotency_key`: nothing more, if the same key is sent again.
`single_effect`: a second effect. `irreversible`: an effect nobody can take back.
"""
Trust = Literal["trusted", "untrusted"]
"""Whether somebody vouches for what a tool gives: `untrusted` is whatever comes from outside."""
Stage = Literal["draft", "test", "canary", "active", "deprecated", "disabled"]
RunState = Literal["planning", "acting", "waiting_human", "finishing"]
"""What a run is doing, as the application says. Never a model's word."""

MAX_NAME_CHARS = 256


def _names(field: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ConfigError(f"caller: {field} must be a list of strings, not the string {values!r}")
    names = tuple(sorted(set(values)))
    for name in names:
        _name(field, name)
    return names


def _name(field: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str) or (not value and not empty):
        raise ConfigError(f"caller: {field} must be a non-empty string, not {value!r}")
    if len(value) > MAX_NAME_CHARS or any(ord(c) < 32 or 0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise ConfigError(f"caller: {field} has control characters or more than {MAX_NAME_CHARS} characters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf a call runs. Authenticated by the application or the server, never by the model.

    Raises:
        ConfigError: A field is empty where it must not be, too long, or of the wrong type.
    """

    id: str
    """Unique within its tenant."""
    tenant: str
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    agent: str = ""
    """The agent that acts; empty when a person or service calls directly."""
    environment: str = ""
    """Such as `production`; empty when the application does not tell."""
    run_state: RunState | Literal[""] = ""
    """Policies read it as `context.run.state`; empty when the application does not tell."""
    scene: str = ""
    """What the moment is about, as a table `[scenes.NAME]` of the project declares it; empty for no narrowing."""

    def __init__(
        self,
        *,
        id: str,
        tenant: str,
        roles: Iterable[str] = (),
        scopes: Iterable[str] = (),
        agent: str = "",
        environment: str = "",
        run_state: RunState | Literal[""] = "",
        scene: str = "",
    ) -> None:
        for field, value, empty in (
            ("id", id, False),
            ("tenant", tenant, False),
            ("agent", agent, True),
            ("environment", environment, True),
            ("run_state", run_state, True),
            ("scene", scene, True),
        ):
            _name(field, value, empty=empty)
            object.__setattr__(self, field, value)
        if run_state and run_state not in get_args(RunState):
            raise ConfigError(f"caller: run_state must be one of {', '.join(get_args(RunState))}, not {run_state!r}")
        object.__setattr__(self, "roles", _names("roles", roles))
        object.__setattr__(self, "scopes", _names("scopes", scopes))

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that a decision may depend on, as a cache key."""
        return (
            self.tenant, self.id, self.roles, self.scopes, self.agent, self.environment, self.run_state, self.scene,
        )  # fmt: skip

    def in_scene(self, scene: str) -> Caller:
        """The same caller, narrowed to a scene."""
        return self if scene == self.scene else replace(self, scene=scene)

    def narrowed(self, *, roles: Iterable[str] | None = None, scopes: Iterable[str] | None = None) -> Caller:
        """The same person with some of the roles and scopes; `None` keeps all.

        Raises:
            ConfigError: One of them is not the caller's.
        """
        kept: dict[str, tuple[str, ...]] = {}
        for field, own, given in (("roles", self.roles, roles), ("scopes", self.scopes, scopes)):
            kept[field] = own if given is None else _names(field, given)
            wider = sorted(set(kept[field]) - set(own))
            if wider:
                raise ConfigError(f"caller: {field} may only be narrowed; {self.id} does not have {', '.join(wider)}")
        return replace(self, roles=kept["roles"], scopes=kept["scopes"])

    def same_person(self, other: Caller) -> bool:
        """Whether both are the same user of the same tenant."""
        return self.tenant == other.tenant and self.id == other.id


BUILTIN_ROLES = ("admin", "auditor", "operator")
"""Roles that built-in policies permit something, besides the one that they ask."""

SELF = "self"
"""The approver group that means the requester."""

QUORUM_MAX = 20
"""People of one group whose yes can be asked."""

_GROUP = re.compile(r"[^\s,\"\\\x00-\x1f\x7f-\x9f\ud800-\udfff][^,\"\\\x00-\x1f\x7f-\x9f\ud800-\udfff]{0,255}")


def group_names(text: str) -> tuple[str, ...]:
    """The approver groups of `"finance, legal"`: roles, or `self`, each once, in their order.

    Raises:
        ValueError: One of them is empty, longer than 256 characters, or holds a quote, backslash or control character.
    """
    # What it is given may come from a hook of the user's.
    given = text if isinstance(text, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        if not _GROUP.fullmatch(name):
            raise ValueError(f'{name!r:.80} names no group of approvers; write "finance" or "finance, legal"')
    return names


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One group whose yes is needed before a call may run, because of one policy or hook."""

    policy_id: str
    group: str
    """A role of the approver's, or `self`."""
    reason: str
    """For people."""
    policy_hash: str
    """sha256 of the policy's text: a changed policy is another question."""
    quorum: int = 1
    """How many distinct people of the group must say yes."""
    escalate_to: str = ""
    """A role whose yes counts for the group too once nobody has answered for `Limits.escalate_after_s`; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Bytes that belong to a result: kept beside it, named in its text.

    Raises:
        TypeError: A field is of the wrong type.
    """

    body: bytes
    media_type: str = "application/octet-stream"
    """What is none, such as one with control characters, is taken as `application/octet-stream`."""

    def __post_init__(self) -> None:
        _of_type("Attachment: body", self.body, bytes | bytearray | memoryview, "bytes")
        object.__setattr__(self, "body", bytes(self.body))
        _of_type("Attachment: media_type", self.media_type, str, "a string such as 'image/png'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a handler returns when text and value differ, or when files belong to the result.

    Raises:
        TypeError: A field is of the wrong type.
    """

    text: str | None = None
    """For the model; `None` takes the JSON text of `structured`."""
    structured: Any = None
    attachments: tuple[Attachment, ...] = ()

    def __post_init__(self) -> None:
        if self.text is not None:
            _of_type("Output: text", self.text, str, "a string, or None; put data into structured")
        _of_type("Output: attachments", self.attachments, list | tuple, "a tuple of Attachment")
        for attachment in self.attachments:
            _of_type("Output: attachments", attachment, Attachment, "a tuple of Attachment")
        object.__setattr__(self, "attachments", tuple(self.attachments))


def _of_type(what: str, value: object, kind: type | UnionType, expected: str) -> None:
    # The value is not in the message: it is a tool's output.
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {expected}, not {type(value).__name__}")

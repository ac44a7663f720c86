"""Rows of expected decisions: read from a file, and judged."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, cast

import msgspec

from ..errors import ConfigError
from ..policy import Ask, Decision, Deny, Word, word
from ..schema import Strictness
from ..types import Caller
from ..view import World
from .final import RefusedError, final_arguments

_FILE_CHARS_MAX: Final = 16 * 1024 * 1024
_ROWS_MAX: Final = 10_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _CallerTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str = "somebody"
    tenant: str
    roles: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    agent: str = ""
    environment: str = ""
    run_state: str = ""


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row as it stands in the file."""

    caller: str | _CallerTable
    tool: str
    expect: Word
    name: str = ""
    arguments: dict[str, Any] = {}
    now: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    environment: str | None = None
    run_state: str | None = None
    policies: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    shadow: tuple[str, ...] | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    row: tuple[_Written, ...]
    callers: dict[str, _CallerTable] = {}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """One call, and what is to be decided of it."""

    name: str
    """The row's own, else its place and tool."""
    caller: Caller
    tool: str
    """`NAME` or `NAME@VERSION`."""
    arguments: dict[str, Any]
    """As a model would write them."""
    now_ns: int | None
    """Nanoseconds since the epoch; `None` for the time at which it is judged."""
    expect: Word
    policies: tuple[str, ...] | None
    """The ids that the decision must rest on, exactly; `None`: whichever."""
    groups: tuple[str, ...] | None
    """Whose yes an ask must want, exactly."""
    shadow: tuple[str, ...] | None
    """The policies in shadow mode that would change it, exactly."""


class RowResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one row was decided."""

    name: str
    decision: Word | None
    """`None`: no policy was asked."""
    policies: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    shadow: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What is not as expected, one line each; empty: the row holds."""

    @property
    def ok(self) -> bool:
        """Whether it is as expected."""
        return not self.problems


def read_rows(path: str | Path, callers: Mapping[str, Caller]) -> list[PolicyRow]:
    """Reads a file of rows: `.toml` with tables `[[row]]`, or JSON lines, one row a line.

    Args:
        path: The file.
        callers: Those that rows may name; the file's own `[callers.NAME]` come first.

    Raises:
        ConfigError: The file or a row in it is wrong.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{file}: the rows cannot be read ({why}); name a TOML file or one of JSON lines") from error
    if len(text) > _FILE_CHARS_MAX:
        raise ConfigError(f"{file}: more than {_FILE_CHARS_MAX} characters; split it into several files")
    written, known = _toml(file, text) if file.suffix == ".toml" else _lines(file, text)
    known = {**callers, **known}
    if not written:
        raise ConfigError(f"{file}: there is no row in it; write [[row]] with caller, tool, arguments and expect")
    if len(written) > _ROWS_MAX:
        raise ConfigError(f"{file}: more than {_ROWS_MAX} rows; split it into several files")
    return [_row(f"{file.name}: row {number}", one, known) for number, one in enumerate(written, 1)]


def _toml(file: Path, text: str) -> tuple[list[_Written], dict[str, Caller]]:
    try:
        found = msgspec.convert(tomllib.loads(text), _File)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: {error}") from error
    callers = {
        name: _caller(
            f"{file}: callers.{name}", msgspec.structs.replace(one, id=name if one.id == "somebody" else one.id)
        )
        for name, one in found.callers.items()
    }
    return list(found.row), callers


def _lines(file: Path, text: str) -> tuple[list[_Written], dict[str, Caller]]:
    rows: list[_Written] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(msgspec.json.decode(line, type=_Written))
            except (msgspec.DecodeError, RecursionError) as error:
                raise ConfigError(f"{file}: line {number}: {error}") from error
    return rows, {}


def _row(where: str, one: _Written, known: Mapping[str, Caller]) -> PolicyRow:
    if isinstance(one.caller, str):
        if one.caller not in known:
            raise ConfigError(
                f"{where}: there is no caller {one.caller!r}; known are {', '.join(sorted(known)) or 'none'}"
            )
        caller = known[one.caller]
    else:
        caller = _caller(where, one.caller)
    over = {"environment": one.environment, "run_state": one.run_state}
    try:
        caller = dataclasses.replace(caller, **cast("Any", {k: v for k, v in over.items() if v is not None}))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    now = None if one.now is None else one.now - _EPOCH
    return PolicyRow(
        name=one.name or f"{where}, {one.tool}",
        caller=caller,
        tool=one.tool,
        arguments=one.arguments,
        now_ns=None if now is None else ((now.days * 86_400 + now.seconds) * 1_000_000 + now.microseconds) * 1000,
        expect=one.expect,
        policies=one.policies,
        groups=one.groups,
        shadow=one.shadow,
    )


def _caller(where: str, table: _CallerTable) -> Caller:
    try:
        return Caller(**msgspec.structs.asdict(table))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def judge_rows(
    rows: Iterable[PolicyRow], world: World, *, now_ns: int, strictness: Strictness = "exact"
) -> list[RowResult]:
    """What the policies of a world say of each row. Runs nothing.

    Args:
        rows: From `read_rows`.
        world: Tools and policies.
        now_ns: Nanoseconds since the epoch, for rows that name no time.
        strictness: Of the engine that would get the calls.
    """
    return [_judge(row, world, row.now_ns or now_ns, strictness) for row in rows]


def _judge(row: PolicyRow, world: World, now_ns: int, strictness: Strictness) -> RowResult:
    name, _, version = row.tool.partition("@")
    entry = world.catalog.resolve(name, version or None)
    if entry is None:
        return _undecided(row, f"there is no tool {row.tool!r}; there are {', '.join(sorted(world.catalog.current))}")
    try:
        final = final_arguments(entry, row.caller, row.arguments, strictness=strictness)
    except RefusedError as error:
        return _undecided(row, f"no policy is asked, since the arguments are refused: {error}")
    decision = world.look(row.caller, entry, now_us=now_ns // 1000)
    if not isinstance(decision, Deny):
        decision = world.policies.authorize(row.caller, entry.tool.spec, final, now_ns=now_ns)
    return _compared(row, decision)


def _undecided(row: PolicyRow, why: str) -> RowResult:
    return RowResult(name=row.name, decision=None, problems=(why,))


def _compared(row: PolicyRow, decision: Decision) -> RowResult:
    groups = {one.group for one in decision.requirements} if isinstance(decision, Ask) else set[str]()
    got: dict[str, tuple[str, ...]] = {
        "decision": (word(decision),),
        "policies": tuple(sorted(decision.policies)),
        "groups": tuple(sorted(groups)),
        "shadow": tuple(sorted(one.policy_id for one in decision.shadow)),
    }
    wanted = {"decision": (row.expect,), "policies": row.policies, "groups": row.groups, "shadow": row.shadow}
    problems = tuple(
        f"{what}: expected {_shown(want)}, is {_shown(got[what])}"
        for what, want in wanted.items()
        if want is not None and tuple(sorted(want)) != got[what]
    )
    return RowResult(
        name=row.name,
        decision=word(decision),
        policies=got["policies"],
        groups=got["groups"],
        shadow=got["shadow"],
        reasons=decision.reasons,
        problems=problems,
    )


def _shown(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"

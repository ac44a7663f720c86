"""`CheckedControl`: a control plane that promotes only what the release checks find fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ..engine import Engine
from ..errors import NotAllowedError, RegistryError
from ..policy import Deny
from ..spec import Sample, ToolSpec
from ..types import Caller, Stage
from .check import check, current_hash, entry_of
from .report import Report

_CHECKED: Final = ("test", "canary", "active")


class Control(Protocol):
    """What moves versions; it governs and records each move."""

    async def promote(
        self, name: str, version: str, *, to: Stage, by: Caller, reason: str = "", rollback: str = ""
    ) -> Any:
        """Moves a version to another stage."""
        ...

    async def disable(self, name: str, version: str, *, by: Caller, reason: str) -> Any:
        """Takes a version from new calls."""
        ...

    async def deprecate(
        self, name: str, version: str, *, use: str = "", until: str = "", by: Caller, reason: str = ""
    ) -> Any:
        """Says that a version is on its way out."""
        ...


class CheckedControl:
    """Promotes through `control`, and only if no release check fails.

    Args:
        engine: The engine that knows the versions.
        control: What moves them.
        samples: Sample calls by tool name, in addition to those declared with the tools.
        alerts: See `check`.
    """

    def __init__(
        self,
        engine: Engine,
        control: Control,
        *,
        samples: Mapping[str, Sequence[Sample]] | None = None,
        alerts: bool | None = None,
    ) -> None:
        self._engine = engine
        self._control = control
        self._samples = dict(samples or {})
        self._alerts = alerts

    async def check(self, name: str, version: str, *, to: Stage, rollback: str = "") -> Report:
        """The checks that `promote` makes. Its `hash` is what `promote` may be told to expect.

        Raises:
            NotFoundError, ConfigError: See `surehand.release.check`.
        """
        samples = self._samples.get(name, ())
        return await check(self._engine, name, version, to=to, samples=samples, rollback=rollback, alerts=self._alerts)

    async def promote(
        self,
        name: str,
        version: str,
        *,
        to: Stage,
        by: Caller,
        reason: str = "",
        rollback: str = "",
        expect: str = "",
    ) -> Any:
        """Moves a version to another stage. To `test`, `canary` and `active` it must pass the checks.

        As they run its handler, they are made for those only whom policy lets publish the tool.

        Args:
            name: Of the tool.
            version: Which one.
            to: The stage.
            by: Who wants it.
            reason: For those who read the history.
            rollback: The version that is to take over if this one fails.
            expect: `hash` of the report or diff that was read, or how it begins (8 characters at least): if contract or
                binding of the version, or of the one that it was compared with, is another now, nothing is promoted.

        Returns:
            What the control plane answers.

        Raises:
            RegistryError: `checks_failed`, or `moved`. And what the control plane refuses.
            NotAllowedError: Policy does not let the caller publish this tool; nothing of it was run.
            NotFoundError, ConfigError: See `surehand.release.check`.
        """
        if to in _CHECKED:
            await self._engine.view(by)  # what holds now
            require_publish(self._engine, by, entry_of(self._engine, name, version).tool.spec, "promote")
            report = await self.check(name, version, to=to, rollback=rollback)
            _require_expected(expect, report.hash, report.tool)
            if not report.green:
                lines = "\n".join(f"  - {row.id}: {row.text}" for row in report.failed)
                raise RegistryError("checks_failed", "promote", f"{report.tool} is not fit for {to!r}:\n{lines}")
            _require_expected(report.hash, current_hash(self._engine, name, version), report.tool)
        return await self._control.promote(name, version, to=to, by=by, reason=reason, rollback=rollback)


def require_publish(engine: Engine, caller: Caller, spec: ToolSpec, doing: str) -> None:
    """Whether policy lets somebody publish a tool, which it takes to have its handler run by checks.

    Raises:
        NotAllowedError: It does not. What they were `doing` is in the words of the refusal.
    """
    decision = engine.policies.may(caller, "publish", spec, now_ns=engine.services.clock.now_us() * 1000)
    if isinstance(decision, Deny):
        why = "; ".join(decision.reasons)
        raise NotAllowedError(f"{caller.id} may not {doing} {spec.id}, since checks run its handler: {why}")


def _require_expected(expect: str, found: str, tool: str) -> None:
    if not expect:
        return
    if len(expect) < 8 or not found.startswith(expect):
        raise RegistryError(
            "moved",
            "promote",
            f"{tool}, or the version before it, is not what was read: expected {expect!r:.80}, found {found}; read "
            "`surehand tools diff` again",
        )

"""Ends the trial of a version by itself when too many of its calls fail."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from ..errors import SurehandError
from ..event import Event
from ..pipeline import Services
from ..registry import Trial
from .control_state import ControlState
from .plane import Plane, Planned

_FAILED = frozenset({"TOOL_ERROR", "TOOL_TIMEOUT", "TOOL_OUTCOME_UNKNOWN", "TOOL_OUTPUT_INVALID", "TOOL_UNAVAILABLE"})
"""What a version can be blamed for. A refusal, by whomever, is no call of it."""


class Watch:
    """Counts the calls of versions on trial that this engine made. The halt is stored: all engines follow it."""

    def __init__(self, services: Services, plane: Plane) -> None:
        self._s = services
        self._plane = plane
        self._trials: dict[tuple[str, str], Trial] = {}
        self._halting: set[asyncio.Task[None]] = set()
        services.sinks.append(self.see)

    async def drain(self) -> None:
        """Waits for halts that are on their way."""
        await asyncio.gather(*self._halting)

    def see(self, event: Event) -> None:
        """Counts a call that has ended."""
        catalog = self._s.world.catalog
        if event.kind != "call.finished" or not catalog.canaries or event.data.get("replayed"):
            return
        for gone in [one for one in self._trials if catalog.canaries.get(one[0]) != one[1]]:
            del self._trials[gone]  # ended meanwhile, here or elsewhere: another trial starts from nothing
        key = (event.name, str(event.data.get("version")))
        entry = catalog.entries.get(key)
        failed = event.data.get("code") in _FAILED
        if entry is None or entry.canary is None or not (failed or event.data.get("status") == "ok"):
            return
        limits = self._s.limits
        trial = self._trials.setdefault(key, Trial(limits.canary_calls, limits.canary_error_share))
        if trial.failed(failed):
            del self._trials[key]
            task = asyncio.get_running_loop().create_task(self._halt(key, str(trial)))
            self._halting.add(task)
            task.add_done_callback(self._halting.discard)

    async def _halt(self, key: tuple[str, str], why: str) -> None:
        def plan(state: ControlState) -> list[Planned]:
            standing = state.standings.get(key)
            if standing is None or standing.stage != "canary":
                return []
            now = replace(standing, stage="test", canary=None)
            return [
                Planned(
                    kind="version",
                    name="@".join(key),
                    value=now,
                    action="halt",
                    reason=why,
                    was="canary",
                    now="test",
                    facts={"rollback": standing.rollback},
                )
            ]

        try:
            await self._plane.write(plan, by=None)
        except SurehandError as error:
            self._s.emit("engine.problem", where="canary", problem=f"it could not be halted: {error}", name=key[0])

"""Another process that goes on with the demo's run: `resume.py DIR`. See `test_support_desk.py`."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import surehand as sh
from surehand.settings import read_project
from surehand.testing import ScriptedModel


async def main(folder: Path) -> None:
    project = folder / "surehand.toml"
    callers = read_project(project)[0].callers
    async with sh.open_project(project) as engine:
        for _ in range(30):
            try:
                await resume(engine, folder, callers)
                break
            except sh.ConfigError:  # the dead process still seems to drive it
                await asyncio.sleep(0.5)
        await engine.audit.seal()
        print("verified" if all(report.ok for report in await engine.audit.verify()) else "not verified")


async def resume(engine: sh.Engine, folder: Path, callers: Mapping[str, sh.Caller]) -> None:
    """Drive the run to its end, and say yes to all that waits."""
    model = ScriptedModel.from_file(folder / "model.json", catch_up=True)
    async for event in sh.run(engine, model=model, caller=callers["sam"], run_id="ticket-4711"):
        if event.kind == "run.waiting":
            for approval_id in event.data["approvals"]:
                await engine.approvals.approve(approval_id, by=callers["fiona"])
        if event.kind == "run.ended":
            print(event.data["reason"])
    model.assert_done()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""A second process with an engine of its own, that as good as never looks by itself; it pays once for each line."""

import asyncio
import sys
from pathlib import Path

import surehand as sh
from tests.desk import Desk, pay_call, pay_tool


async def main(folder: Path) -> None:
    desk = Desk(folder)
    settings = sh.Settings(limits=sh.Limits(control_poll_s=600))
    async with sh.open_engine(store=desk.url, tools=[pay_tool(desk)], settings=settings) as engine:
        print("open", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            result = await engine.call(pay_call(int(line)), desk.alice)
            print(result.status, result.error and result.error.code, len(desk.done), flush=True)


asyncio.run(main(Path(sys.argv[1])))

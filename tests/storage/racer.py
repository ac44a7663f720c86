"""A process that uses a store; started by `test_processes`. Prints a line for each thing that is durable.

racer.py URL claims NAME    for each line of standard input: claims that key, and moves its call if it got it
racer.py URL spends NAME    for each line of standard input: claims a call of its own that takes 3 of that budget of 10,
                            and ends some of them
racer.py URL takes NAME     for each line of standard input: takes that run, and ends it if it got it
racer.py URL remembers NAME for each line of standard input: has its own name remembered under it
racer.py URL writes NAME    writes calls until it is killed
"""

import asyncio
import sys

from surehand.storage import SqlStore, open_store
from surehand.testing.store_quota_contract import charge
from surehand.testing.store_records import call, claim, move
from surehand.testing.store_run_contract import event, saving, take, turn


async def claims(store: SqlStore, name: str) -> None:
    """Try for each key to be the one that claims it, and for the shared call to be the one that starts it."""
    loop = asyncio.get_running_loop()
    while key := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        won = await store.claim(claim(call(f"{key} {name}", key=key))) is None
        started = await store.move(move(f"shared {key}", "ready", "running", owner=name))
        print(key, "won" if won else "lost", "started" if started else "late", flush=True)


async def spends(store: SqlStore, name: str) -> None:
    """Take of each budget; what is refused takes nothing, and what ends without effect gives back."""
    loop = asyncio.get_running_loop()
    while budget := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        for n in range(3):
            call_id = f"{budget} {name} {n}"
            won = await store.claim_within(claim(call(call_id, key=call_id)), [charge(budget, 3)]) is None
            print("spent" if won else "refused", flush=True)
            if won and n == 0:
                await store.move(move(call_id, "running", "error", release_key=True))
                print("returned", flush=True)


async def takes(store: SqlStore, name: str) -> None:
    """Try for each run to be the one that drives it; save a turn of it whether or not that went well."""
    loop = asyncio.get_running_loop()
    while run_id := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        taken = await take(store, run_id, name)
        save = saving(run_id, name, turn=turn(run_id, 0, answer=name.encode()), events=(event(run_id, 1),))
        saved = await store.save_run(save)
        print(run_id, "taken" if taken else "left", "saved" if saved else "refused", flush=True)


async def remembers(store: SqlStore, name: str) -> None:
    """Try for each line to be the one whose name is remembered."""
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        print(f"{line}={await store.remember(line, name)}", flush=True)


async def writes(store: SqlStore, name: str) -> None:
    """Write with several tasks at once, for ever."""

    async def one(task: int) -> None:
        n = 0
        while True:
            call_id = f"{name}-{task}-{n}"
            await store.claim(claim(call(call_id), rows=1))
            sys.stdout.write(call_id + "\n")
            sys.stdout.flush()
            n += 1

    await asyncio.gather(*(one(task) for task in range(8)))


async def main(url: str, what: str, name: str) -> None:
    """Open, tell so, work, close."""
    store = open_store(url)
    await store.open()
    print("open", flush=True)
    await {"claims": claims, "spends": spends, "takes": takes, "remembers": remembers, "writes": writes}[what](
        store, name
    )
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

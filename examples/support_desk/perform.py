"""The demo from its first line to its exit code: a project folder, the play, the books, the audit."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import surehand as sh
from surehand.settings import read_project

from .desk.seed import build
from .desk.shop import refunds_of
from .play import Played, play
from .screen import Screen
from .story import RefundRow, Story, read_story

HERE = Path(__file__).resolve().parent

PROJECT = ("surehand.toml", "calls.json", "policies", "desk")
"""What a project folder is made of. Everything else in it comes from running it."""


def run(argv: Sequence[str] | None = None) -> int:
    """See `demo.run`."""
    parser = argparse.ArgumentParser(prog="support_desk", description="Plays the calls of a support desk's agent.")
    parser.add_argument("--dir", type=Path, metavar="DIR", help="work in this new folder and keep it")
    wanted: Path | None = parser.parse_args(argv).dir
    screen = Screen()
    if wanted is not None and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        print(f"{wanted} is not an empty folder; name a new one", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="surehand-desk-")) if wanted is None else wanted.resolve()
    kept = False
    try:
        prepare(folder)
        code = asyncio.run(main(folder, screen, kept=wanted is not None))
        kept = wanted is not None
        return code
    except KeyboardInterrupt:
        screen.say("\nInterrupted; the working folder is removed.")
        return 130
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def prepare(folder: Path) -> None:
    """Makes a project folder with a fresh shop in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROJECT:
        source = HERE / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    build(folder / "shop.db")


async def main(folder: Path, screen: Screen, *, kept: bool) -> int:
    """Plays the story in a prepared folder, then compares the books with what should be in them."""
    project = folder / "surehand.toml"
    story = read_story(folder / "calls.json")
    callers = read_project(project)[0].callers
    async with sh.open_project(project) as engine:
        caller = callers[story.caller]
        view = await engine.view(caller)
        listed = ", ".join(view.names)
        screen.title("Surehand: the support desk of a shop")
        screen.say(f"Working in {folder}", indent=2)
        screen.say(story.text, indent=2)
        screen.say(f"{caller.agent} works for {caller.id} of {caller.tenant}; it sees {listed}.", indent=2)
        for name, reason in view.hidden.items():
            screen.say(f"It does not see {name}: {reason}. (Only operators read this.)", indent=2)
        played = await play(engine, story, callers, screen)
        right = _books(folder, story, played, screen)
        verified = await _audit(engine, story, callers[story.auditor], played, screen)
    _goodbye(folder, story, played, screen, kept=kept)
    return 0 if right and verified else 1


def _books(folder: Path, story: Story, played: Played, screen: Screen) -> bool:
    screen.title("Refunds in the shop's database")
    paid = [RefundRow(*row[:4]) for row in refunds_of(folder / "shop.db")]
    screen.refunds(paid)
    expected = story.expected_refunds(played.approved)
    if sorted(paid) == expected:
        screen.say(f"refunds: exactly the {len(expected)} that should exist", "green")
        return True
    screen.say(f"refunds: WRONG, these should exist: {[tuple(row) for row in expected]}", "bold red")
    return False


async def _audit(engine: sh.Engine, story: Story, auditor: sh.Caller, played: Played, screen: Screen) -> bool:
    asked = next(iter(played.resumed.values()))
    screen.title(f"surehand call show {asked.call_id}")
    screen.story(await engine.audit.story(asked.call_id, by=auditor))
    screen.title("Audit")
    await engine.audit.seal()
    reports = await engine.audit.verify()
    for report in reports:
        counts = f"{report.rows} records, {report.sealed} sealed, {len(report.findings)} findings"
        screen.say(f"{report.tenant}: {counts}", indent=2)
        for finding in report.findings:
            screen.say(f"{finding.kind}: {finding.message}", "red", indent=4)
    verified = bool(reports) and all(report.ok for report in reports)
    screen.say("audit: verified" if verified else "audit: FAILED", "bold green" if verified else "bold red")
    return verified


def _goodbye(folder: Path, story: Story, played: Played, screen: Screen, *, kept: bool) -> None:
    waiting = next(result for result in played.results.values() if result.name == "cancel_order")
    if kept:
        screen.title(f"{waiting.name} still waits for a manager. Look around with:")
    else:
        screen.title("The working folder was temporary. To look around, run it again with --dir DIR, and then:")
    approval, call = (waiting.approval_id, waiting.call_id) if kept else ("APPROVAL", "CALL")
    for command in (
        f"approvals list --as {story.approver}",
        f"approvals approve {approval} --as {story.approver}",
        f"call resume {call} --as {story.caller}",
        f"call show {call} --as {story.auditor}",
        f"tools list --as {story.caller}",
        "audit verify",
    ):
        screen.command(f"surehand --project {folder if kept else 'DIR'}/surehand.toml {command}")

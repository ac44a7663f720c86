"""The demo from its first line to its exit code: a project folder, the run, the books, the audit."""

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
from surehand.testing import ScriptedModel, ScriptError

from .conversation import Conversation
from .desk.seed import build
from .desk.shop import refunds_of
from .play import Played, play
from .screen import Screen
from .story import APPROVER, AUDITOR, CALLER, MESSAGES, RUN, RefundRow, expected_refunds, written_calls

HERE = Path(__file__).resolve().parent

PROJECT = ("surehand.toml", "model.json", "rows.toml", "policies", "desk")
"""What a project folder is made of. Everything else in it comes from running it."""
ANOTHER = '{"order_id": "A-10388", "refund_no": 2, "amount_cents": 18900, "reason": "the other chair"}'
"""Arguments of a refund to try from the command line."""


def run(argv: Sequence[str] | None = None) -> int:
    """See `demo.run`."""
    parser = argparse.ArgumentParser(prog="support_desk", description="Plays a support desk's agent.")
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
    except ScriptError as error:
        print(f"\nThe model was answered other than its script expects: {error}", file=sys.stderr)
        return 1
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
    """Plays the run in a prepared folder, then compares the books with what should be in them."""
    project = folder / "surehand.toml"
    callers = read_project(project)[0].callers
    model = ScriptedModel.from_file(folder / "model.json")
    conversation = Conversation(screen, model, written_calls(folder / "model.json"), callers[CALLER].agent)
    async with sh.open_project(project) as engine:
        screen.title("Surehand: the support desk of a shop")
        screen.say(f"Working in {folder}", indent=2)
        await _introduce(engine, callers[CALLER], screen)
        played = await play(engine, model, callers, conversation)
        right = _books(folder, played, screen)
        verified = await _audit(engine, callers[AUDITOR], played, screen)
    _goodbye(folder, played, screen, kept=kept)
    return 0 if played.reason == "completed" and right and verified else 1


async def _introduce(engine: sh.Engine, caller: sh.Caller, screen: Screen) -> None:
    view = await engine.view(caller)
    screen.say(f"{caller.agent} works for {caller.id} of {caller.tenant}; it sees {', '.join(view.names)}.", indent=2)
    for name, reason in view.hidden.items():
        screen.say(f"It does not see {name}: {reason}. (Only operators read this.)", indent=2)
    screen.title(caller.id)
    for message in MESSAGES:
        if isinstance(message, str):
            screen.say(message, indent=2)


def _books(folder: Path, played: Played, screen: Screen) -> bool:
    screen.title("Refunds in the shop's database")
    paid = [RefundRow(*row[:4]) for row in refunds_of(folder / "shop.db")]
    screen.refunds(paid)
    expected = expected_refunds(chair_approved="refund_order" in played.approved)
    if sorted(paid) == expected:
        screen.say(f"refunds: exactly the {len(expected)} that should exist", "green")
        return True
    screen.say(f"refunds: WRONG, these should exist: {[tuple(row) for row in expected]}", "bold red")
    return False


async def _audit(engine: sh.Engine, auditor: sh.Caller, played: Played, screen: Screen) -> bool:
    call_id = played.asked["refund_order"].call_id
    screen.title(f"surehand call show {call_id}")
    screen.story(await engine.audit.story(call_id, by=auditor))
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


def _goodbye(folder: Path, played: Played, screen: Screen, *, kept: bool) -> None:
    if kept:
        screen.title("Look around, or ask for another refund that waits for finance, with:")
    else:
        screen.title("The working folder was temporary. To look around, run it again with --dir DIR, and then:")
    call = played.asked["refund_order"].call_id if kept else "CALL"
    for command in (
        f"run show {RUN} --as {CALLER}",
        f"call show {call} --as {AUDITOR}",
        f"approvals list --status all --as {APPROVER}",
        f"tools list --as {CALLER}",
        f"call refund_order --as {CALLER} --args '{ANOTHER}'",
        f"approvals list --as {APPROVER}",
        "audit verify",
    ):
        screen.command(f"surehand --project {folder if kept else 'DIR'}/surehand.toml {command}")

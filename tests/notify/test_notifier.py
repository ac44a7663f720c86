"""From an event of an engine to a person, and what happens when nobody answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.notify import Notifier, NotifySettings
from surehand.notify import notifier as the_notifier
from surehand.notify.channel import DeliveryError, UndeliverableError
from surehand.notify.message import Message
from tests.desk import ASK_FINANCE, Desk, pay_call, pay_tool, until
from tests.notify.servers import hook_server


class Collecting:
    """A channel that fails as often as it is told to."""

    name = "collecting"

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.got: list[Message] = []

    async def send(self, message: Message) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.got.append(message)


def attend(engine: sh.Engine, *channels: Any, **options: Any) -> Notifier:
    s = engine.services
    given: Any = {"waits_s": (0.0, 0.0), **options}
    notifier = Notifier(
        channels,
        s.store,
        problem=lambda where, text: s.emit("engine.problem", where=where, problem=text),
        new_id=lambda: f"ntf_{len(channels)}",
        **given,
    )
    engine.on_event(notifier.tell)
    s.attendants.append(notifier)
    return notifier


def problems_of(engine: sh.Engine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    engine.on_event(lambda event: found.append(event.data) if event.kind == "engine.problem" else None)
    return found


async def test_a_question_is_told_when_it_opens_and_when_it_is_decided(
    desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREHAND_WEBHOOK_SECRET", "0123456789abcdef")
    async with hook_server() as server:
        hook = NotifySettings(webhook=f"http://127.0.0.1:{server.port}/", allow_loopback=True)
        engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE, settings=sh.Settings(notify=hook))
        waiting = await engine.call(pay_call(amount=54_321), desk.alice)
        await engine.call(pay_call(amount=54_321), desk.alice)
        await until(lambda: len(server.posted) == 1)
        assert waiting.approval_id is not None
        await engine.approvals.approve(waiting.approval_id, by=desk.fiona)
        await engine.resume(waiting.call_id, by=desk.alice)
        await engine.close()
    opened, decided = (json.loads(posted.body) for posted in server.posted)
    assert (opened["event"], opened["status"], opened["asked"]) == ("call.waiting", "open", ["finance"])
    assert (opened["tool"], opened["requester"], opened["tenant"]) == ("pay", "alice", "acme")
    assert opened["reasons"] == ["payments over 100.00 need finance"]
    assert opened["decide"] == f"surehand approvals show {waiting.approval_id}"
    assert (decided["event"], decided["verdict"], decided["decided_by"]) == ("approval.decided", "approve", ["fiona"])
    for posted in server.posted:
        assert b"54321" not in posted.body
        assert b"bob" not in posted.body


async def test_what_fails_is_sent_again_and_then_told(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    away = DeliveryError("it is away")
    patient, stubborn = Collecting(away, away), Collecting(away, away, away)
    refused, broken = Collecting(UndeliverableError("no such place")), Collecting(RuntimeError("secret text"))
    notifier = attend(engine, patient, stubborn, refused, broken)
    problems = problems_of(engine)
    await notifier.start()
    result = await engine.call(pay_call(amount=50_000), desk.alice)
    await until(lambda: len(problems) == 3)
    assert result.status == "pending"
    assert [message.approval_id for message in patient.got] == [result.approval_id]
    assert stubborn.got == refused.got == []
    told = {one["problem"].rpartition(": ")[2] for one in problems}
    assert told == {"it is away", "no such place", "RuntimeError"}


async def test_what_cannot_be_sent_before_closing_is_told(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    notifier = attend(engine, Collecting(DeliveryError("away")), waits_s=(60.0,), grace_s=0.1)
    problems = problems_of(engine)
    await notifier.start()
    for no in (1, 2):
        await engine.call(pay_call(no, amount=50_000), desk.alice)
    await engine.close()
    assert len(problems) == 2
    assert all("closed before" in one["problem"] for one in problems)


async def test_the_queue_is_bounded(desk: Desk, open_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_notifier, "QUEUED", 2)
    engine: sh.Engine = await open_desk(pay_tool(desk), policies=ASK_FINANCE)
    notifier = attend(engine, Collecting(*[DeliveryError("away")] * 9), waits_s=(60.0,), grace_s=0.1)
    problems = problems_of(engine)
    await notifier.start()
    for no in range(9):
        assert (await engine.call(pay_call(no, amount=50_000), desk.alice)).status == "pending"
    await until(lambda: sum("too many" in one["problem"] for one in problems) >= 5)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('webhook = "http://hooks.example.com/"', "notify.webhook must be https"),
        ('webhook = "http://localhost/"', "notify.allow_loopback = true"),
        ('webhook = "https://u:p@hooks.example.com/"', "neither a user"),
        ('webhook = "https://"', "must name a host"),
        ('webhook = "https://x/\\n"', "plain ASCII"),
        ('email = ["fin@example.com"]', "mail needs"),
        ('email = "fin@example.com"', "must be a list"),
        ('email = ["a@b.c>, x@y.z"]\nemail_from = "a@b.c"\nsmtp = "smtps://m"', "no mail address"),
        ('email = ["a@b.c"]\nemail_from = "a@b.c"\nsmtp = "smtps://u:secret@m"', "must not hold a password"),
        ('email = ["a@b.c"]\nemail_from = "a@b.c"\nsmtp = "http://m"', "smtps://USER@HOST"),
        ("command = [1]", "must be a list of strings"),
        ('allow_loopback = "yes"', "true or false"),
        ('webhok = "https://x/"', "did you mean 'webhook'?"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, lines: str, says: str) -> None:
    file = tmp_path / "surehand.toml"
    file.write_text(f"[notify]\n{lines}\n", encoding="utf-8")
    with pytest.raises(sh.ConfigError) as refused:
        sh.read_project(file)
    assert says in str(refused.value)
    assert "secret@" not in str(refused.value)


def test_a_webhook_needs_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREHAND_WEBHOOK_SECRET", "short")
    settings = sh.Settings(notify=NotifySettings(webhook="https://hooks.example.com/"))
    with pytest.raises(sh.ConfigError, match=r"set \$SUREHAND_WEBHOOK_SECRET"):
        sh.open_engine(store="sqlite://", settings=settings)

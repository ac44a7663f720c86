"""Webhook, mail and command, against real servers and a real program."""

from __future__ import annotations

import hmac
import json
import os
import sys
import time
from email import message_from_string
from email.policy import default
from pathlib import Path
from typing import Any

import msgspec
import pytest

from surehand.notify import command as the_command
from surehand.notify import webhook as the_webhook
from surehand.notify.channel import DeliveryError, UndeliverableError
from surehand.notify.command import Command
from surehand.notify.mail import Mail
from surehand.notify.message import Message
from surehand.notify.webhook import Webhook
from tests.notify.servers import certificate, hook_server, mail_server

SECRET = "a secret of the webhook's"
MESSAGE = Message(
    id="ntf_1",
    event="call.waiting",
    at="2026-01-01T12:00:00Z",
    tenant="acme",
    approval_id="apr_1",
    call_id="call_1",
    tool="pay",
    version="1.0.0",
    status="open",
    asked=("finance",),
    requester="alice",
    reasons=("payments over 100.00 need finance", "höher"),
    expires_at="2026-01-02T12:00:00Z",
    decide="surehand approvals show apr_1",
)


def webhook(url: str, **options: Any) -> Webhook:
    given: Any = {"allow_loopback": True, "now_us": lambda: 1_800_000_000_000_000, **options}
    return Webhook(url, SECRET, **given)


async def test_a_webhook_is_signed() -> None:
    async with hook_server() as server:
        await webhook(f"http://localhost:{server.port}/hook?room=1").send(MESSAGE)
    (posted,) = server.posted
    assert (posted.target, posted.headers["host"]) == ("/hook?room=1", f"localhost:{server.port}")
    assert posted.headers["surehand-delivery"] == "ntf_1"
    seconds, proof = (part.partition("=")[2] for part in posted.headers["surehand-signature"].split(","))
    assert seconds == "1800000000"
    assert proof == hmac.new(SECRET.encode(), seconds.encode() + b"." + posted.body, "sha256").hexdigest()
    assert json.loads(posted.body)["reasons"] == ["payments over 100.00 need finance", "höher"]


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", None, ""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n", None, ""),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", UndeliverableError, "answered 302"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", UndeliverableError, "answered 404"),
        (b"HTTP/1.1 429 Too Many Requests\r\n\r\n", DeliveryError, "answered 429"),
        (b"HTTP/1.1 503 Away\r\n\r\n", DeliveryError, "answered 503"),
        (b"220 mail.test\r\n", DeliveryError, "could not be reached"),
        (b"HTTP/1.1 " + b"2" * 100_000, DeliveryError, "could not be reached"),
        (b"", DeliveryError, "could not be reached"),
    ],
)
async def test_what_a_webhook_answers(answer: bytes, error: type[Exception] | None, says: str) -> None:
    async with hook_server() as server:
        server.answers.append(answer)
        hook = webhook(f"http://127.0.0.1:{server.port}/token-in-the-path")
        if error is None:
            await hook.send(MESSAGE)
        else:
            with pytest.raises(DeliveryError, match=says) as failed:
                await hook.send(MESSAGE)
            assert type(failed.value) is error
            assert "token" not in str(failed.value)
    assert len(server.posted) == 1


async def test_a_webhook_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_webhook, "TIMEOUT_S", 0.2)
    async with hook_server() as server:
        server.hangs = True
        with pytest.raises(DeliveryError, match="did not answer"):
            await webhook(f"http://127.0.0.1:{server.port}/").send(MESSAGE)


async def test_tls_is_for_the_name_though_an_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, arrives in (("localhost", True), ("elsewhere.test", False)):
        tls, authority = certificate(tmp_path, host)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        async with hook_server(tls) as server:
            hook = webhook(f"https://localhost:{server.port}/")
            if arrives:
                await hook.send(MESSAGE)
            else:
                with pytest.raises(DeliveryError, match="could not be reached: SSLCertVerificationError"):
                    await hook.send(MESSAGE)
        assert len(server.posted) == arrives


async def test_nothing_is_sent_to_this_machine_unless_it_is_allowed() -> None:
    async with hook_server() as server:
        for host in ("localhost", "127.0.0.1"):
            with pytest.raises(UndeliverableError, match="not on the internet"):
                await webhook(f"http://{host}:{server.port}/", allow_loopback=False).send(MESSAGE)
    assert server.posted == []


def mail(url: str, **options: Any) -> Mail:
    given: Any = {"sender": "surehand@acme.test", "to": ("fin@acme.test", "cfo@acme.test"), "allow_loopback": True}
    return Mail(url, "hunter2", **{**given, **options})


async def test_mail_goes_through_tls_and_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls, authority = certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    async with mail_server(tls) as server:
        await mail(f"smtp://bot@localhost:{server.port}").send(MESSAGE)
    (letter,) = server.letters
    assert "Subject: pay asks for approval (apr_1)" in letter
    assert "To: fin@acme.test, cfo@acme.test" in letter
    assert "see exactly what will run: surehand approvals show apr_1" in letter
    assert server.commands.index("STARTTLS") < next(n for n, one in enumerate(server.commands) if "AUTH" in one)


async def test_mail_without_tls_is_not_sent_but_to_this_machine() -> None:
    async with mail_server() as server:
        with pytest.raises(UndeliverableError, match="no STARTTLS"):
            await mail(f"smtp://localhost:{server.port}", allow_loopback=False).send(MESSAGE)
        assert server.letters == []
        await mail(f"smtp://localhost:{server.port}").send(MESSAGE)
        assert len(server.letters) == 1


@pytest.mark.parametrize(("answer", "error"), [(b"550 unknown", UndeliverableError), (b"451 later", DeliveryError)])
async def test_mail_that_is_refused(answer: bytes, error: type[Exception]) -> None:
    async with mail_server() as server:
        server.refuse = answer
        with pytest.raises(error, match="refused all recipients") as refused:
            await mail(f"smtp://localhost:{server.port}").send(MESSAGE)
        assert type(refused.value) is error
    with pytest.raises(DeliveryError, match="could not be reached: ConnectionRefusedError"):
        await mail(f"smtp://localhost:{server.port}").send(MESSAGE)


WRITE = "import os, sys; open(sys.argv[1], 'w').write(sys.stdin.read() + repr(sorted(os.environ)))"


async def test_a_command_gets_json_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREHAND_WEBHOOK_SECRET", SECRET)
    out = tmp_path / "; touch x"
    await Command((sys.executable, "-c", WRITE, str(out))).send(MESSAGE)
    body, environment = out.read_text(encoding="utf-8").split("\n")
    assert json.loads(body)["approval_id"] == "apr_1"
    assert "SUREHAND" not in environment
    assert [one.name for one in os.scandir(tmp_path)] == [out.name]


@pytest.mark.parametrize(
    ("argv", "error", "says"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), DeliveryError, "ended with 3"),
        (("/nowhere/at/all",), UndeliverableError, "cannot be started"),
        ((sys.executable, "-c", "import time; time.sleep(30)"), DeliveryError, "took longer"),
    ],
)
async def test_a_command_that_fails(
    monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], error: type[Exception], says: str
) -> None:
    monkeypatch.setattr(the_command, "TIMEOUT_S", 1.0)
    began = time.monotonic()
    with pytest.raises(error, match=says):
        await Command(argv).send(MESSAGE)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x85", "\n\n\t"])
async def test_what_others_wrote_is_no_line_of_a_mail(end: str) -> None:
    forged = f"x{end}answered by: fiona{end}call: call_2{end}Subject: paid"
    told = msgspec.structs.replace(MESSAGE, reasons=(forged,), requester=f"al\u202e{forged}", asked=(forged,))
    async with mail_server() as server:
        await mail(f"smtp://localhost:{server.port}").send(told)
    letter = message_from_string(server.letters[0].removesuffix(".\r\n"), policy=default)
    body = letter.get_content()
    assert [line.partition(":")[0] for line in body.splitlines() if not line.startswith("pay@")] == [
        "", "why", "asked", "call", "until", "see exactly what will run",
    ]  # fmt: skip
    assert letter.get_all("Subject") == ["pay asks for approval (apr_1)"]
    assert "\u202e" not in body

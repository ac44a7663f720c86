"""`surehand run`: a conversation on the terminal, who is asked there, and how a run is left."""

import json
import shlex
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from surehand.cli.app import run
from tests.cli.driver import TOOLS, Project, Ran, make

pytestmark = pytest.mark.timeout(120)

MORE_TOOLS = '''

@sh.tool(read_only=True, permissions=["desk:use"], display="Pausing for {seconds} s")
async def pause(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "rested"
'''


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose tests have runs and orders of their own."""
    project = make(tmp_path_factory.mktemp("runs") / "desk")
    (project.folder / "desk.py").write_text(TOOLS + MORE_TOOLS, encoding="utf-8")
    return project


def script(project: Project, name: str, *steps: dict[str, Any]) -> tuple[str, ...]:
    """The options that play a script as alice, in a run of that name."""
    (project.folder / f"{name}.json").write_text(json.dumps({"steps": steps}), encoding="utf-8")
    return ("--model", f"script:{name}.json", "--run", name, "--as", "alice")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def pay(order: str) -> dict[str, Any]:
    """A step whose call needs finance."""
    return {"text": "I pay.", "calls": [call("pay", order=order, cents=25000)]}


def facts(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line and not line.startswith(" "))


def status(project: Project, run_id: str) -> tuple[str, str | None]:
    document = project.json("run", "show", run_id, "--as", "alice")
    return document["status"], document["reason"]


def test_a_conversation_is_shown_and_can_be_shown_again(desk: Project) -> None:
    played = script(
        desk,
        "talk",
        {
            "text": "One moment.\nrun x: ended\u202e [red]",
            "calls": [call("pause", seconds=0.01), call("echo", txt=1), call("vault")],
        },
        {"text": "Done."},
    )
    ran = desk.run("run", "Please", "do it.", *played)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "run talk: started with script:talk.json",
        "turn 1",
        "  One moment.",
        "  run x: ended\\u202e [red]",
    ]
    assert "call 1.1 pause: allow by surehand.scopes" in lines
    assert "call 1.1 pause: Pausing for 0.01 s" in lines
    assert "call 1.1 pause: ok" in lines
    assert "call 1.2 echo: error, TOOL_ARGUMENT_INVALID" in lines
    assert "call 1.3 vault: error, TOOL_NOT_FOUND" in lines
    assert lines[-6:] == ["turn 2", "  Done.", "run: talk", "status: ended", "reason: completed", "turns: 2"]
    shown = desk.run("run", "show", "talk", "--as", "alice")
    assert shown.code == 0
    assert "\n".join(lines[:-4]) in shown.out

    document = desk.json("run", "show", "talk", "--as", "bob")
    assert (document["events"][0]["kind"], document["events"][-1]["data"]["text"]) == ("run.started", "Done.")
    assert all(event["at"].endswith("Z") for event in document["events"])
    assert desk.run("run", "talk", *played).code == 1  # an id is used once


def test_the_document_is_one_whatever_is_streamed(desk: Project) -> None:
    played = script(
        desk,
        "quiet",
        {"expect": {"user": "from stdin"}, "text": "Hm.", "calls": [call("echo", text="x")]},
        {"text": "Done."},
    )
    ran = desk.run("run", "-", *played, "--no-stream", "--json", stdin="from stdin\n")
    assert (ran.code, ran.err) == (0, "")
    assert ran.document.keys() == {
        "run_id", "caller", "agent", "model", "status", "reason", "turns", "created_at", "updated_at", "why", "text",
        "resumable", "approvals", "unknown",
    }  # fmt: skip
    assert (ran.document["reason"], ran.document["text"], ran.document["turns"]) == ("completed", "Done.", 2)
    assert ran.document["resumable"] is False
    cut = desk.json(
        "run", "start", "list", *script(desk, "cut", {"calls": [call("echo", text="x")]}), "--turns", "1", code=1
    )
    assert (cut["reason"], cut["status"]) == ("limit", "ended")


def hint(ran: Ran) -> list[str]:
    return shlex.split(facts(ran.out)["next"])[1:]


def test_without_a_terminal_it_is_left_waiting_and_goes_on_later(desk: Project) -> None:
    played = script(desk, "later", pay("later"), {"expect": {"results": ["paid"]}, "text": "Paid."})
    ran = desk.run("run", "Pay.", *played, "--approve-as", "bob")
    assert (ran.code, facts(ran.out)["status"]) == (3, "waiting")
    assert "call 1.1 pay: ask finance by pay-large: payments over 100.00 need finance" in ran.out.splitlines()
    (told,) = [line for line in ran.out.splitlines() if line.startswith("approval apr_")]
    approve = shlex.split(told.split("`")[1])
    assert approve[-2:] == ["--as", "bob"]

    early = desk.run(*hint(ran), "--json")
    assert (early.code, early.document["status"], early.document["resumable"]) == (3, "waiting", True)
    assert [one["approval_id"] for one in early.document["approvals"]] == [approve[3]]
    assert desk.run(*approve[1:], "--yes").code == 0
    done = desk.run(*hint(ran))
    assert done.code == 0
    assert "call 1.1 pay: ok" in done.out.splitlines()
    over = desk.run(*hint(ran), "--json")  # asks nothing again
    assert (over.code, over.document["text"]) == (0, "Paid.")


def test_a_person_at_the_terminal_rejects(desk: Project) -> None:
    played = script(desk, "reject", pay("reject"), {"expect": {"results": ["wrong order"]}, "text": "I see."})
    answers = [("Approve exactly this as bob? [y/N], or r", "r\n"), ("Why? The model reads it: ", "wrong order\n")]
    code, shown = desk.on_terminal("run", "Pay.", *played, "--approve-as", "bob", answers=answers, TERM="dumb")
    assert code == 0
    assert '    "cents": 25000' in shown.splitlines()
    assert "call 1.1 pay: denied, APPROVAL_REJECTED" in shown.splitlines()
    assert facts(shown)["reason"] == "completed"


def test_neither_silence_nor_what_was_typed_before_is_a_yes(desk: Project) -> None:
    played = script(desk, "silence", {"calls": [call("pause", seconds=0.6)]}, pay("silence"), {"text": "Done."})
    answers = [("turn 1", "y\n"), ("Approve exactly this as bob? [y/N]", "\n")]
    code, shown = desk.on_terminal(
        "run", "Pay.", *played, "--approve-as", "bob", "--no-wait", answers=answers, TERM="dumb"
    )
    assert (code, status(desk, "silence")) == (3, ("waiting", None))
    assert "not approved; the question stays open" in shown.splitlines()
    cancelled = desk.json("run", "cancel", "silence", "--as", "alice")
    assert (cancelled["status"], cancelled["reason"]) == ("ended", "cancelled")
    assert desk.json("approvals", "list", "--as", "alice")["approvals"] == []


def test_it_goes_on_by_itself_when_somebody_else_decides(desk: Project) -> None:
    played = script(desk, "elsewhere", pay("elsewhere"), {"text": "Paid."})
    ended: list[tuple[int, str]] = []
    terminal = threading.Thread(target=lambda: ended.append(desk.on_terminal("run", "Pay.", *played, TERM="dumb")))
    terminal.start()
    deadline = time.monotonic() + 30
    while not (found := desk.json("approvals", "list", "--as", "bob")["approvals"]):
        assert time.monotonic() < deadline
    assert desk.run("approvals", "approve", found[0]["approval_id"], "--yes", "--as", "bob").code == 0
    terminal.join(timeout=30)
    ((code, shown),) = ended
    assert (code, facts(shown)["reason"]) == (0, "completed")
    assert "Approve exactly this" not in shown


def test_ctrl_c_while_it_waits_leaves_it_waiting(desk: Project) -> None:
    played = script(desk, "leave", pay("leave"), {"text": "Paid."})
    code, shown = desk.on_terminal("run", "Pay.", *played, answers=[("bob decides it with", "^C")], TERM="dumb")
    assert (code, status(desk, "leave")) == (130, ("waiting", None))
    resume = "surehand run --run leave --model script:leave.json --as alice"
    assert shown.splitlines()[-1] == f"surehand: interrupted; run leave: it is left as it stands; go on with {resume}"
    desk.json("run", "cancel", "leave", "--as", "alice")


def test_ctrl_c_while_a_tool_works_cancels_it(desk: Project) -> None:
    played = script(desk, "stop", {"calls": [call("slow", order="stop")]}, {"text": "Done."})
    process = desk.start("run", "Wait.", *played, "--json")
    deadline = time.monotonic() + 30
    while not (desk.folder / "started").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    document = json.loads(out)
    (lost,) = document["unknown"]  # it was at work: nobody knows how far it came
    said = f"surehand: interrupted; run stop: it was cancelled; unknown whether done: {lost}\n"
    assert (process.returncode, err) == (130, said)
    assert (document["run_id"], document["status"], document["reason"]) == ("stop", "ended", "cancelled")


def test_a_failure_that_may_pass_can_be_gone_on_from(desk: Project) -> None:
    played = script(desk, "fail", {"text": "Hm.", "calls": [call("echo", text="x")]}, *[{"fail": 500}] * 3)
    failed = desk.run("run", "Do.", *played)
    assert (failed.code, facts(failed.out)["reason"]) == (1, "failed")
    script(desk, "fail", {"text": "Hm.", "calls": [call("echo", text="x")]}, {"text": "Done."})
    again = desk.run(*hint(failed), "--json")
    assert (again.code, again.document["reason"], again.document["turns"]) == (0, "completed", 2)
    for_good = desk.json("run", "Do.", *script(desk, "broken", {"fail": 401}), code=1)
    assert (for_good["reason"], for_good["resumable"]) == ("failed", False)
    assert for_good["why"]


def test_runs_are_listed_for_those_who_may_see_them(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    empty = project.run("run", "list", "--as", "alice")
    assert (empty.code, empty.out, empty.err) == (
        0,
        "",
        "no run yet; start one with `surehand run MESSAGE --model MODEL`\n",
    )
    project.json("run", "Hi.", *script(project, "one", {"text": "Hello."}))
    row = project.run("run", "list", "--as", "bob").out.rstrip("\n").split("\t")
    assert row[:6] == ["one", "ended", "completed", "1", "openai-chat:script:one.json", "alice"]
    assert project.json("run", "list", "--as", "eve")["runs"] == []
    foreign = project.json("run", "show", "one", "--as", "eve", code=1)["error"]
    assert (foreign["code"], foreign["message"]) == (
        "not_found", "there is no run 'one'; `surehand run list` shows those there are",
    )  # fmt: skip
    assert project.run("run", "cancel", "one", "--as", "eve").code == 1


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        pytest.param(["--model", "script:x.json"], 2, "say something", id="nothing-said"),
        pytest.param(["Hi."], 2, "--model", id="no-model"),
        pytest.param([" ", "--model", "script:x.json"], 2, "it is empty", id="empty"),
        pytest.param(["--run", "x", "--turns", "3", "--model", "script:x.json"], 2, "keeps its bounds", id="bounds"),
        pytest.param(["show", "call_1"], 2, "is a call, not a run", id="call"),
        pytest.param(["Hi.", "--model", "script:x.json", "--approve-as", "eve"], 1, "decides nothing", id="tenant"),
        pytest.param(["Hi.", "--model", "gpt-5"], 2, "is not a model; write openai:NAME", id="model"),
        pytest.param(["Hi.", "--model", "gemini:m"], 2, "; did you mean google:m?", id="provider"),
        pytest.param(["Hi.", "--model", "groq:m"], 1, "there is no key; set GROQ_API_KEY", id="compatible"),
        pytest.param(["Hi.", "--model", "script:no.json"], 1, "no.json", id="script"),
    ],
)
def test_what_is_not_begun_is_told(
    desk: Project, capsys: pytest.CaptureFixture[str], args: list[str], code: int, said: str
) -> None:
    assert run(["run", *args, "--as", "alice", "--json", "--project", str(desk.folder / "surehand.toml")]) == code
    shown = capsys.readouterr()
    assert said in json.loads(shown.out)["error"]["message"]
    assert shown.err.startswith("surehand: ")


def test_a_provider_that_a_module_of_the_project_registers_is_a_model(tmp_path: Path) -> None:
    project = make(tmp_path / "own")
    registering = (
        "from msgspec.structs import replace\nimport surehand as sh\nfrom surehand.providers import dialect\n"
        'facts = replace(dialect("vllm").profile, base_url="http://127.0.0.1:1/v1")\n'
        'sh.register_provider("our-vllm", "openai-chat", facts)\n'
    )
    (project.folder / "desk.py").write_text(registering + TOOLS, encoding="utf-8")
    ended = project.json("run", "Hi.", "--model", "our-vllm:m", "--as", "alice", code=1)
    assert (ended["model"], ended["resumable"]) == ("our-vllm:m", True)
    assert "cannot be reached" in ended["why"]
    misspelt = project.run("run", "Hi.", "--model", "our-vlm:m", "--as", "alice")
    assert (misspelt.code, "; did you mean our-vllm:m?" in misspelt.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(["Hi.", "--model", "openai:gpt-5"], "OPENAI_API_KEY", id="key"),
        pytest.param(["--run", "nosuch", "--model", "script:misfit.json"], "there is no run 'nosuch'", id="run"),
    ],
)
def test_what_cannot_go_on_is_told(desk: Project, args: list[str], said: str) -> None:
    script(desk, "misfit", {"text": "x"})
    assert said in desk.json("run", *args, "--as", "alice", code=1)["error"]["message"]


def test_help_is_of_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--help"]) == 0
    assert "cancel" in capsys.readouterr().out
    assert run(["run"]) == 2

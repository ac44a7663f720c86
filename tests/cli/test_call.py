"""`surehand call`: results, exit codes, and text that tries to be more than text."""

import signal
import time
from pathlib import Path

import pytest

from tests.cli.driver import Project, make

pytestmark = pytest.mark.timeout(120)


def test_a_call_prints_its_result(project: Project) -> None:
    ran = project.run("call", "echo", "--args", '{"text": "hello"}', "--as", "alice")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == ["status: ok", "tool: echo@1.0.0"]
    assert ran.out.splitlines()[-1] == "  hello"


def test_the_document_of_a_result(project: Project) -> None:
    (project.folder / "arguments.json").write_text('{"order": "d1", "cents": 5}', encoding="utf-8")
    document = project.json("--as", "alice", "call", "pay", "--args", "@arguments.json")
    assert document.keys() == {
        "call_id", "tool_call_id", "name", "version", "status", "content", "structured", "artifacts", "error",
        "is_error", "approval_id", "answered_by", "edited_by", "replayed", "cached", "stale", "fallback_for",
        "display", "notice", "trust",
    }  # fmt: skip
    assert (document["status"], document["structured"], document["replayed"]) == ("ok", {"paid": 5}, False)
    again = project.run(
        "call", "--json", "--as=alice", "pay@1.0.0", "--args", "-", stdin='{"order": "d1", "cents": 5}'
    ).document
    assert (again["call_id"], again["replayed"]) == (document["call_id"], True)


def test_a_tool_named_like_a_command_has_a_long_form(project: Project) -> None:
    assert project.json("call", "run", "show", "--as", "alice")["content"] == "shown"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(["vault"], "TOOL_NOT_FOUND", id="hidden"),
        pytest.param(["echo", "--args", '{"text": '], "ARGUMENTS_TRUNCATED", id="cut-off"),
        pytest.param(["slow", "--args", '{"order": "x"}'], "POLICY_DENIED", id="no-key"),
    ],
)
def test_what_is_refused_is_an_answer(project: Project, args: list[str], code: str) -> None:
    ran = project.run("call", *args, "--as", "alice", "--json")
    assert (ran.code, ran.err, ran.document["error"]["code"]) == (1, "", code)
    assert "surehand call show" not in ran.out


def test_text_of_a_tool_is_text(project: Project) -> None:
    text = "[red]x[/red] :smile: \\u001b[2J\\u202e\\u2063 {y}\\nstatus: denied"
    ran = project.run("call", "echo", "--args", f'{{"text": "{text}"}}', "--as", "alice")
    assert ran.code == 0
    assert ran.out.isascii()
    assert "\x1b" not in ran.out
    assert "[red]x[/red] :smile:" in ran.out
    assert "\\u2063 {y}" in ran.out
    assert [line for line in ran.out.splitlines() if line.startswith("status")] == ["status: ok"]
    assert "  status: denied" in ran.out.splitlines()


def test_a_run_gives_a_key_and_ctrl_c_settles(project: Project) -> None:
    step = ("--run", "r1", "--turn", "2", "--position", "1")
    process = project.start("call", "slow", "--as", "alice", "--json", "--args", '{"order": "s"}', *step)
    deadline = time.monotonic() + 30
    while not (project.folder / "started").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    call_id = out.partition('"call_id": "')[2].partition('"')[0]
    assert '"code": "interrupted"' in out
    assert err == f"surehand: interrupted; see how it ended: surehand call show {call_id}\n"
    story = project.json("call", "show", call_id, "--as", "alice")
    assert story["status"] in ("cancelled", "unknown")
    assert (story["facts"]["step_index"], story["facts"]["position"]) == (2, 1)


def test_the_story_of_a_call(project: Project) -> None:
    made = project.json("call", "pay", "--args", '{"order": "story", "cents": 1}', "--as", "alice")
    ran = project.run("call", "show", made["call_id"], "--as", "bob")
    assert ran.code == 0
    facts = dict(line.split(": ", 1) for line in ran.out.splitlines() if ": " in line and not line.startswith(" "))
    assert facts["call"] == made["call_id"]
    assert facts["tool"] == "pay@1.0.0"
    assert facts["caller"] == "alice, tenant acme, agent desk-bot, environment test"
    assert (facts["decision"], facts["policies"]) == ("allow", "surehand.scopes")
    assert facts["validated"] == "as written, nothing was changed"
    assert facts["effect"]
    assert facts["recoverable"] == "not needed"
    records = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    assert [kind for _, kind, _ in records] == ["call.started", "call.settled", "call.finished"]
    assert all(at.endswith(("+01:00", "+02:00")) for at, _, _ in records)
    foreign = project.run("call", "show", made["call_id"], "--as", "eve")
    assert (foreign.code, foreign.out) == (1, "")
    assert foreign.err.startswith("surehand: nothing is recorded of a call")


def test_a_call_of_unknown_outcome_is_settled_by_evidence(project: Project) -> None:
    empty = project.run("call", "unknown", "list", "--as", "eve")
    assert (empty.code, empty.err) == (0, "no call of unknown outcome; there is nothing to settle\n")
    lost = project.run("call", "pay", "--args", '{"order": "lost", "cents": 7}', "--as", "alice")
    assert (lost.code, lost.out.splitlines()[0]) == (1, "status: unknown")
    listed = project.json("call", "unknown", "list", "--as", "bob")["calls"][0]
    call_id = listed["call_id"]
    assert (listed["arguments"], listed["checkable"]) == ({"order": "lost", "cents": 7}, True)
    shown = project.run("call", "unknown", "list", "--as", "bob").out
    assert shown.startswith(call_id)
    assert 0 <= listed["age_s"] < 60
    assert '{"order": "lost", "cents": 7}' in shown
    assert lost.out.splitlines()[-1] == f"next: surehand call unknown check {call_id} --as alice"
    assert (listed["status"], listed["caller"]["id"], listed["started_at"][-1]) == ("unknown", "alice", "Z")
    assert project.json("call", "unknown", "check", call_id, "--as", "bob", code=1)["status"] == "unknown"
    settle = ("call", "unknown", "resolve", call_id, "--evidence", "the bank says so")
    assert project.run(*settle, "--as", "bob").code == 2
    assert project.run(*settle, "--done", "--as", "alice").code == 1
    for broken in ('{"paid": 7, "paid": 8}', '{"paid": NaN}', ""):
        refused = project.run(*settle, "--done", "--result", broken, "--as", "bob")
        assert (refused.code, "not JSON" in refused.err) == (2, True)
    settled = project.run(*settle, "--done", "--result", '{"paid": 7}', "--as", "bob")
    assert (settled.code, settled.out.splitlines()[0]) == (0, "status: ok")
    assert project.json("call", "resume", call_id, "--as", "alice")["structured"] == {"paid": 7}


def test_a_terminal_shows_what_a_long_call_tells(project: Project) -> None:
    slow = ("call", "slow", "--as", "alice", "--args", '{"order": "t"}', "--key", "k1")
    code, shown = project.on_terminal(*slow, answers=[("[red]half way", "^C")])
    assert code == 130
    assert "surehand: interrupted; see how it ended: surehand call show call_" in shown


def test_loose_arguments_are_read_where_the_project_is_lenient(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    loose = ("--args", "{'text': 'it\\'s',}", "--as", "alice")
    refused = project.json("call", "echo", *loose, code=1)
    assert refused["error"]["code"] == "ARGUMENTS_NOT_JSON"
    explain = ("policy", "explain", "echo", *loose)
    assert "not JSON" in project.run(*explain).err
    file = project.folder / "surehand.toml"
    file.write_text('arguments = "lenient"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    done = project.json("call", "echo", *loose)
    assert done["content"] == "it's"
    shown = project.run("call", "show", done["call_id"], "--as", "alice").out
    assert "parsed: leniently: Python's escapes, single quotes, trailing commas" in shown.splitlines()
    story = project.json("call", "show", done["call_id"], "--as", "alice")
    assert story["liberties"] == ["Python's escapes", "single quotes", "trailing commas"]
    assert project.json(*explain)["arguments"] == {"text": "it's"}


def test_the_rows_of_policies_are_as_strict_as_calls(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    rows = project.folder / "rows.toml"
    rows.write_text(
        '[[row]]\ncaller = "alice"\ntool = "pay"\narguments = {order = "x", cents = "5"}\nexpect = "allow"\n',
        encoding="utf-8",
    )
    assert project.json("policy", "test", str(rows))["ok"] is True
    file = project.folder / "surehand.toml"
    file.write_text('arguments = "strict"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    (row,) = project.json("policy", "test", str(rows), code=1)["results"]
    assert 'expected an integer, got the string "5"' in row["problems"][0]

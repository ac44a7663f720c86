"""`Printer`: text of others stays text."""

import io
import json
import re

import pytest

from surehand.cli.printer import Printer, local_time, one_line, utc_time


@pytest.fixture
def stream() -> io.StringIO:
    """Where a printer writes."""
    return io.StringIO()


def test_rows_are_lines_with_tabs(stream: io.StringIO) -> None:
    Printer(stream).table(("A", "B"), [("x\ty\nz", ""), ("[b]1[/b]", "\x1b[2J\u200b")])
    assert stream.getvalue() == "x\\ty\\nz\t-\n[b]1[/b]\t\\x1b[2J\\u200b\n"


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


def test_ids_stay_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    run_id, call_id = f"run_{'a' * 32}", f"call_{'b' * 32}"
    shown = Terminal()
    cells = ("2026-11-30 17:16:43+00:00", "call.finished", call_id, "find_order@1.0.0", "sam", "denied")
    Printer(shown).table(("TIME", "KIND", "CALL", "TOOL", "CALLER", "WHAT"), [cells])
    cells = (run_id, "ended", "completed", "3", "openai-chat:script:model.json", "sam", "2026-11-30 17:16:43+00:00")
    Printer(shown).table(("RUN", "STATUS", "REASON", "TURNS", "MODEL", "CALLER", "UPDATED"), [cells])
    assert call_id in shown.getvalue()
    assert run_id in shown.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue())
    assert max(map(len, plain.splitlines())) <= 80


def test_facts_without_a_value_are_left_out(stream: io.StringIO) -> None:
    Printer(stream).facts([("a", "1\n2"), ("b", "")])
    assert stream.getvalue() == "a: 1\\n2\n"


def test_a_block_cannot_pass_for_ours(stream: io.StringIO) -> None:
    Printer(stream).block("one\r\nstatus: ok\x85\u2028x")
    assert stream.getvalue() == "  one\\x0d\n  status: ok\\x85\\u2028x\n"


def test_a_document_is_ascii(stream: io.StringIO) -> None:
    Printer(stream).document({"a": "\u202eü\ud800", "b": 2**70})
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue()) == {"a": "\u202eü\ud800", "b": 2**70}


def test_times() -> None:
    assert utc_time(1_796_050_079_000_001) == "2026-11-30T14:47:59.000001Z"
    assert utc_time(None) is None
    assert local_time(1_796_050_079_000_001)[-6] in "+-"
    assert local_time(None) == ""
    assert one_line("a\nb") == "a\\nb"

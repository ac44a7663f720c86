"""What went wrong, for people and for programs: the one place that turns exceptions into exit codes."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from typing import Any, TextIO

from typer.exceptions import TyperException

from ..errors import ApprovalError, PolicyError, RegistryError, SurehandError
from .printer import Printer, one_line

OK = 0
FAILED = 1
"""The command failed, or was refused."""
USAGE = 2
PENDING = 3
"""The call waits for a person."""
INTERRUPTED = 130
EXIT_CODES = "Exit codes: 0 ok, 1 failed or refused, 2 usage, 3 waits for approval, 130 interrupted by Ctrl-C."

_HELP = "Usage:"
"""How the message of a command without arguments starts: it is the whole help."""
_KINDS = {
    "ConfigError": "config",
    "SpecError": "spec",
    "RegistryError": "registry",
    "PolicyError": "policy",
    "ApprovalError": "approval",
    "NotFoundError": "not_found",
    "NotAllowedError": "not_allowed",
    "StoreError": "store",
    "AuditError": "audit",
    "AlreadySettledError": "already_settled",
    "HandlerExit": "unexpected",
}
_METHODS = frozenset(
    {
        "register", "replace", "unregister", "disable", "get", "alias", "resolve", "call", "promote", "deprecate",
        "canary", "kill", "revive", "policies",
    }
)  # fmt: skip
_ADVICE = {
    "approval.not_grantable": "`surehand policy explain` says what a call would be asked",
    "approval.not_entitled": "choose another caller with --as NAME",
    "approval.mismatch": "look at it again with `surehand approvals show`",
}


_NOT_FOUND = {
    "run": "`surehand run list` shows those there are",
    "call": "`surehand audit list` shows calls, to those who may read the audit",
    "tenant": "`surehand audit verify` checks all there are",
    "tool": "`surehand tools list` shows those there are",
    "approval": "`surehand approvals list --status all` shows all there are",
    "grant": "`surehand grants list --all` shows all there are",
    "deputy": "`surehand approvals deputies` lists those that hold now",
    "change": "`surehand changes list` shows those that wait",
}
"""What was not found -> how such things are listed."""
_WHAT = re.compile(rf"\b({'|'.join(_NOT_FOUND)}) (?:as )?['\"]")
"""What a refusal names before the id."""


class AlreadySettledError(SurehandError):
    """A call that was to be settled is settled."""


class InterruptedCommand(Exception):
    """Ctrl-C ended a command."""

    def __init__(self, call_id: str | None) -> None:
        super().__init__(call_id)
        self.call_id = call_id
        """Of the call that had been started by then."""


def report(error: Exception, answers: TextIO, *, as_json: bool) -> int:
    """Says on stderr what went wrong and what to do; with `--json` also as the document on stdout.

    Returns:
        The exit code.
    """
    code, message, details, exit_code = _described(error)
    if isinstance(error, TyperException) and error.format_message().startswith(_HELP):
        sys.stderr.write(f"{error.format_message()}\n")
    else:
        for line in message.split("\n"):
            sys.stderr.write(f"surehand: {one_line(line)}\n")
    if as_json:
        Printer(answers).document({"error": {"code": code, "message": message, **details}})
    return exit_code


def _described(error: Exception) -> tuple[str, str, dict[str, Any], int]:
    if isinstance(error, TyperException):
        return "usage", _usage(error), {}, USAGE
    if isinstance(error, InterruptedCommand):
        after = f"; see how it ended: surehand call show {error.call_id}" if error.call_id else ""
        return "interrupted", f"interrupted{after}", {"call_id": error.call_id}, INTERRUPTED
    if isinstance(error, SurehandError):
        return *_refused(error), FAILED
    return "unexpected", f"unexpected {type(error).__name__}{_place(error)}: {error}", {}, FAILED


def _usage(error: TyperException) -> str:
    ctx = getattr(error, "ctx", None)
    text = error.format_message().replace(": Value error, ", ": ")  # what pydantic calls it
    if text.startswith(_HELP):
        text = "a command is missing"
    return text if ctx is None else f"{text.rstrip('.')} (try: {ctx.command_path} --help)"


def _refused(error: SurehandError) -> tuple[str, str, dict[str, Any]]:
    code = _KINDS.get(type(error).__name__, "surehand")
    details: dict[str, Any] = {}
    if isinstance(error, ApprovalError | RegistryError):
        code = f"{code}.{error.code}"
    if isinstance(error, PolicyError):
        details["problems"] = error.problems
    text = _without_prefix(str(error))
    return code, text if "`surehand " in text else text + _advice(code, text), details


def _advice(code: str, text: str) -> str:
    if code.rpartition(".")[2] == "not_found":
        what = None if ";" in text else _WHAT.search(text)  # after a semicolon it gives advice of its own
        return "" if what is None else f"; {_NOT_FOUND[what[1]]}"
    advice = _ADVICE.get(code)
    return "" if advice is None else f"; {advice}"


def _without_prefix(text: str) -> str:
    """Without the name of the method that refused, which nobody called who is at a command line."""
    method, colon, rest = text.partition(": ")
    return rest if colon and method in _METHODS else text


def _place(error: BaseException) -> str:
    """Where it was raised: the only part of a traceback that its reader needs first."""
    if isinstance(error, SyntaxError):
        return f" at {error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


class OneLine(logging.Formatter):
    """Log records as lines of the command's own, without tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        error = record.exc_info[1] if record.exc_info else None
        cause = f": {type(error).__name__}{_place(error)}: {error}" if error is not None else ""
        return one_line(f"surehand: {record.levelname.lower()}: {record.getMessage()}{cause}")


def log_as_lines() -> None:
    """Lets warnings of the engine and of handlers be seen on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)

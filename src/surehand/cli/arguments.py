"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer


def _call_id(value: str) -> str:
    if value.startswith("apr_"):
        raise typer.BadParameter(
            f"{value} is an approval; a call begins with call_, and `surehand approvals show {value}` names it"
        )
    return value


def _approval_id(value: str) -> str:
    if value.startswith("call_"):
        raise typer.BadParameter(
            f"{value} is a call; an approval begins with apr_, and `surehand approvals list` shows those there are"
        )
    return value


CallId = Annotated[str, typer.Argument(metavar="CALL_ID", callback=_call_id, help="The call.")]
ApprovalId = Annotated[str, typer.Argument(metavar="ID", callback=_approval_id, help="The approval.")]

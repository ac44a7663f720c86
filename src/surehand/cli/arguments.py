"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated, Any, cast

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


def json_value(text: str, option: str) -> Any:
    """The one JSON value that a text is, under the rules that hold for models: no equal keys, no NaN.

    Raises:
        BadParameter: It is none.
    """
    from ..schema import parse_json

    try:
        return parse_json(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint=option) from None


def json_object(text: str, option: str, stands_for: str = "") -> dict[str, Any]:
    """Likewise an object. Empty text is none: it is more often a file that was not there.

    Raises:
        BadParameter: It is none.
    """
    value = json_value(text, option)
    if not isinstance(value, dict):
        raise typer.BadParameter(f"must be a JSON object{stands_for}", param_hint=option)
    return cast("dict[str, Any]", value)


CallId = Annotated[str, typer.Argument(metavar="CALL_ID", callback=_call_id, help="The call.")]
ApprovalId = Annotated[str, typer.Argument(metavar="ID", callback=_approval_id, help="The approval.")]

"""What `calls.json` says: the calls that a model made, in turns, and the refunds that should exist afterwards."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import surehand as sh


class RefundRow(NamedTuple):
    """One refund in the shop's database."""

    tenant: str
    order_id: str
    refund_no: int
    amount_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One call of the model."""

    call: sh.ToolCall
    why: str
    """What it shows."""
    expect: str
    """Status, error code or `ok replayed`: what the tests compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the model asked for at once."""

    calls: list[Planned]
    at_once: bool
    """Whether the application runs them concurrently, or one after the other."""
    then_ask_about: str | None
    """The call whose approval a person is asked for after this turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The whole conversation."""

    run: str
    caller: str
    approver: str
    auditor: str
    text: str
    turns: list[Turn]
    refunds: list[dict[str, Any]]

    def expected_refunds(self, approved: Collection[str]) -> list[RefundRow]:
        """The refunds that should exist, given which calls a person approved."""
        return sorted(
            RefundRow(one["tenant"], one["order_id"], one["refund_no"], one["amount_cents"])
            for one in self.refunds
            if one.get("only_if_approved") is None or one["only_if_approved"] in approved
        )


def read_story(file: Path) -> Story:
    """Reads `calls.json`. Arguments stay the text that the model wrote, right or wrong."""
    data = json.loads(file.read_text(encoding="utf-8"))
    return Story(
        run=data["run"],
        caller=data["caller"],
        approver=data["approver"],
        auditor=data["auditor"],
        text=data["story"],
        turns=[
            Turn(
                calls=[
                    Planned(
                        call=sh.ToolCall(id=one["id"], name=one["name"], arguments=one["arguments"]),
                        why=one["why"],
                        expect=one["expect"],
                    )
                    for one in turn["calls"]
                ],
                at_once=turn["at_once"],
                then_ask_about=turn.get("then_ask_about"),
            )
            for turn in data["turns"]
        ],
        refunds=data["refunds"],
    )

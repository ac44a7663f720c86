"""Views with more tools than a model is shown: what is shown, what is found, and that nothing hidden is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import surehand as sh
from surehand.search import relevant
from surehand.search.bm25 import Index, words
from surehand.testing import ScriptedModel
from tests.agent.raw import drive
from tests.desk import Desk

SMALL = sh.Settings(limits=sh.Limits(view_tools=4), always=("help",))


def tool(name: str, text: str, **fields: Any) -> sh.Tool:
    async def handler(context: Any, json: str) -> str:
        return f"{name} ran"

    parameters = {"type": "object", "properties": {"order_id": {"type": "string"}}, "additionalProperties": False}
    return sh.raw_tool(
        sh.ToolSpec(name=name, description=text, parameters=parameters, read_only=True, **fields), handler
    )


TOOLS = [
    tool("help", "Shows the manual."),
    tool("refund_order", "Pays money of an order back."),
    tool("track_parcel", "Tells where a parcel is."),
    tool("weather", "Tells the weather of a city."),
    tool("fx_rate", "Converts currencies."),
    tool("secret_ledger", "Shows the refund ledger.", permissions=("ledger",)),
]


def search(query: str, **more: Any) -> sh.ToolCall:
    return sh.ToolCall(id="s", name="search_tools", arguments={"query": query, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("listOrders", ["list", "order"]),
        ("get_order-lines.v2", ["get", "order", "line", "v2"]),
        ("Policies, glass, bus", ["policy", "glass", "bus"]),
        ("\uff32\uff45fund", ["refund"]),
        ("Überweisung 入金", ["überweisung", "入金"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_rare_words_count_more_and_nothing_shared_is_nothing_found() -> None:
    index = Index([{"order": 1, "find": 1}, {"order": 3, "refund": 1}, {"weather": 1}, {}])
    assert index.rank(["order"], 5) == [1, 0]
    assert index.rank(["find", "order"], 5)[0] == 0
    assert index.rank(["order"], 1) == [1]
    assert index.rank(["nothing"], 5) == []
    assert Index([]).rank(["a"], 5) == []


async def test_a_large_view_shows_what_is_always_shown_and_the_search(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    view = await engine.view(desk.alice)
    assert view.names == ("help", "search_tools")
    assert {name: one.reason for name, one in view.hidden.items()} == {
        "fx_rate": "too_many", "refund_order": "too_many", "secret_ledger": "permission",
        "track_parcel": "too_many", "weather": "too_many",
    }  # fmt: skip
    assert (await engine.view(desk.alice, loaded=["weather", "secret_ledger", "nope"])).names == (
        "help", "search_tools", "weather",
    )  # fmt: skip
    assert len((await engine.view(desk.alice, loaded=["weather", "fx_rate", "track_parcel"])).tools) == 4
    whole = await engine.view(desk.alice, fit=False)
    assert whole.names == ("fx_rate", "help", "refund_order", "search_tools", "track_parcel", "weather")


async def test_a_view_that_fits_has_no_search(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(*TOOLS[:4], settings=SMALL)
    assert (await engine.view(desk.alice)).names == ("help", "refund_order", "track_parcel", "weather")
    engine.registry.register(TOOLS[4])
    assert (await engine.view(desk.alice)).names == ("help", "search_tools")
    engine.registry.unregister("fx_rate")
    view = await engine.view(desk.alice)
    assert (len(view.tools), view.hidden["search_tools"].reason) == (4, "not_needed")


async def test_search_reveals_what_the_caller_may_see_and_nothing_else(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    result = await engine.call(search("refund the money", limit=3), desk.alice)
    assert result.status == "ok"
    assert [one["name"] for one in result.structured["tools"]] == ["refund_order"]
    assert "Pays money of an order back." in result.content
    assert "secret" not in result.content
    rich = replace(desk.alice, scopes=("ledger",))
    found = await engine.call(search("refund ledger"), rich)
    assert [one["name"] for one in found.structured["tools"]] == ["secret_ledger", "refund_order"]
    assert (await engine.call(search("zzz"), desk.alice)).structured == {"tools": []}
    await engine.audit.seal()
    rows = [row.kind for row in await engine.audit.list(by=replace(desk.alice, roles=("auditor",)))]
    assert rows.count("call.finished") == 3


async def test_search_is_governed_like_any_tool(desk: Desk, open_desk: Any) -> None:
    forbids = '@id("no-search") forbid (principal, action == Action::"call/search_tools", resource);'
    engine: sh.Engine = await open_desk(*TOOLS, settings=SMALL, policies=forbids)
    result = await engine.call(search("refund"), desk.alice)
    assert result.error is not None
    assert result.error.code == "TOOL_NOT_FOUND"
    # Without a search the places are filled by name: some tools rather than none.
    assert (await engine.view(desk.alice)).names == ("fx_rate", "help", "refund_order", "track_parcel")


async def test_what_a_run_found_is_in_its_next_turns_also_after_a_restart(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    steps: list[Any] = [
        {
            "expect": {"tools": ["help", "search_tools", "weather"]},  # what the user's words are about
            "calls": [
                {"name": "search_tools", "arguments": {"query": "money back"}},
                {"name": "refund_order", "arguments": {}},
            ],
        },
        {
            "expect": {
                "tools": ["help", "refund_order", "search_tools", "weather"],
                "results": ["refund_order", "There is no tool `refund_order` here."],
            },
            "calls": [{"name": "refund_order", "arguments": {"order_id": "A"}}],
        },
        {"expect": {"results": ["refund_order ran"], "has_tools": ["refund_order"]}, "text": "Done."},
    ]
    run = sh.run(engine, model=ScriptedModel(steps), caller=desk.alice, run_id="r1", messages=["Weather in Rome?"])
    async for event in run:
        if event.kind == "turn.finished" and event.turn == 1:
            break
    await run.aclose()
    await engine.close()
    other: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    rest = await drive(other, ScriptedModel(steps, catch_up=True), desk.alice, run_id="r1")
    assert rest[-1].data["reason"] == "completed"
    called = await other.services.store.list_turns("acme", "r1")
    assert len({turn.view_digest for turn in called}) == 2


async def test_a_stored_turn_keeps_the_tools_that_it_was_shown(desk: Desk, open_desk: Any) -> None:
    """A smaller view after a restart takes nothing from calls that the model made before."""
    engine: sh.Engine = await open_desk(*TOOLS, settings=sh.Settings(limits=sh.Limits(view_tools=50)))
    steps: list[Any] = [{"calls": [{"name": "track_parcel", "arguments": {}}]}, {"text": "Done."}]
    run = sh.run(engine, model=ScriptedModel(steps), caller=desk.alice, run_id="r1", messages=["go"])
    async for event in run:
        if event.kind == "turn.finished":
            break
    await run.aclose()
    await engine.close()
    other: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    model = ScriptedModel([steps[0], {"expect": {"results": ["track_parcel ran"]}, "text": "Done."}], catch_up=True)
    assert (await drive(other, model, desk.alice, run_id="r1"))[-1].data["reason"] == "completed"


async def test_views_and_searches_of_two_tenants_do_not_mix(desk: Desk, open_desk: Any) -> None:
    settings = replace(SMALL, tenants={"acme": ("ledger",), "evil": ()})
    engine: sh.Engine = await open_desk(*TOOLS, settings=settings)
    for _ in range(2):
        for tenant, sees in (("acme", True), ("evil", False)):
            caller = sh.Caller(id="alice", tenant=tenant, scopes=["ledger"])
            assert ("secret_ledger" in (await engine.view(caller, fit=False)).names) is sees
            result = await engine.call(search("secret ledger"), caller)
            assert ("secret_ledger" in result.content) is sees
            assert (await engine.view(caller, loaded=["secret_ledger"])).names == (
                ("help", "search_tools", "secret_ledger") if sees else ("help", "search_tools")
            )


async def test_a_tool_of_the_projects_own_takes_the_place_of_the_search(desk: Desk, open_desk: Any) -> None:
    own = tool("search_tools", "Finds tools by our own index.")
    engine: sh.Engine = await open_desk(*TOOLS, own, settings=SMALL)
    assert (await engine.view(desk.alice)).get("search_tools") is not None
    assert (await engine.call(sh.ToolCall(id="s", name="search_tools"), desk.alice)).content == "search_tools ran"


async def test_ranking_looks_at_names_descriptions_and_parameters(desk: Desk, open_desk: Any) -> None:
    engine: sh.Engine = await open_desk(*TOOLS, settings=SMALL)
    view = await engine.view(desk.alice, fit=False)
    assert relevant(view, "parcels", 5) == ["track_parcel"]
    assert relevant(view, "currency", 5) == ["fx_rate"]
    assert set(relevant(view, "order id", 9)) == {"help", "refund_order", "track_parcel", "weather", "fx_rate"}

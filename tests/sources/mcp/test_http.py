"""MCP servers by streamable HTTP, by the SDK's own server, in both protocol eras; and by stdio where it is the same."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.errors import SourceError
from surehand.sources import SourceSettings, make_source
from tests.desk import until
from tests.sources.mcp import shop as the_shop
from tests.sources.mcp.servers import ALICE, call, code, command, kept, names, served

ERAS = ["old", "both"]


def at(url: str, **more: Any) -> SourceSettings:
    more.setdefault("approve", "always")
    return SourceSettings(kind="mcp", url=f"{url}/mcp", private=True, **more)


@pytest.mark.parametrize("json_response", [False, True])
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_is_called_by_either_era(tmp_path: Path, era: str, json_response: bool) -> None:
    shop = the_shop.Shop()
    async with served(shop.app(era=era, json_response=json_response)) as url, kept(tmp_path, shop=at(url)) as engine:
        assert await names(engine) == [f"mcp__shop_{name}" for name in ("count", "grow", "refuse", "sleep")]
        result = await call(engine, "mcp__shop_count", of="apples")
        assert (result.status, result.structured) == ("ok", {"apples": 3})
        assert shop.era == ("2025-11-25" if era == "old" else "2026-07-28")
        refused = await call(engine, "mcp__shop_refuse", key="k2")
        assert (code(refused), "the shelf is empty" in refused.content) == ("TOOL_BUSINESS_ERROR", True)
        assert shop.done == ["count apples"]


async def test_a_program_by_the_sdk(tmp_path: Path) -> None:
    async with kept(tmp_path, shop=command(Path(the_shop.__file__))) as engine:
        result = await call(engine, "mcp__shop_count", of="apples", to=7)
        assert (result.status, result.structured) == ("ok", {"apples": 7})
        await call(engine, "mcp__shop_grow", key="k2")
        await until(lambda: any("more" in one for one in engine.services.sources()[0].offered))


@pytest.mark.parametrize("era", ERAS)
async def test_C68_both_eras_tell_of_changes(tmp_path: Path, era: str) -> None:
    shop = the_shop.Shop()
    async with served(shop.app(era=era)) as url, kept(tmp_path, shop=at(url)) as engine:
        assert (await call(engine, "mcp__shop_grow")).content == "grown"
        await until(lambda: any("more" in one for one in engine.services.sources()[0].offered))
        assert (await call(engine, "mcp__shop_more", key="k2")).content == "more"


@pytest.mark.parametrize("ends", ["timeout", "cancel"])
@pytest.mark.parametrize("era", ERAS)
async def test_C65_a_call_that_is_given_up_ends_at_the_server(tmp_path: Path, era: str, ends: str) -> None:
    shop = the_shop.Shop()
    settings = {"read_only": ("*",), "timeout_s": 0.5 if ends == "timeout" else 30.0}
    async with served(shop.app(era=era)) as url, kept(tmp_path, shop=at(url, **settings)) as engine:
        said: list[str] = []
        engine.on_event(lambda event: said.append(event.data["text"]) if event.kind == "call.progress" else None)
        task = asyncio.create_task(call(engine, "mcp__shop_sleep"))
        await until(lambda: said)
        if ends == "timeout":
            assert code(await task) == "TOOL_TIMEOUT"
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await until(lambda: shop.done == ["woken"])
        assert said == ["asleep (1 of 4)"]
        assert (await call(engine, "mcp__shop_count", of="apples")).status == "ok"


@pytest.mark.parametrize("era", ERAS)
async def test_C34_a_lost_answer_by_http(tmp_path: Path, era: str) -> None:
    shop = the_shop.Shop()
    drop = ["count"]
    async with served(shop.app(era=era, drop=drop)) as url, kept(tmp_path, shop=at(url)) as engine:
        lost = await call(engine, "mcp__shop_count", of="apples")
        assert (lost.status, code(lost), shop.done) == ("unknown", "TOOL_OUTCOME_UNKNOWN", ["count apples"])
        assert (await call(engine, "mcp__shop_count", key="k2", of="pears")).status == "ok"
    drop.append("count")
    shop.done.clear()
    reading = at("", read_only=("count",))
    async with served(shop.app(era=era, drop=drop)) as url:
        reading = at(url, read_only=("count",))
        async with kept(tmp_path, shop=reading) as engine:
            got = await call(engine, "mcp__shop_count", of="apples")
            assert (got.status, got.structured, shop.done) == ("ok", {"apples": 3}, ["count apples"] * 2)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_comes_back_is_found_and_knows_no_session(tmp_path: Path, era: str) -> None:
    first = the_shop.Shop()
    async with served(first.app(era=era)) as url, kept(tmp_path, shop=at(url)) as engine:
        assert (await call(engine, "mcp__shop_count", of="apples")).status == "ok"
        # As another process at the same place, which was never told of the session.
        first.server.session_manager._server_instances.clear()
        again = await call(engine, "mcp__shop_count", key="k2", of="pears")
        assert (again.status, first.done) == ("ok", ["count apples", "count pears"])


@pytest.mark.parametrize("era", ERAS)
async def test_one_lost_answer_harms_no_other_call(tmp_path: Path, era: str) -> None:
    shop = the_shop.Shop()
    async with served(shop.app(era=era, drop=["3"])) as url, kept(tmp_path, shop=at(url)) as engine:
        results = await asyncio.gather(*(call(engine, "mcp__shop_count", key=f"k{n}", of=f"{n}") for n in range(8)))
        assert [result.status for result in results] == ["ok"] * 3 + ["unknown"] + ["ok"] * 4
        await asyncio.sleep(0.3)  # longer than changes are gathered
        assert (await call(engine, "mcp__shop_count", key="k9", of="9")).status == "ok"
        assert len(shop.done) == 9


async def test_a_server_that_is_gone_was_surely_not_called(tmp_path: Path) -> None:
    shop = the_shop.Shop()
    async with kept(tmp_path) as engine:
        source = None
        async with served(shop.app()) as url:
            source, _ = make_source("shop", at(url, timeout_s=1.0, read_only=("*",)), tmp_path)
            await source.open(lambda: None)
            tools = {tool.spec.name: tool for tool in await source.tools()}
            engine.registry.register(tools["mcp__shop_count"])
        result = await engine.call(sh.ToolCall(id="c1", name="mcp__shop_count", arguments={"of": "x"}), ALICE)
        assert code(result) == "TOOL_UNAVAILABLE"
        with pytest.raises(SourceError, match=r"127\.0\.0\.1 cannot be reached"):
            await source.tools()
        await source.close()


@pytest.mark.parametrize("era", ERAS)
async def test_headers_are_from_the_environment_and_never_told(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = the_shop.Shop()
    async with served(shop.app(era=era, token="t0ken-abc")) as url:
        settings = at(url, headers={"X-Token": "SHOP_TOKEN"})
        for value, why in (
            (None, "the environment variable 'SHOP_TOKEN' is not set"),
            ("wrong-value-123", r"HTTP 401"),
            ("a\nb", "holds what no header can"),
        ):
            if value is not None:
                monkeypatch.setenv("SHOP_TOKEN", value)
            source, _ = make_source("shop", settings, tmp_path)
            with pytest.raises(SourceError, match=why) as refused:
                await source.open(lambda: None)
            assert "wrong-value" not in str(refused.value)
            await source.close()
        monkeypatch.setenv("SHOP_TOKEN", "t0ken-abc")
        async with kept(tmp_path, shop=settings) as engine:
            assert (await call(engine, "mcp__shop_count", of="t0ken-abc")).structured == {"***": 3}


async def test_private_addresses_are_reached_only_where_the_operator_says_so(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            asked.append(scope)

    for url in ("https://127.0.0.1:1/mcp", "https://localhost:1/mcp", "https://[::ffff:127.0.0.1]:1/mcp"):
        source, _ = make_source("shop", SourceSettings(kind="mcp", url=url), tmp_path)
        with pytest.raises(SourceError, match="not on the internet"):
            await source.open(lambda: None)
        await source.close()
    source, _ = make_source(
        "shop", SourceSettings(kind="mcp", url="http://169.254.169.254/mcp", private=True), tmp_path
    )
    with pytest.raises(SourceError, match="not on the internet"):
        await source.open(lambda: None)
    await source.close()
    async with served(app):
        assert asked == []


ANSWERS = [
    pytest.param(202, "", b"", "unknown", id="accepted"),
    pytest.param(200, "", b"", "unknown", id="empty"),
    pytest.param(200, "text/html", b"<p>hello</p>", "unknown", id="html"),
    pytest.param(200, "application/json", b"{not json", "unknown", id="garbage"),
    pytest.param(200, "application/json", b'{"jsonrpc": "2.0", "id": 99, "result"', "unknown", id="cut"),
    pytest.param(502, "text/html", b"<p>bad gateway</p>", "unknown", id="gateway"),
    pytest.param(503, "text/plain", b"", "unknown", id="overload"),
    pytest.param(200, "application/json", b"[" + b"1," * 17_000_000 + b"1]", "unknown", id="huge"),
    pytest.param(403, "text/html", b"no", "error", id="forbidden"),
    pytest.param(429, "", b"", "error", id="busy"),
    pytest.param(307, "", b"", "error", id="redirect"),
    pytest.param(
        400,
        "application/json",
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "no such account"}}',
        "error",
        id="invalid",
    ),
]


@pytest.mark.parametrize(("status", "kind", "body", "wanted"), ANSWERS)
async def test_whether_a_call_may_have_arrived(
    tmp_path: Path, status: int, kind: str, body: bytes, wanted: str
) -> None:
    shop = the_shop.Shop()
    answers: list[tuple[int, str, bytes]] = []
    async with served(shop.app(instead=answers)) as url, kept(tmp_path, shop=at(url)) as engine:
        answers.append((status, kind, body))
        result = await call(engine, "mcp__shop_count", of="apples")
        assert (result.status, answers) == (wanted, [])
        if status == 400:
            assert (code(result), "no such account" in result.content) == ("TOOL_BUSINESS_ERROR", True)
        assert (await call(engine, "mcp__shop_count", key="k2", of="pears")).status == "ok"
        assert shop.done == ["count pears"]


BAD = [
    ({}, "either a command"),
    ({"command": ("a",), "url": "https://a.test/mcp"}, "either a command"),
    ({"command": ("a",), "headers": {"a": "B"}}, "a program gets environment"),
    ({"command": ("",)}, "not empty"),
    ({"url": "https://a.test/mcp", "environment": ("A",)}, "gets headers"),
    ({"url": "https://a.test/mcp", "document": "a.yaml"}, "document is for kind 'openapi'"),
    ({"url": "http://a.test/mcp"}, "url must be https"),
    ({"url": "ftp://a.test/mcp"}, "must begin with https"),
    ({"url": "https://user:pass@a.test/mcp"}, "no user, password"),
    ({"url": "https://a.test:x/mcp"}, "not a URL"),
    ({"url": "https://a.test/mcp", "headers": {"Mcp-Session-Id": "A"}}, "is no header that can be set"),
    ({"url": "https://a.test/mcp", "headers": {"a b": "A"}}, "is no header that can be set"),
]


@pytest.mark.parametrize(("fields", "why"), BAD)
def test_settings_that_cannot_be(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(sh.ConfigError, match=rf"^sources\.shop: .*{why}"):
        make_source("shop", SourceSettings(kind="mcp", **fields), tmp_path)

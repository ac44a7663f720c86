"""Calls of a real API through a real engine: what is sent, what comes of what it answers, what never leaves."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.sources.openapi.calling import MAX_ANSWER_BYTES
from tests.notify.servers import certificate
from tests.sources.openapi.api import (
    ANN,
    NOBODY_ASKED,
    Api,
    Asked,
    answer,
    answer_json,
    ask,
    called,
    described,
    engine_of,
    serving,
)

ITEM = {
    "/items/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "get": {"operationId": "find"},
        "head": {"operationId": "peek"},
        "put": {
            "operationId": "change",
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        },
        "delete": {"operationId": "drop"},
    }
}


def code(result: sh.ToolResult) -> str:
    return result.error.code if result.error else result.status


async def test_an_effect_is_asked_about_and_then_happens_once(tmp_path: Path) -> None:
    async with serving() as api, engine_of(described(tmp_path, ITEM), url=f"{api.url}/v1/") as engine:
        call = ask("shop_change", id=7, body={"name": "a"})
        asked = await engine.call(call, ANN, idempotency_key="k1")
        assert (asked.status, api.asked) == ("pending", [])
        assert asked.approval_id is not None
        await engine.approvals.approve(asked.approval_id, by=ANN)
        done = await engine.resume(asked.call_id, by=ANN)
        again = await engine.call(call, ANN, idempotency_key="k1")
        (sent,) = api.asked
    assert (done.status, done.structured, done.trust) == ("ok", {"ok": True}, "untrusted")
    assert (again.replayed, again.structured) == (True, {"ok": True})
    assert (sent.method, sent.target, json.loads(sent.body)) == ("PUT", "/v1/items/7", {"name": "a"})


async def test_what_is_not_in_the_contract_is_not_sent(tmp_path: Path) -> None:
    async with serving() as api, engine_of(described(tmp_path, ITEM), url=api.url) as engine:
        for arguments in ({"id": "seven"}, {"id": 7, "host": "evil.test"}, {}):
            assert code(await engine.call(ask("shop_find", **arguments), ANN)) == "TOOL_ARGUMENT_INVALID"
        assert api.asked == []


PNG = b"\x89PNG\r\n\x1a\n\0"


@pytest.mark.parametrize(
    ("said", "content", "structured", "attached"),
    [
        (answer_json({"a": [1, None]}), '{"a":[1,null]}', {"a": [1, None]}, []),
        (answer_json("just text"), "just text", "just text", []),
        (answer('{"a":1}', content_type="application/problem+json; charset=utf-8"), '{"a":1}', {"a": 1}, []),
        (answer("{", content_type="application/json"), "{", None, []),
        (answer("h\u00e9".encode("latin-1"), content_type="text/plain; charset=latin-1"), "h\u00e9", None, []),
        (answer("<a/>", content_type="application/xml"), "<a/>", None, []),
        (answer("plain"), "plain", None, []),
        (answer(b"", "204 No Content"), "Done (204).", None, []),
        (answer(PNG, content_type="image/png"), "The API gave a file of 9 bytes.", None, [("image/png", 9)]),
        (answer(PNG), "The API gave a file of 9 bytes.", None, [("application/octet-stream", 9)]),
        (
            answer_json([1], link='</items?page=2&size=9>; rel="next", </items?page=9>; rel="last"'),
            "[1]\nThere is a next page: ask with page=2, size=9.",
            [1],
            [],
        ),
        (answer("", "201 Created", location="https://x.test/items/8?t=s"), "Done (201).\nIt is at /items/8.", None, []),
        (answer(gzip.compress(b"small"), content_encoding="gzip", content_type="text/plain"), "small", None, []),
    ],
)
async def test_what_comes_of_an_answer(
    tmp_path: Path, said: bytes, content: str, structured: Any, attached: list[tuple[str, int]]
) -> None:
    async with serving(lambda _: said) as api, engine_of(described(tmp_path, ITEM), url=api.url) as engine:
        result = await engine.call(ask("shop_find", id=7), ANN)
    assert result.status == "ok", result.content
    assert result.content.startswith(content)
    assert result.structured == structured
    assert [(one.media_type, one.size_bytes) for one in result.artifacts] == attached


REFUSED = answer_json({"error": "no such item"}, "404 Not Found", retry_after="9")


@pytest.mark.parametrize(
    ("said", "read", "effect"),
    [
        (REFUSED, "TOOL_BUSINESS_ERROR", "TOOL_BUSINESS_ERROR"),
        (answer("", "400 Bad Request"), "TOOL_BUSINESS_ERROR", "TOOL_BUSINESS_ERROR"),
        (answer("", "429 Slow Down"), "TOOL_BUSINESS_ERROR", "TOOL_BUSINESS_ERROR"),
        (answer("", "500 Oops"), "TOOL_BUSINESS_ERROR", "TOOL_OUTCOME_UNKNOWN"),
        (answer("", "501 Never"), "TOOL_BUSINESS_ERROR", "TOOL_BUSINESS_ERROR"),
        (answer("", "502 Bad Gateway"), "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (answer("", "503 Away"), "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (answer("", "503 Away", retry_after="9"), "TOOL_UNAVAILABLE", "TOOL_BUSINESS_ERROR"),
        (answer("", "504 Late"), "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (answer("", "303 See Other", location="/done"), "TOOL_BUSINESS_ERROR", "TOOL_OUTCOME_UNKNOWN"),
        (answer("", "308 Moved", location="/there"), "TOOL_BUSINESS_ERROR", "TOOL_BUSINESS_ERROR"),
        (None, "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (b"HTTP/1.1 2", "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (b"SSH-2.0\r\n", "TOOL_UNAVAILABLE", "TOOL_OUTCOME_UNKNOWN"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "TOOL_BUSINESS_ERROR", "ok"),
    ],
)
async def test_what_comes_of_a_failure(tmp_path: Path, said: bytes | None, read: str, effect: str) -> None:
    document = described(tmp_path, ITEM)
    async with serving(lambda _: said) as api, engine_of(document, url=api.url, policies=NOBODY_ASKED) as engine:
        assert code(await engine.call(ask("shop_find", id=7), ANN)) == read
        assert code(await engine.call(ask("shop_change", id=7), ANN, idempotency_key="k")) == effect
        assert len(api.asked) == 2


async def test_a_refusal_is_for_the_model_with_its_status_and_bounded(tmp_path: Path) -> None:
    answers = [REFUSED, answer("x" * 100_000, "422 No", content_type="text/plain")]
    async with serving(lambda _: answers.pop(0)) as api, engine_of(described(tmp_path, ITEM), url=api.url) as engine:
        refused = await engine.call(ask("shop_find", id=7), ANN)
        long = await engine.call(ask("shop_find", id=8), ANN)
    assert refused.error is not None
    assert 'The API answered 404: {"error": "no such item"}' in refused.content
    assert (refused.error.details["status"], refused.error.details["retry_after"]) == (404, "9")
    assert len(long.content) < 3000


async def test_nobody_there_means_nothing_was_sent(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with engine_of(described(tmp_path, ITEM), url=url, policies=NOBODY_ASKED) as engine:
            result = await engine.call(ask("shop_change", id=7), ANN, idempotency_key="k")
    assert code(result) == "TOOL_UNAVAILABLE"


async def test_no_answer_in_time_is_unknown_for_an_effect(tmp_path: Path) -> None:
    document = described(tmp_path, ITEM)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, engine_of(document, url=url, policies=NOBODY_ASKED, timeout_s=0.2) as engine:
        assert code(await engine.call(ask("shop_find", id=7), ANN)) in ("TOOL_TIMEOUT", "TOOL_UNAVAILABLE")
        unknown = await engine.call(ask("shop_change", id=7), ANN, idempotency_key="k")
        assert code(unknown) == "TOOL_OUTCOME_UNKNOWN"


@pytest.mark.parametrize("encoded", [False, True])
async def test_an_answer_is_bounded(tmp_path: Path, encoded: bool) -> None:
    large = b" " * (MAX_ANSWER_BYTES + 1)
    said = answer(gzip.compress(large), content_encoding="gzip") if encoded else answer(large)
    document = described(tmp_path, ITEM)
    async with serving(lambda _: said) as api, engine_of(document, url=api.url, policies=NOBODY_ASKED) as engine:
        read = await engine.call(ask("shop_find", id=7), ANN)
        done = await engine.call(ask("shop_change", id=7), ANN, idempotency_key="k")
    assert (code(read), f"more than {MAX_ANSWER_BYTES} bytes" in read.content) == ("TOOL_BUSINESS_ERROR", True)
    assert (code(done), "it is done" in done.content) == ("ok", True)


SCHEMES: dict[str, Any] = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
}


@pytest.mark.parametrize(
    ("scheme", "stands"),
    [
        ("header", lambda asked: asked.header("x-key") == "s3:cret"),
        ("query", lambda asked: asked.target == "/a?q=1&key=s3%3Acret"),
        ("cookie", lambda asked: asked.header("cookie") == "sid=s3%3Acret"),
        ("basic", lambda asked: asked.header("authorization") == "Basic czM6Y3JldA=="),
        ("bearer", lambda asked: asked.header("authorization") == "Bearer s3:cret"),
        ("oauth", lambda asked: asked.header("authorization") == "Bearer s3:cret"),
    ],
)
async def test_credentials_come_from_the_environment_and_show_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, stands: Callable[[Asked], bool]
) -> None:
    monkeypatch.setenv("SHOP_SECRET", "s3:cret")
    parameters = [
        {"name": "q", "in": "query"},
        {"name": "key", "in": "query"},
        {"name": "x-key", "in": "header"},
        {"name": "sid", "in": "cookie"},
    ]
    operation = {"operationId": "a", "security": [{"other": []}, {scheme: []}], "parameters": parameters}
    document = described(tmp_path, {"/a": {"get": operation}}, components={"securitySchemes": SCHEMES})
    async with serving() as api, engine_of(document, url=api.url, credentials={scheme: "SHOP_SECRET"}) as engine:
        (entry,) = engine.registry.catalog.entries.values()
        result = await engine.call(ask("shop_a", q=1), ANN)
        (asked,) = api.asked
    assert (result.status, stands(asked)) == ("ok", True)
    assert "s3" not in repr(entry.tool) + result.content
    taken = {"header": "x_key", "query": "key", "cookie": "sid"}.get(scheme)
    arguments = [one for one in ("q", "key", "x_key", "sid") if one != taken]
    assert list(entry.tool.spec.parameters["properties"]) == arguments


async def test_a_redirect_takes_no_credentials_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", "s3cret")
    async with serving() as elsewhere:
        moved = answer("", "307 Moved", location=f"{elsewhere.url}/steal")
        document = described(tmp_path, {"/a": {"get": {"operationId": "a"}}})
        async with (
            serving(lambda _: moved) as api,
            engine_of(document, url=api.url, headers={"X-Key": "SHOP_SECRET"}) as engine,
        ):
            result = await engine.call(ask("shop_a"), ANN)
            (asked,) = api.asked
    assert asked.header("x-key") == "s3cret"
    assert (code(result), "redirects are not followed" in result.content) == ("TOOL_BUSINESS_ERROR", True)
    assert elsewhere.asked == []


async def test_cookies_of_one_call_are_not_in_the_next(tmp_path: Path) -> None:
    said = answer("ok", set_cookie="session=ann; Path=/")
    async with serving(lambda _: said) as api, engine_of(described(tmp_path, ITEM), url=api.url) as engine:
        for number in (1, 2):
            await engine.call(ask("shop_find", id=number), ANN)
        assert [one.header("cookie") for one in api.asked] == ["", ""]


async def test_addresses_inside_are_not_called_unless_it_is_allowed(tmp_path: Path) -> None:
    async with serving() as api:
        for host in ("127.0.0.1", "localhost"):
            url = f"http://{host}:{api.port}"
            async with engine_of(described(tmp_path, ITEM), url=url, private=False, policies=NOBODY_ASKED) as engine:
                result = await engine.call(ask("shop_change", id=7), ANN, idempotency_key="k")
                assert (code(result), "not on the internet" in result.content) == ("TOOL_BUSINESS_ERROR", True)
        assert api.asked == []


@pytest.mark.parametrize(("addresses", "arrives"), [(["127.0.0.1"], True), (["127.0.0.1", "169.254.169.254"], False)])
async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, addresses: list[str], arrives: bool
) -> None:
    looked_up: list[str] = []

    async def lookup(host: str, port: int, **_: Any) -> Any:
        looked_up.append(host)
        # A second answer would be another one.
        found = addresses if len(looked_up) == 1 else ["169.254.169.254"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    async with serving() as api, engine_of(described(tmp_path, ITEM), url=f"http://api.test:{api.port}") as engine:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup)
        result = await engine.call(ask("shop_find", id=7), ANN)
        monkeypatch.undo()
        assert looked_up == ["api.test"]
        assert result.status == ("ok" if arrives else "error")
        assert [one.header("host") for one in api.asked] == ([f"api.test:{api.port}"] if arrives else [])


async def test_tls_is_for_the_name_though_an_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, expected in (("localhost", "ok"), ("elsewhere.test", "TOOL_UNAVAILABLE")):
        tls, authority = certificate(tmp_path, host)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        api = Api()
        server = await asyncio.start_server(api.serve, "127.0.0.1", 0, ssl=tls)
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        async with server, engine_of(described(tmp_path, ITEM), url=url) as engine:
            assert code(await engine.call(ask("shop_find", id=7), ANN)) == expected
        assert len(api.asked) == (expected == "ok")


async def test_no_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as proxy, serving() as api:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        async with engine_of(described(tmp_path, ITEM), url=api.url) as engine:
            assert (await engine.call(ask("shop_find", id=7), ANN)).status == "ok"
        assert (len(api.asked), proxy.asked) == (1, [])


async def test_bytes_of_a_body_are_what_the_model_wrote_in_base64(tmp_path: Path) -> None:
    body = {"required": True, "content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}
    document = described(tmp_path, {"/file": {"put": {"operationId": "put", "requestBody": body}}})
    async with serving() as api, engine_of(document, url=api.url) as engine:
        assert code(await called(engine, "shop_put", body="AP8=")) == "ok"
        assert code(await called(engine, "shop_put", body="no base64!")) == "TOOL_BUSINESS_ERROR"
        (sent,) = api.asked
    assert (sent.body, sent.header("content-type")) == (b"\x00\xff", "application/pdf")

"""Faults that tools made of OpenAPI descriptions really had. Each test has the id of its case in its name."""

from __future__ import annotations

import base64
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.api import ANN, called, described, engine_of, serving, source_of

PET = {"/v1/pets/{id}": {"get": {"operationId": "pet", "parameters": [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]}}}  # fmt: skip


@pytest.mark.parametrize(
    ("pet", "target"),
    [
        ("../../admin", None),
        ("..", None),
        ("", None),
        (".", None),
        ("..;/admin", None),
        ("..\\..\\admin", None),
        ("a/../b", None),
        ("a\nb", None),
        ("a/b", "/v1/pets/a%2Fb"),
        ("a?x=1", "/v1/pets/a%3Fx%3D1"),
        ("a#f", "/v1/pets/a%23f"),
        ("%2e%2e", "/v1/pets/%252e%252e"),
        ("x@evil.test", "/v1/pets/x%40evil.test"),
        ("//evil.test", "/v1/pets/%2F%2Fevil.test"),
        ("7", "/v1/pets/7"),
    ],
)
async def test_C45_a_path_parameter_cannot_leave_its_segment(tmp_path: Path, pet: str, target: str | None) -> None:
    async with serving() as api, engine_of(described(tmp_path, PET), url=api.url) as engine:
        result = await called(engine, "shop_pet", id=pet)
        assert (result.error.code if result.error else "ok") == ("TOOL_BUSINESS_ERROR" if target is None else "ok")
        assert [one.target for one in api.asked] == ([] if target is None else [target])
        assert all(one.header("host") == f"127.0.0.1:{api.port}" for one in api.asked)


FILE, TITLE = b"\x00\x01 bytes \xff", "Überschrift"
UPLOAD = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}, "title": {"type": "string"}}}
TAGGED = {"type": "object", "properties": {
    "user": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}  # fmt: skip


def with_body(media: str, schema: Any) -> Any:
    body = {"required": True, "content": {media: {"schema": schema}}}
    return {"/do": {"post": {"operationId": "do", "requestBody": body}}}


async def test_C71_parts_are_parts_and_files_are_bytes(tmp_path: Path) -> None:
    document = described(tmp_path, with_body("multipart/form-data", UPLOAD))
    async with serving() as api, engine_of(document, url=api.url) as engine:
        result = await called(engine, "shop_do", body={"file": base64.b64encode(FILE).decode(), "title": TITLE})
        assert result.status == "ok", result.content
        (asked,) = api.asked
    head = f"Content-Type: {asked.header('content-type')}\r\n\r\n".encode()
    parts: Any = message_from_bytes(head + asked.body, policy=HTTP)
    assert parts.get_content_type() == "multipart/form-data"
    file, title = parts.iter_parts()
    assert (file.get_param("name", header="content-disposition"), file.get_filename()) == ("file", "file")
    assert file.get_payload(decode=True) == FILE
    assert title.get_param("name", header="content-disposition") == "title"
    assert title.get_filename() is None
    assert title.get_payload(decode=True).decode() == TITLE


async def test_C71_a_form_is_a_form_and_its_lists_are_repeated(tmp_path: Path) -> None:
    document = described(tmp_path, with_body("application/x-www-form-urlencoded", TAGGED))
    async with serving() as api, engine_of(document, url=api.url) as engine:
        await called(engine, "shop_do", body={"user": "a b&c", "tags": ["a", "b"]})
        (asked,) = api.asked
    assert asked.header("content-type") == "application/x-www-form-urlencoded"
    assert asked.body == b"user=a+b%26c&tags=a&tags=b"


async def test_C71_a_scalar_is_json_where_json_is_asked_for(tmp_path: Path) -> None:
    document = described(tmp_path, with_body("application/json", {"type": "string"}))
    async with serving() as api, engine_of(document, url=api.url) as engine:
        await called(engine, "shop_do", body="true")
        (asked,) = api.asked
    assert (asked.body, asked.header("content-type")) == (b'"true"', "application/json")


async def test_C71_a_cookie_arrives(tmp_path: Path) -> None:
    parameters = [{"name": "sid", "in": "cookie", "schema": {"type": "string"}}]
    document = described(tmp_path, {"/do": {"get": {"operationId": "do", "parameters": parameters}}})
    async with serving() as api, engine_of(document, url=api.url) as engine:
        await called(engine, "shop_do", sid="x; admin=1")
        (asked,) = api.asked
    assert asked.header("cookie") == "sid=x%3B%20admin%3D1"


async def test_C73_names_are_there_unique_and_stable_and_no_url_is_made_of_them(tmp_path: Path) -> None:
    paths = {
        "/_meh": {"get": {}},
        "/a/b": {"get": {"operationId": ""}},
        "/x": {"get": {"operationId": "op"}},
        "/y": {"get": {"operationId": "op"}},
        "/{tenant}/{tenant}/device/": {"get": {"operationId": "dev"}},
    }
    async with source_of(described(tmp_path, dict(reversed(paths.items()))), url="http://127.0.0.1:9") as (_, tools):
        turned = set(tools)
    async with serving() as api, engine_of(described(tmp_path, paths), url=api.url) as engine:
        names = [one.name for one in (await engine.view(ANN)).tools]
        assert len(set(names)) == 5
        assert set(names) == turned
        for name in names:
            result = await called(engine, name, **({"tenant": "t"} if name == "shop_dev" else {}))
            assert result.status == "ok", result.content
        asked = sorted(one.target for one in api.asked)
    assert asked == ["/_meh", "/a/b", "/t/t/device/", "/x", "/y"]

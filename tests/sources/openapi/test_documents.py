"""Descriptions of each version, read from files and URLs; what is wrong with one is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surehand as sh
from surehand.errors import SourceError
from surehand.sources.make import make_source
from surehand.sources.openapi.document import parse
from surehand.sources.settings import read_sources
from tests.sources.openapi.api import ANN, answer, answer_json, described, engine_of, serving, source_of

PETSTORE_2 = """
swagger: "2.0"
info: {title: Pets, version: 1.0.0}
host: petstore.test
basePath: /v2
schemes: [https]
securityDefinitions:
  api_key: {type: apiKey, name: api_key, in: header}
paths:
  /pet/{petId}:
    get:
      summary: Find a pet by its number
      operationId: getPetById
      parameters:
        - {name: petId, in: path, required: true, type: integer, format: int64}
      security: [{api_key: []}]
    delete:
      operationId: deletePet
      parameters:
        - {name: api_key, in: header, type: string}
        - {name: petId, in: path, required: true, type: integer}
      security: [{api_key: []}]
  /pet:
    post:
      operationId: addPet
      parameters:
        - in: body
          name: pet
          required: true
          schema: {$ref: "#/definitions/Pet"}
definitions:
  Pet:
    type: object
    required: [name]
    properties:
      id: {type: integer, readOnly: true}
      name: {type: string}
      friends: {type: array, items: {$ref: "#/definitions/Pet"}}
"""

PETSTORE_3 = """
openapi: 3.0.0
info: {title: Pets, version: 1.0.0}
servers:
  - url: http://petstore.test/v1
  - url: "https://{region}.petstore.test/{base}"
    variables: {region: {default: eu}, base: {default: v1, enum: [v1, v2]}}
paths:
  /pets:
    get:
      summary: List all pets
      description: In pages.
      operationId: listPets
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 100}, description: How many at once}
      responses: {200: {description: ok}}
    post:
      operationId: createPets
      requestBody: {$ref: "#/components/requestBodies/Pet"}
      servers: [{url: https://write.petstore.test}]
      responses: {201: {description: created}}
components:
  requestBodies:
    Pet: {required: true, content: {application/json: {schema: {type: object, required: [name], properties: {
      name: {type: string}, tag: {type: string, nullable: true, enum: [yes, no, on]}}}}}}
"""

TICKETS_3_1 = {
    "openapi": "3.1.0",
    "info": {"title": "Tickets", "version": "1"},
    "servers": [{"url": "/api"}],
    "paths": {
        "/tickets": {
            "summary": "Tickets of a museum",
            "post": {
                "operationId": "buy",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ticket"}}}},
            },
        },
    },
    "webhooks": {"sold": {"post": {}}},
    "components": {
        "schemas": {
            "Ticket": {
                "type": "object",
                "properties": {"kind": {"const": "event"}, "email": {"type": ["string", "null"], "format": "email"}},
                "dependentRequired": {"email": ["kind"]},
            }
        }
    },
}


async def test_version_2_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pets.yaml").write_text(PETSTORE_2)
    monkeypatch.setenv("PET_KEY", "k")
    async with source_of(str(tmp_path / "pets.yaml"), credentials={"api_key": "PET_KEY"}) as (source, tools):
        specs = {name: tool.spec for name, tool in tools.items()}
        assert source.notes == ()
    assert list(specs) == ["shop_getPetById", "shop_deletePet", "shop_addPet"]
    found, gone, added = specs.values()
    assert found.target == "GET https://petstore.test/v2/pet/{petId}"
    assert found.description == "[OpenAPI:shop] Find a pet by its number"
    assert (found.credential, found.upstream, found.source) == ("api_key", "petstore.test", "openapi")
    assert list(gone.parameters["properties"]) == ["petId"]
    assert added.parameters == {
        "type": "object",
        "properties": {"body": {"$ref": "#/$defs/Pet"}},
        "additionalProperties": False,
        "required": ["body"],
        "$defs": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "friends": {"type": "array", "items": {"$ref": "#/$defs/Pet"}},
                },
            }
        },
    }


async def test_version_3_0(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(PETSTORE_3)
    async with source_of(str(tmp_path / "pets.yaml")) as (_, tools):
        listed, created = (tool.spec for tool in tools.values())
    assert listed.target == "GET https://eu.petstore.test/v1/pets"
    assert listed.description == "[OpenAPI:shop] List all pets\n\nIn pages."
    assert listed.parameters["properties"]["limit"] == {
        "type": "integer",
        "maximum": 100,
        "description": "How many at once",
    }
    assert created.target == "POST https://write.petstore.test/pets"
    assert created.description == "[OpenAPI:shop] POST /pets"
    assert created.parameters["properties"]["body"]["properties"]["tag"]["enum"] == ["yes", "no", "on", None]


async def test_version_3_1_from_a_url_with_a_relative_server() -> None:
    async with serving(lambda _: answer_json(TICKETS_3_1)) as api:
        async with source_of(f"{api.url}/docs/openapi.json") as (_, tools):
            (bought,) = (tool.spec for tool in tools.values())
        (asked,) = api.asked
    assert (asked.target, asked.header("authorization")) == ("/docs/openapi.json", "")
    assert bought.target == f"POST {api.url}/api/tickets"
    assert bought.description == "[OpenAPI:shop] Tickets of a museum"
    assert bought.parameters["$defs"]["Ticket"]["dependentRequired"] == {"email": ["kind"]}
    assert "required" not in bought.parameters


@pytest.mark.parametrize(
    ("method", "read_only", "risk"),
    [
        ("get", True, "low"),
        ("head", True, "low"),
        ("options", False, "medium"),
        ("trace", False, "medium"),
        ("post", False, "medium"),
        ("put", False, "medium"),
        ("patch", False, "medium"),
        ("delete", False, "high"),
    ],
)
async def test_risk_comes_from_the_method(tmp_path: Path, method: str, read_only: bool, risk: str) -> None:
    document = described(tmp_path, {"/a": {method: {"operationId": "a"}}}, servers=[{"url": "https://api.test"}])
    async with source_of(document) as (_, tools):
        spec = tools["shop_a"].spec
    assert (spec.read_only, spec.risk, spec.trust) == (read_only, risk, "untrusted")
    async with source_of(document, read_only=["a"]) as (_, tools):
        assert (tools["shop_a"].spec.read_only, tools["shop_a"].spec.risk) == (True, "low")


MIXED = {
    "/good": {"get": {"operationId": "good"}},
    "/outside": {"get": {"operationId": "outside", "parameters": [{"$ref": "common.yaml#/limit"}]}},
    "/circle": {"get": {"operationId": "circle", "parameters": [{"$ref": "#/paths/~1circle/get/parameters/0"}]}},
    "/schema": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "https://x.test/"}}}}}},
    "/style": {"get": {"parameters": [{"name": "a", "in": "query", "style": "matrix"}]}},
    "/header": {"get": {"parameters": [{"name": "a b", "in": "header"}]}},
    "/locked": {"get": {"security": [{"key": []}, {"oauth": [], "key": []}]}},
    "/server": {"get": {"servers": [{"url": "ftp://files.test"}]}},
    "/user": {"get": {"servers": [{"url": "https://a@b.test"}]}},
    "/in-place": {"post": {"requestBody": {"content": {"application/json": {"schema": {
        "$ref": "#/components/schemas/Loop"}}}}}},
}  # fmt: skip
LOOP = {"schemas": {"Loop": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/Loop"}}}}}


async def test_what_cannot_be_a_tool_is_told_and_harms_no_other(tmp_path: Path) -> None:
    document = described(tmp_path, MIXED, servers=[{"url": "https://api.test"}], components=LOOP)
    async with engine_of(document, private=False) as engine:
        (status,) = await engine.limits.sources(by=ANN)
        names = [one.name for one in (await engine.view(ANN)).tools]
    assert names == ["shop_good", "shop_post_in_place"]
    assert [note.partition(": ")[0] for note in status.notes] == [
        "GET /outside", "GET /circle", "GET /style", "GET /header", "POST /schema", "GET /locked", "GET /server",
        "GET /user",
    ]  # fmt: skip
    told = dict(note.split(": ", 1) for note in status.notes)
    assert "bundle the description" in told["GET /outside"]
    assert "in a circle" in told["GET /circle"]
    assert told["GET /locked"] == "it needs 'key' or 'oauth' with 'key'; name the environment variable in credentials"


async def test_operations_are_chosen(tmp_path: Path) -> None:
    paths = {"/a": {"get": {"operationId": "getA"}, "delete": {"operationId": "deleteA"}}, "/b": {"get": {}}}
    document = described(tmp_path, paths, servers=[{"url": "https://api.test"}])
    for include, exclude, expected in (
        ([], [], ["shop_getA", "shop_deleteA", "shop_get_b"]),
        (["get*"], [], ["shop_getA"]),
        (["GET *"], [], ["shop_getA", "shop_get_b"]),
        ([], ["delete*", "shop_get_b"], ["shop_getA"]),
        (["*A"], ["*delete*"], ["shop_getA"]),
    ):
        async with source_of(document, include=include, exclude=exclude) as (_, tools):
            assert list(tools) == expected


LAUGHS = "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "neither JSON nor YAML at line 2"),
        ("a: [1\nb: 2", "neither JSON nor YAML"),
        ("- 1", "neither 'openapi' nor 'swagger'"),
        ("openapi: 4.0.0", "version '4.0.0'"),
        ("openapi: 3.10.0", "version '3.10.0'"),
        ("swagger: 1.2", "version 1.2"),
        ("openapi: 3.0.0\nx: !!python/object/apply:os.system [id]", "neither JSON nor YAML"),
        ("a: &a {b: *a}\nopenapi: 3.0.0", "nested more than"),
        (LAUGHS, "holds more than"),
        ("[" * 100_000, "neither JSON nor YAML"),
    ],
)  # fmt: skip
def test_what_is_no_description(text: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        parse(text.encode(), "api.yaml")


def test_yaml_is_read_as_version_1_2_has_it() -> None:
    root, version = parse(b"swagger: 2.0\na: [no, 12:30, 2020-01-01, 010, 1e3, true, ~, .5]\n200: x", "api.yaml")
    assert (version, root["a"], root["200"]) == (
        "2.0",
        ["no", "12:30", "2020-01-01", "010", 1000.0, True, None, 0.5],
        "x",
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer("no", "404 Not Found"), "the answer is 404"),
        (answer("", "302 Found", location="https://elsewhere.test/a?token=s"), "https://elsewhere.test/a\\); write"),
        (answer("<html>"), "is no OpenAPI description|neither JSON nor YAML"),
        (None, "could not be fetched"),
    ],
)
async def test_a_document_that_cannot_be_fetched(said: bytes | None, why: str) -> None:
    async with serving(lambda _: said) as api:
        with pytest.raises(SourceError, match=why):
            async with source_of(f"{api.url}/openapi.json"):
                pass


async def test_a_document_inside_is_not_fetched_unless_it_is_allowed() -> None:
    async with serving() as api:
        with pytest.raises(SourceError, match="not on the internet"):
            async with source_of(f"{api.url}/openapi.json", private=False):
                pass
    assert api.asked == []


async def test_a_source_that_is_down_says_why(tmp_path: Path) -> None:
    async with engine_of(str(tmp_path / "missing.yaml")) as engine:
        (status,) = await engine.limits.sources(by=ANN)
    assert (status.state, "cannot be read: No such file" in status.why) == ("unavailable", True)


async def test_a_secret_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    document = described(tmp_path, {})
    with pytest.raises(SourceError, match="SHOP_KEY is not set"):
        async with source_of(document, credentials={"key": "SHOP_KEY"}):
            pass


async def test_no_credentials_without_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    schemes = {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}
    paths = {"/a": {"get": {"security": [{"key": []}]}}}
    document = described(tmp_path, paths, components=schemes, servers=[{"url": "http://api.test"}])
    async with source_of(document, credentials={"key": "SHOP_KEY"}, private=False) as (source, tools):
        assert tools == {}
        assert "no TLS" in source.notes[0]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "document is missing"),
        ({"document": "a.yaml", "command": ["x"]}, "command belongs to the kind 'mcp'"),
        ({"document": "http://api.test/a.yaml"}, "needs private = true"),
        ({"document": "ftp://api.test/a.yaml", "private": True}, "must be a file or an https:// URL"),
        ({"document": "https://u:p@api.test/a.yaml"}, "must not hold a user"),
        ({"document": "a.yaml", "url": "api.test"}, r"url: its server must be http\(s\)"),
        ({"document": "a.yaml", "url": "https://api.test/../x"}, "must not hold '.' or '..'"),
        ({"document": "https://api.test/a", "approve": "always", "credentials": {"k": "K"}}, "set url"),
    ],
)
def test_settings_that_cannot_be_meant(table: Any, why: str) -> None:
    settings = read_sources({"shop": {"kind": "openapi", **table}})["shop"]
    with pytest.raises(sh.ConfigError, match=f"sources.shop: .*{why}"):
        make_source("shop", settings, Path())


def test_definitions_from_elsewhere_have_to_be_pinned(tmp_path: Path) -> None:
    for document, expected in (("a.yaml", "always"), ("https://api.test/a.yaml", "pinned")):
        settings = read_sources({"shop": {"kind": "openapi", "document": document}})["shop"]
        assert make_source("shop", settings, tmp_path)[1] == expected


def test_json_that_is_yaml_too(tmp_path: Path) -> None:
    assert parse(b"{openapi: 3.1.1, paths: {}}", "a")[1] == "3.1"
    assert parse(b"\xef\xbb\xbf" + json.dumps({"openapi": "3.0.3"}).encode(), "a")[1] == "3.0"

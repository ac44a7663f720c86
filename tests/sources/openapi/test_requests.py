"""Styles, bodies and credentials as they stand in requests."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from surehand.errors import BusinessError
from surehand.secrets import Secret
from surehand.sources.openapi.document import Document
from surehand.sources.openapi.operations import Operation, Unusable, read_operations
from surehand.sources.openapi.request import Prepared, prepare, with_credentials
from surehand.sources.openapi.security import Credential
from surehand.sources.openapi.swagger import as_three

SERVER = "https://api.test/v1"
LIST, OBJECT = ["a", "b c"], {"r": 100, "g": "x&y"}


def prepared(parameters: Any, arguments: Any, *, path: str = "/do", **operation: Any) -> Prepared:
    root = {"openapi": "3.0.3", "paths": {path: {"post": {"parameters": parameters, **operation}}}}
    document = Document(root, "3.0")
    (one,) = read_operations(document)
    assert isinstance(one, Operation), one
    return prepare(document, one, SERVER, arguments)


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("simple", False, "a b", "a%20b"),
        ("simple", False, LIST, "a,b%20c"),
        ("simple", True, LIST, "a,b%20c"),
        ("simple", False, OBJECT, "r,100,g,x%26y"),
        ("simple", True, OBJECT, "r=100,g=x%26y"),
        ("label", False, "a", ".a"),
        ("label", False, LIST, ".a,b%20c"),
        ("label", True, LIST, ".a.b%20c"),
        ("label", True, OBJECT, ".r=100.g=x%26y"),
        ("matrix", False, "a", ";p=a"),
        ("matrix", False, LIST, ";p=a,b%20c"),
        ("matrix", True, LIST, ";p=a;p=b%20c"),
        ("matrix", False, OBJECT, ";p=r,100,g,x%26y"),
        ("matrix", True, OBJECT, ";r=100;g=x%26y"),
        ("simple", False, True, "true"),
        ("simple", False, 1.5, "1.5"),
        ("label", True, [], None),
        ("simple", False, [], None),
        ("simple", False, ["a", ".."], None),
        ("matrix", True, {"..": "a"}, None),
    ],
)
def test_path(style: str, explode: bool, value: Any, written: str | None) -> None:
    parameters = [{"name": "p", "in": "path", "required": True, "style": style, "explode": explode}]
    if written is None:
        with pytest.raises(BusinessError):
            prepared(parameters, {"p": value}, path="/x/{p}/y")
    else:
        assert prepared(parameters, {"p": value}, path="/x/{p}/y").url == f"{SERVER}/x/{written}/y"


@pytest.mark.parametrize(
    ("more", "value", "written"),
    [
        ({}, "a&b=c", "?q=a%26b%3Dc"),
        ({}, "", "?q="),
        ({}, None, "?q="),
        ({}, False, "?q=false"),
        ({}, LIST, "?q=a&q=b%20c"),
        ({}, [], ""),
        ({}, OBJECT, "?r=100&g=x%26y"),
        ({"explode": False}, LIST, "?q=a,b%20c"),
        ({"explode": False}, OBJECT, "?q=r,100,g,x%26y"),
        ({"style": "spaceDelimited"}, LIST, "?q=a%20b%20c"),
        ({"style": "pipeDelimited"}, LIST, "?q=a%7Cb%20c"),
        ({"style": "pipeDelimited", "explode": True}, LIST, "?q=a&q=b%20c"),
        ({"style": "deepObject"}, {"a": {"b": 1}, "c": [2, 3]}, "?q%5Ba%5D%5Bb%5D=1&q%5Bc%5D=2&q%5Bc%5D=3"),
        ({"allowReserved": True}, "a/b?c&d#e", "?q=a/b?c%26d%23e"),
        ({"content": {"application/json": {"schema": {}}}}, {"a": [1]}, "?q=%7B%22a%22%3A%5B1%5D%7D"),
        ({"name": "f[x]"}, "1", "?f%5Bx%5D=1"),
    ],
)
def test_query(more: Any, value: Any, written: str) -> None:
    parameter = {"name": "q", "in": "query", **more}
    argument = "f_x" if "name" in more else "q"
    assert prepared([parameter], {argument: value}).url == f"{SERVER}/do{written}"


@pytest.mark.parametrize(
    ("explode", "value", "written"),
    [
        (False, "a b,ü", "a b,ü"),
        (False, LIST, "a,b c"),
        (False, OBJECT, "r,100,g,x&y"),
        (True, OBJECT, "r=100,g=x&y"),
        (False, "a\r\nHost: evil.test", None),
        (False, ["a\n"], None),
    ],
)
def test_header(explode: bool, value: Any, written: str | None) -> None:
    parameters = [{"name": "X-P", "in": "header", "explode": explode}]
    if written is None:
        with pytest.raises(BusinessError, match="line breaks"):
            prepared(parameters, {"X_P": value})
    else:
        assert prepared(parameters, {"X_P": value}).headers == (("X-P", written),)


def test_the_same_name_in_each_place_is_kept_apart() -> None:
    parameters = [{"name": "id", "in": place, "required": True} for place in ("path", "query", "header", "cookie")]
    body = {"content": {"application/json": {"schema": {"properties": {"id": {}}}}}}
    arguments = {"id_path": 1, "id_query": 2, "id_header": 3, "id_cookie": 4, "body": {"id": 5}}
    found = prepared(parameters, arguments, path="/{id}", requestBody=body)
    assert (found.url, found.headers, found.cookies) == (f"{SERVER}/1?id=2", (("id", "3"),), ("id=4",))
    assert found.content is not None
    assert found.content.data == b'{"id":5}'


def test_a_path_with_a_query_or_a_fragment() -> None:
    parameters = [{"name": "q", "in": "query"}]
    assert prepared(parameters, {"q": 1}, path="/a?action=b#one").url == f"{SERVER}/a?action=b&q=1"
    assert prepared([], {"id": "x"}, path="/a/{id}#other").url == f"{SERVER}/a/x"
    (refused,) = read_operations(Document({"paths": {"/a?b={c}": {"get": {}}}}, "3.0"))
    assert isinstance(refused, Unusable)


@pytest.mark.parametrize("name", ["Accept", "content-type", "Authorization", "Host", "Transfer-Encoding", "Cookie"])
def test_headers_of_http_itself_are_no_arguments(name: str) -> None:
    root = {"paths": {"/do": {"get": {"parameters": [{"name": name, "in": "header"}]}}}}
    (one,) = read_operations(Document(root, "3.0"))
    assert isinstance(one, Operation)
    assert one.parameters == ()


BYTES = base64.b64encode(b"\x00\xff").decode()
FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"


@pytest.mark.parametrize(
    ("media", "schema", "encoding", "value", "written"),
    [
        ("application/json", {}, {}, {"a": None, "ü": 1.5}, '{"a":null,"ü":1.5}'.encode()),
        ("application/vnd.x+json; v=1", {}, {}, [1], b"[1]"),
        ("text/plain", {"type": "string"}, {}, "a\nb", b"a\nb"),
        ("application/xml", {"type": "object"}, {}, "<a/>", b"<a/>"),
        ("application/octet-stream", {"type": "string", "format": "binary"}, {}, BYTES, b"\x00\xff"),
        ("image/png", {}, {}, BYTES, b"\x00\xff"),
        ("image/png", {}, {}, "not base64!", None),
        (FORM, {}, {}, {"o": {"a": 1}, "n": None, "b": True}, b"o=%7B%22a%22%3A1%7D&n=&b=true"),
        (FORM, {}, {"t": {"style": "form", "explode": False}}, {"t": ["a", "b"]}, b"t=a,b"),
        (FORM, {}, {"o": {"style": "deepObject"}}, {"o": {"a": 1}}, b"o%5Ba%5D=1"),
        (FORM, {}, {}, "no object", None),
        (PARTS, {"properties": {"f": {"format": "binary"}}}, {}, {"f": "%%%"}, None),
    ],
)
def test_bodies(media: str, schema: Any, encoding: Any, value: Any, written: bytes | None) -> None:
    body = {"content": {media: {"schema": schema, "encoding": encoding}}}
    if written is None:
        with pytest.raises(BusinessError):
            prepared([], {"body": value}, requestBody=body)
        return
    content = prepared([], {"body": value}, requestBody=body).content
    assert content is not None
    assert (content.media, content.data) == (media, written)


def test_parts_have_the_type_that_the_description_says() -> None:
    properties = {
        "photos": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "meta": {"type": "object"},
        "note": {"type": "string"},
    }
    media = {"schema": {"properties": properties}, "encoding": {"photos": {"contentType": "image/png, image/gif"}}}
    value = {"photos": [BYTES, BYTES], "meta": {"a": 1}, "note": "hi", "no": 7}
    content = prepared([], {"body": value}, requestBody={"content": {PARTS: media}}).content
    assert content is not None
    assert content.parts == (
        ("photos", ("photos", b"\x00\xff", "image/png")),
        ("photos", ("photos", b"\x00\xff", "image/png")),
        ("meta", (None, b'{"a":1}', "application/json")),
        ("note", (None, b"hi", None)),
        ("no", (None, b"7", None)),
    )


def test_of_several_bodies_the_one_is_taken_that_models_write_best() -> None:
    content: Any = {PARTS: {}, "application/xml": {}, "application/json": {}, FORM: {}}
    media: list[str] = []
    for one in ("application/json", FORM, PARTS, "application/xml"):
        found = prepared([], {"body": {}}, requestBody={"content": dict(content)}).content
        assert found is not None
        media.append(found.media)
        del content[one]
    assert media == ["application/json", FORM, "", "application/xml"]


def credential(place: Any, name: str) -> Credential:
    return Credential(scheme="key", place=place, name=name, value=Secret("s3 cret"))


def test_credentials_stand_where_they_belong() -> None:
    plain = prepared([{"name": "q", "in": "query"}], {"q": 1})
    assert with_credentials(plain, [credential("query", "api key")]).url == f"{SERVER}/do?q=1&api%20key=s3%20cret"
    assert with_credentials(plain, [credential("header", "X-Key")]).headers == (("X-Key", "s3 cret"),)
    assert with_credentials(plain, [credential("cookie", "sid")]).cookies == ("sid=s3%20cret",)
    assert "s3" not in repr(credential("query", "key"))


@pytest.mark.parametrize(("place", "smuggled"), [("query", {"key": "mine"}), ("cookie", {"key": "mine"})])
def test_no_argument_stands_where_a_credential_does(place: str, smuggled: Any) -> None:
    plain = prepared([{"name": "o", "in": place}], {"o": smuggled})
    with pytest.raises(BusinessError, match="not yours"):
        with_credentials(plain, [credential(place, "key")])


def test_a_form_of_2_0() -> None:
    root = {
        "swagger": "2.0",
        "host": "api.test",
        "basePath": "/v2",
        "schemes": ["http", "https"],
        "paths": {
            "/pets/{petId}": {
                "parameters": [{"name": "petId", "in": "path", "type": "integer", "required": True}],
                "post": {
                    "consumes": [PARTS],
                    "parameters": [
                        {"name": "file", "in": "formData", "type": "file"},
                        {"name": "tags", "in": "formData", "type": "array", "items": {}, "collectionFormat": "csv"},
                        {"name": "ids", "in": "query", "type": "array", "items": {}, "collectionFormat": "pipes"},
                        {"name": "all", "in": "query", "type": "array", "items": {}, "collectionFormat": "multi"},
                    ],
                },
            }
        },
    }
    document = Document(as_three(root), "2.0")
    (one,) = read_operations(document)
    assert isinstance(one, Operation)
    assert one.servers == [{"url": "https://api.test/v2"}, {"url": "http://api.test/v2"}]
    arguments = {"petId": 7, "ids": [1, 2], "all": [3, 4], "body": {"file": BYTES}}
    found = prepare(document, one, SERVER, arguments)
    assert found.url == f"{SERVER}/pets/7?ids=1%7C2&all=3&all=4"
    assert found.content is not None
    assert found.content.parts == (("file", ("file", b"\x00\xff", "application/octet-stream")),)

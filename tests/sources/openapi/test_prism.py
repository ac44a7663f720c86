"""A validating server accepts what is built: `@stoplight/prism-cli` reads the same description as we do.

Not among the operations, because Prism 5.16 reads them otherwise than the specification: lists and objects in a path of
style `simple` (it crashes), `spaceDelimited` (it splits at an escaped `%20`), lists in a form without an `encoding`
(it keeps the last), objects in parts (it takes them for text).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.npm import NpmUnavailableError, install, node
from tests.sources.openapi.api import called, engine_of

HERE = Path(__file__).parent / "prism"
STARTUP_S = 40.0

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("simple", {"a": "x y/z"}),
    ("label", {"a": "text", "b": [1, 2]}),
    ("matrix", {"a": "text", "b": [1, 2]}),
    ("query", {"a": "x &=y", "b": [1, 2], "c": [1, 2], "e": [1, 2], "f": {"k": 1}, "g": True, "i": {"k": 1}}),
    ("header", {"X_A": [1, 2], "X_B": False, "sid": 1, "tok": "text"}),
    ("json", {"body": {"a": 1, "n": None, "t": [{"name": "a", "children": [{"name": "b"}]}]}}),
    ("scalar", {"body": "true"}),
    ("form", {"body": {"user": "ann", "n": 1, "tags": ["a", "b"]}}),
    ("parts", {"body": {"title": "T", "n": "1"}}),
    ("text", {"body": "some words"}),
    ("kinds", {"body": {"kind": "cat", "lives": 9}}),
    ("kinds", {"body": {"kind": "dog", "bark": True}}),
    ("secure", {}),
    ("secureBearer", {}),
]


@pytest.fixture(scope="module")
def prism(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of a server that refuses what is not as the description says."""
    try:
        install(HERE)
    except NpmUnavailableError as error:
        if os.environ.get("SUREHAND_REQUIRE_WIRE") == "1":
            pytest.fail(f"SUREHAND_REQUIRE_WIRE=1, but {error}", pytrace=False)
        pytest.skip(f"no prism: {error}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("prism") / "log"
    program = HERE / "node_modules" / "@stoplight" / "prism-cli" / "dist" / "index.js"
    arguments = [node(), program, "mock", "--errors", "--host", "127.0.0.1", "--port", str(port), HERE / "api.yaml"]
    with log.open("wb") as output:
        server = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        deadline = time.monotonic() + STARTUP_S
        while "is listening" not in log.read_text(encoding="utf-8", errors="replace"):
            assert server.poll() is None, log.read_text(encoding="utf-8", errors="replace")
            assert time.monotonic() < deadline, "prism did not come up"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


async def test_a_validating_server_accepts_every_request(prism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "user:secret")
    credentials = dict.fromkeys(("key", "ck", "basic", "bearer"), "SHOP_KEY")
    async with engine_of(str(HERE / "api.yaml"), url=prism, credentials=credentials) as engine:
        results = [(name, await called(engine, f"shop_{name}", **arguments)) for name, arguments in CALLS]
        names = [entry.tool.spec.name for entry in engine.registry.catalog.entries.values()]
    assert [(name, result.content) for name, result in results if result.status != "ok"] == []
    assert sorted(names) == sorted({f"shop_{name}" for name, _ in CALLS})


def test_the_lock_names_versions_and_hashes_only() -> None:
    packages = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert packages.pop("")["devDependencies"] == wanted
    assert all("integrity" in package and "resolved" not in package for package in packages.values())


async def test_it_does_refuse(prism: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(prism.rpartition(":")[2]))
    writer.write(b"GET /query?g=true HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b" 422 " in head.splitlines()[0]
    assert json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])["status"] == 422

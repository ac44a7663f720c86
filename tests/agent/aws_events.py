"""Amazon's event streams, as their bytes."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any


def event(kind: str, payload: dict[str, Any], *, failed: bool = False) -> bytes:
    """One message: an event, or an exception that ends the stream."""
    what = "exception" if failed else "event"
    headers = {":message-type": what, f":{what}-type": kind, ":content-type": "application/json"}
    head = b"".join(_header(name, value) for name, value in headers.items())
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", len(head) + len(body) + 16, len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()

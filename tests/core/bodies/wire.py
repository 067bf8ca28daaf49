"""Protobuf's wire format and tokens written for tests, and formatters read to their end."""

from __future__ import annotations

import base64
import json
from typing import Any

from app.core.bodies.formatter import Formatter
from app.core.bodies.lines import WIDTH, Line


def shown(formatter: Formatter, data: bytes, piece: int = 1 << 20, limit: int = 3_000) -> list[str]:
    """All lines of bytes fed in pieces."""
    lines: list[Line] = []
    for at in range(0, max(1, len(data)), piece):
        formatter.feed(data[at : at + piece].decode("latin-1"), at + piece >= len(data))
        while not formatter.needs_input:
            lines += formatter.next_lines(limit)
    assert all(len(line.text) <= WIDTH and "\n" not in line.text for line in lines)
    return [line.text for line in lines]


def varint(value: int) -> bytes:
    """As protobuf writes it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, wire: int, value: bytes = b"") -> bytes:
    """A field; of a length-delimited one (2) the length is written too."""
    return varint(number << 3 | wire) + (varint(len(value)) + value if wire == 2 else value)


def token(payload: dict[str, Any], header: dict[str, Any] | None = None) -> str:
    """A JSON Web Token with a signature that is none."""
    parts = [header or {"alg": "HS256", "typ": "JWT"}, payload]
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*texts, "c2lnbmVk"])

"""Protobuf's wire format and tokens written for tests."""

from __future__ import annotations

import base64
import json
from typing import Any


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

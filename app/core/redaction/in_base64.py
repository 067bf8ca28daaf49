"""Secrets in a text that is Base64 from its first to its last character, as queues deliver bodies."""

from __future__ import annotations

import re

from app.core.bodies.formats.multipart import decode
from app.core.redaction.names import binary_may_name_secret
from app.core.redaction.secret import Find

_BASE64 = re.compile(
    r"\s*+(?:data:[\w/+.;=-]{0,100}?;base64,)?(?P<text>[\w+/-]{16,}+={0,2}(?:\s++[\w+/-]++={0,2})*+)\s*+\Z", re.ASCII
)
_URL_SAFE = str.maketrans("-_", "+/")
BINARY_MAX = 4096
PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")


def holds_secrets(text: str, find: Find) -> bool:
    """Whether the text is text or an archive in Base64, as queues deliver it, with secrets in it."""
    encoded = _BASE64.match(text)
    if not encoded:
        return False
    plain, decoded = decode("base64", encoded["text"].translate(_URL_SAFE).encode(), complete=False)
    if not decoded or not plain.isascii():
        short = plain[:BINARY_MAX]  # in many random bytes is any short name
        return bool(decoded) and (plain.startswith(PACKED) or binary_may_name_secret(short))
    return next(iter(find(plain.decode("ascii"))), None) is not None

"""gRPC's messages compressed one by one, undone within a bound; their first bytes tell by what they were compressed."""

from __future__ import annotations

from app.core.bodies.decoding.decompressor import Decompressor
from app.core.bodies.decoding.gzip_deflate import has_zlib_wrapper

UNPACKED_MAX = 1024 * 1024
"""Bytes of one message, unpacked, that are looked into."""


def decompress_message(data: bytes) -> bytes | None:
    """The message, or None where it is larger than `UNPACKED_MAX`, damaged, or packed in a way not known here."""
    coding = _coding(data)
    if coding is None:
        return None
    decompressor, plain = Decompressor((coding,)), bytearray()
    decompressor.feed(data)
    while not decompressor.needs_input and len(plain) <= UNPACKED_MAX:
        plain += decompressor.read(UNPACKED_MAX + 1 - len(plain))
    return bytes(plain) if len(plain) <= UNPACKED_MAX and decompressor.finish() is None else None


def _coding(data: bytes) -> str | None:
    if data.startswith(b"\x1f\x8b"):
        return "gzip"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    return "deflate" if has_zlib_wrapper(data) else None

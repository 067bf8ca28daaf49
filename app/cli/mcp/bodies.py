"""A part of a body as an agent reads it: of bounded size, without content coding, without secrets."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterator, Sequence

from app.cli.mcp.serializers import BodyShape
from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.bodies.media_types import content_type_of
from app.core.redaction.body import AFTER_BYTES, redacted_body

REDACTED_MAX = 1024 * 1024
"""How much of a body can be read without its secrets: each part is read from the beginning, for the names above it."""
TOO_LONG = "Without secrets, only the first 1 MiB of a body can be read."
_PIECE = 64 * 1024

Headers = Sequence[tuple[str, str]]


def part_as_sent(pieces: Iterator[bytes], size: int, limit: int, offset: int) -> BodyShape:
    """At most `limit` bytes from `offset`; `size` is the whole body's."""
    data = (_read(pieces, None, offset + limit, skip=offset))[0] if limit else b""
    cut_off = _cut_off(data)
    data = data[: len(data) - (cut_off or 0)]
    reached = offset + len(data)
    rest = reached if (data or not limit) and reached < size else None
    return _shape(data, is_text=cut_off is not None, size=size, offset=offset, next_offset=rest, note=None)


def part_without_secrets(pieces: Iterator[bytes], headers: Headers, size: int, limit: int, offset: int) -> BodyShape:
    """The same of the decompressed body, with secrets replaced. `headers` are those of the body."""
    names = codings(headers)
    if reason := unsupported_reason(names):
        why = f"{reason} It is not shown, for it may hold secrets."
        return _shape(b"", is_text=True, size=size, offset=offset, next_offset=None, note=why)
    if offset >= REDACTED_MAX:
        return _shape(b"", is_text=True, size=size, offset=offset, next_offset=None, note=TOO_LONG)
    end = min(offset + limit, REDACTED_MAX)
    data, problem = _read(pieces, Decompressor(names) if names else None, end + AFTER_BYTES)
    part = data[offset:end]
    cut_off = _cut_off(part)
    end = min(end, len(data)) - (cut_off or 0)
    shown, note = redacted_body(data, content_type_of(headers), offset, max(offset, end))
    more = (bool(part) or not limit) and end < len(data)
    notes = [
        problem,
        note,
        TOO_LONG if end >= REDACTED_MAX and more else None,
        f"Decompressed from {', '.join(names)}; offsets count decompressed bytes." if names else None,
    ]
    rest = end if more and end < REDACTED_MAX and (shown or not note) else None
    told = " ".join(filter(None, notes)) or None
    return _shape(shown, is_text=cut_off is not None, size=size, offset=offset, next_offset=rest, note=told)


def _read(
    pieces: Iterator[bytes], decompressor: Decompressor | None, most: int, *, skip: int = 0
) -> tuple[bytes, str | None]:
    """At most `most` bytes, without the first `skip` of them; and why the rest cannot be decompressed."""
    data, before = bytearray(), skip
    most -= skip
    for piece in pieces:
        if decompressor is None:
            data += piece[before:]
            before = max(0, before - len(piece))
        else:
            decompressor.feed(piece)
            while len(data) < most and (plain := decompressor.read(_PIECE)):
                data += plain
        if len(data) >= most or (decompressor and decompressor.error):
            break
    else:
        return bytes(data), decompressor.finish() if decompressor else None
    return bytes(data[:most]), decompressor.error if decompressor else None


def _cut_off(data: bytes) -> int | None:
    """How many bytes at the end begin a character which `data` has not whole; None if it is not UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return None
    if any(character < " " and character not in "\t\n\r" for character in text):
        return None
    beginning = len(decoder.getstate()[0])
    return beginning if beginning < len(data) or not data else None


def _shape(
    data: bytes, *, is_text: bool, size: int, offset: int, next_offset: int | None, note: str | None
) -> BodyShape:
    """`data` that is text is UTF-8."""
    return BodyShape(
        size=size,
        offset=offset,
        text=data.decode("utf-8", "replace") if is_text else None,
        base64=None if is_text else base64.b64encode(data).decode("ascii"),
        next_offset=next_offset,
        note=note,
    )

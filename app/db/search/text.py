"""The text of a request that words are looked for in: target, headers, and the body without its content coding."""

from __future__ import annotations

from urllib.parse import unquote

from app.core.bodies.charset import detect
from app.core.bodies.decoding import Unpacker, codings, refusal
from app.core.model import PART_SIZE, Headers

BODY_LIMIT = PART_SIZE
"""Bytes of a body that are searched, counted without its content coding."""


def plain_body(headers: Headers, data: bytes) -> bytes:
    """The beginning of a body, unpacked as far as it can be; as sent when it cannot. `data` is its first part."""
    names = codings(headers)
    if not names or refusal(names):
        return data[:BODY_LIMIT]
    unpacker = Unpacker(names)
    unpacker.feed(data)
    pieces, left = [], BODY_LIMIT
    while left and (piece := unpacker.take(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if pieces else data[:BODY_LIMIT]


def body_text(content_type: str, plain: bytes) -> str:
    """A body as text, whatever it is."""
    try:
        return plain.decode()
    except UnicodeDecodeError:
        charset = detect(content_type, plain, whole=False)
        return charset.decoder().decode(plain[charset.skip :], final=True)


def haystack(target: str, headers: Headers, content_type: str, data: bytes) -> str:
    """Everything of a request that words may stand in, case folded: its lines as they were sent."""
    lines = [target]
    if "%" in target:
        lines.append(unquote(target))
    lines += [f"{name}: {value}" for name, value in headers]
    if data:
        lines += ["", body_text(content_type, plain_body(headers, data))]
    return "\n".join(lines).casefold()

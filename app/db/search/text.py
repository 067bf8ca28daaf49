"""The texts of a request that words are looked for in: target, headers, and the body without its content coding."""

from __future__ import annotations

from typing import NamedTuple

from app.core.bodies.decoding.charset import detect
from app.core.bodies.decoding.decompressor import Decompressor, codings, refusal
from app.core.model import PART_SIZE, Headers
from app.core.search.readable.header_values import readable_headers
from app.core.search.readable.percent import readable_targets
from app.core.search.readable.readable_text import readable_texts

BODY_LIMIT = PART_SIZE
"""Bytes of a body that are searched, counted without its content coding."""


def plain_body(headers: Headers, data: bytes) -> bytes:
    """The beginning of a body, unpacked as far as it can be; as sent when it cannot. `data` is its first part."""
    names = codings(headers)
    if not names or refusal(names):
        return data[:BODY_LIMIT]
    unpacker = Decompressor(names)
    unpacker.feed(data)
    pieces, left = [], BODY_LIMIT
    while left and (piece := unpacker.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if pieces else data[:BODY_LIMIT]


class DecodedBody(NamedTuple):
    """A body as text, whatever it is, and the charset that it was read in, as Python calls it."""

    text: str
    codec: str = "utf-8"


def body_text(content_type: str, plain: bytes) -> DecodedBody:
    """Of a body without its content coding, or of its beginning."""
    try:
        return DecodedBody(plain.decode())
    except UnicodeDecodeError:
        charset = detect(content_type, plain, complete=False)
        return DecodedBody(charset.decoder().decode(plain[charset.skip :], final=True), charset.name)


def sent_text(target: str, headers: Headers, body: str) -> str:
    """Everything of a request that words may stand in, case folded: its lines as they were sent."""
    lines = [target, *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines += ["", body]
    return "\n".join(lines).casefold()


def readable_texts_of(
    target: str, headers: Headers, content_type: str, body: DecodedBody, *, only_changed: bool = False
) -> list[str]:
    """The same as it reads where that differs, each text to be looked at for itself. With `only_changed`, of the body
    only what is not among its text as sent, but for a few characters around it."""
    found = [*readable_targets(target), *readable_headers(headers)]
    found += readable_texts(content_type, body.text, body.codec, only_changed=only_changed)
    return [text.casefold() for text in found]

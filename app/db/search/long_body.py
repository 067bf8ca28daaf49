"""The text of a body that is longer than what is read with its row, in windows: a word that stands in it is in one.

So it is with the text as it reads, up to `readable_text.READ_MAX` characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.core.bodies.decoding.charset import detect
from app.core.bodies.decoding.decompressor import Decompressor, codings, refusal
from app.core.model import PART_SIZE, Headers
from app.core.search.readable.readable_text import ReadableText

WINDOW = 256 * 1024
"""Bytes of text folded at once: Python lets no other thread run meanwhile."""
UNPACKED_MOST = 128 * 1024 * 1024
"""A packed body is looked at so far: one of a few kilobytes may claim to hold terabytes."""

ReadPart = Callable[[int], bytes | None]
"""Gives a part of the body, counted from 0, each but the last of `PART_SIZE` bytes; None behind the last."""


def contains(word: str, headers: Headers, content_type: str, read: ReadPart, given_up: Callable[[], bool]) -> bool:
    """Whether the case folded `word` stands anywhere in the body; False too when it was given up."""
    return any(word in window for window in _windows(len(word), headers, content_type, read, given_up))


def _windows(
    overlap: int, headers: Headers, content_type: str, read: ReadPart, given_up: Callable[[], bool]
) -> Iterator[str]:
    pieces, tail = _plain(headers, read), ""
    first = next(pieces, b"")
    charset = detect(content_type, first, complete=False)
    decoder, piece, skip = charset.decoder(), first, charset.skip
    readable = ReadableText(content_type, charset.name, overlap=overlap)
    while piece and not given_up():
        text = decoder.decode(piece[skip:])
        yield (tail + text).casefold()
        # Folding never makes a text shorter, so what was cut in two stands in as many letters as the word has.
        tail, piece, skip = (tail + text)[-overlap:], next(pieces, b""), 0
        yield from map(str.casefold, readable.feed(text, final=not piece))


def _plain(headers: Headers, read: ReadPart) -> Iterator[bytes]:
    """The body without its content coding, as far as that can be undone; as sent when it cannot."""
    names = codings(headers)
    if not names or refusal(names):
        yield from _cut(_parts(read))
        return
    decompressor, left = Decompressor(names), UNPACKED_MOST
    for part in _parts(read):
        for packed in _cut((part,)):
            decompressor.feed(packed)
            while left > 0 and (piece := decompressor.read(min(left, WINDOW))):
                left -= len(piece)
                yield piece
            if left <= 0 or decompressor.error:
                return


def _parts(read: ReadPart) -> Iterator[bytes]:
    number = 0
    while part := read(number):
        yield part
        if len(part) < PART_SIZE:
            return
        number += 1


def _cut(parts: Iterator[bytes] | tuple[bytes, ...]) -> Iterator[bytes]:
    for part in parts:
        for at in range(0, len(part), WINDOW):
            yield part[at : at + WINDOW]

"""A stored request that a search examines: the texts that words are searched in, its headers, its JSON.

Headers and body are parsed only when a condition needs them. A body longer than the part that comes with its row is
read in windows that overlap, so that a word is always within one; so is its readable text, up to
`readable_text.READ_MAX` characters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from app.core.bodies.decoding.charset import detect
from app.core.bodies.decoding.decompressor import Decompressor, codings, refusal
from app.core.model import PART_SIZE, Headers
from app.core.search.readable.header_values import readable_headers
from app.core.search.readable.percent import readable_targets
from app.core.search.readable.readable_text import ReadableText, readable_texts
from app.db.insert import decode_headers

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


BODY_LIMIT = PART_SIZE
"""Bytes of a body that are searched, counted without its content coding."""


def plain_body(headers: Headers, data: bytes) -> bytes:
    """The beginning of a body, unpacked as far as it can be; as sent when it cannot. `data` is its first part."""
    names = codings(headers)
    if not names or refusal(names):
        return data[:BODY_LIMIT]
    decompressor = Decompressor(names)
    decompressor.feed(data)
    pieces, left = [], BODY_LIMIT
    while left and (piece := decompressor.read(left)):
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


NO_JSON = object()
_decoder = json.JSONDecoder(parse_float=Decimal)
"""Made once: making it takes as long as reading a small body."""


def _no_more(part: int) -> None:
    """Nothing but what came with the row."""


def _never() -> bool:
    return False


class Candidate:
    """`data` is the first part of the body, `read` gives any. `column_results` holds SQLite's result for each
    filter of columns, by the place of the filter in the search text. Once `given_up` returns true, reading a long body
    ends.
    """

    def __init__(
        self,
        *,
        target: str,
        content_type: str,
        source: str,
        headers: bytes,
        data: bytes | None,
        column_results: dict[int, bool],
        read: ReadPart = _no_more,
        given_up: Callable[[], bool] = _never,
    ) -> None:
        self.target, self.content_type, self.source, self.column_results = target, content_type, source, column_results
        self._headers, self._data = headers, data or b""
        self._read, self._given_up = read, given_up

    @cached_property
    def headers(self) -> Headers:
        """As sent."""
        return decode_headers(self._headers)

    @cached_property
    def text(self) -> str:
        """What words are looked for in as it was sent, case folded, with the beginning of the body."""
        return sent_text(self.target, self.headers, self._body.text)

    def readable_texts(self, *, only_changed: bool = False) -> list[str]:
        """The same as it reads, where that differs, each text to be looked at for itself."""
        return readable_texts_of(self.target, self.headers, self.content_type, self._body, only_changed=only_changed)

    def has(self, word: str) -> bool:
        """Whether the case folded word stands anywhere in the request, as it was sent or as it reads."""
        if word in self.text or any(word in text for text in self._readable_texts):
            return True
        return self._is_long and contains(word, self.headers, self.content_type, self._read, self._given_up)

    @cached_property
    def _readable_texts(self) -> list[str]:
        return self.readable_texts()

    @cached_property
    def _body(self) -> DecodedBody:
        """The beginning of it."""
        if not self._data:
            return DecodedBody("")
        return body_text(self.content_type, plain_body(self.headers, self._data))

    @cached_property
    def _is_long(self) -> bool:
        if len(self._data) < PART_SIZE and not codings(self.headers):
            return False
        return len(plain_body(self.headers, self._data)) >= BODY_LIMIT

    @cached_property
    def json(self) -> Any:
        """The body as JSON, `NO_JSON` when it is none (or longer than what is searched)."""
        if not self._data:
            return NO_JSON
        try:
            return _decoder.decode(self._body.text)
        except (ValueError, ArithmeticError, RecursionError):
            return NO_JSON

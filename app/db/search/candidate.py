"""A stored request that a search examines: the texts that words are searched in, its headers, its JSON.
Values of JSON are compared as numbers if they are, also those written as texts.

Headers and body are parsed only when a condition needs them. A body longer than the part that comes with its row is
read in windows that overlap, so that a word is always within one; so is its readable text, up to
`readable_text.READ_MAX` characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import count, takewhile
from typing import Any, NamedTuple

from app.core.bodies.charset import detect
from app.core.bodies.decompressor import AT_ONCE, Decompressor, codings, unsupported_reason
from app.core.model import PART_SIZE
from app.core.record import Headers
from app.db.models import decode_headers

WINDOW = 256 * 1024
"""Bytes of text folded at once: Python lets no other thread run meanwhile."""
UNPACKED_MAX = 128 * 1024 * 1024
"""Bytes of a compressed body that are examined: a few kilobytes may expand to terabytes."""
RATIO = 100
"""A body may always unpack to this multiple of what was sent. Text rarely exceeds it."""
FED = 1024
"""Bytes of a compressed body after which the ratio is checked again."""
BEYOND_RATIO_MAX = 1024 * 1024
"""Bytes that one body may unpack to beyond the ratio, while the search has as many left."""
SEARCH_BEYOND_RATIO_MAX = 8 * 1024 * 1024
"""Bytes that all bodies of a search may unpack to beyond the ratio."""

ReadPart = Callable[[int], bytes]
"""Returns a part of the body, counted from 0, each but the last of `PART_SIZE` bytes; empty after the last."""


class UnpackBudget:
    """The bytes that the bodies of a search may still unpack to beyond the ratio."""

    def __init__(self, remaining: int | None = None) -> None:
        self.remaining = SEARCH_BEYOND_RATIO_MAX if remaining is None else remaining


class BodyBudget:
    """The part of a search's budget that one body takes. Unpacking it again takes no more than before."""

    def __init__(self, budget: UnpackBudget) -> None:
        self._budget, self._taken = budget, 0
        self.exceeded = False
        """Whether the body was not unpacked to its end."""

    def allowed(self, fed: int) -> int:
        """How many bytes in total may be unpacked from the first `fed` bytes of the body."""
        beyond = min(self._taken + self._budget.remaining, BEYOND_RATIO_MAX)
        return min(fed * RATIO + beyond, UNPACKED_MAX)

    def take(self, unpacked: int, fed: int) -> None:
        """Record that `unpacked` bytes in total came from the first `fed`."""
        more = max(0, min(unpacked, self.allowed(fed)) - fed * RATIO - self._taken)
        self._taken += more
        self._budget.remaining -= more


def unpacked_pieces(names: tuple[str, ...], parts: Iterable[bytes], budget: BodyBudget) -> Iterator[bytes]:
    """The body without its codings `names`, in pieces of at most `WINDOW` bytes, as far as it can be decoded and the
    budget allows."""
    fed = unpacked = 0
    decompressor: Decompressor | None = None
    for part in parts:
        decompressor = decompressor or Decompressor(names, budget.allowed(len(part)))
        for at in range(0, len(part), FED):
            packed = part[at : at + FED]
            decompressor.feed(packed)
            fed += len(packed)
            # One byte more than allowed shows that the body has more.
            while piece := decompressor.read(min(WINDOW, budget.allowed(fed) - unpacked + 1)):
                unpacked += len(piece)
                budget.exceeded = unpacked > budget.allowed(fed)
                budget.take(unpacked, fed)
                yield piece
                if budget.exceeded:
                    return
            if decompressor.error:
                budget.exceeded = decompressor.error == AT_ONCE
                return


def body_contains(
    word: str,
    headers: Headers,
    content_type: str,
    read: ReadPart,
    cancelled: Callable[[], bool],
    *,
    budget: BodyBudget | None = None,
) -> bool:
    """Whether the case-folded `word` occurs anywhere in the body, as far as it was unpacked; also False when the search
    was cancelled."""
    pieces = _pieces(headers, read, budget or BodyBudget(UnpackBudget()))
    return any(word in window for window in _windows(len(word), content_type, pieces, cancelled))


def _windows(overlap: int, content_type: str, pieces: Iterator[bytes], cancelled: Callable[[], bool]) -> Iterator[str]:
    tail = ""
    first = next(pieces, b"")
    charset = detect(content_type, first, complete=False)
    decoder, piece, skip = charset.decoder(), first, charset.skip
    from app.core.search.readable_text import ReadableText  # start-up time, as below

    readable = ReadableText(content_type, charset.name, overlap=overlap)
    while piece and not cancelled():
        text = decoder.decode(piece[skip:])
        yield (tail + text).casefold()
        # Folding never makes a text shorter, so an overlap as long as the word holds every occurrence that was cut in
        # two.
        tail, piece, skip = (tail + text)[-overlap:], next(pieces, b""), 0
        yield from map(str.casefold, readable.feed(text, final=not piece))


def _pieces(headers: Headers, read: ReadPart, budget: BodyBudget) -> Iterator[bytes]:
    """The decoded body in pieces of at most `WINDOW` bytes, as far as it can be decoded; as sent when it cannot."""
    names, parts = codings(headers), takewhile(bool, map(read, count()))
    if names and not unsupported_reason(names):
        return unpacked_pieces(names, parts, budget)
    return (part[at : at + WINDOW] for part in parts for at in range(0, len(part), WINDOW))


BODY_LIMIT = PART_SIZE
"""Bytes of the decoded body that are searched."""


def decoded_body(headers: Headers, data: bytes, budget: BodyBudget) -> bytes:
    """At most `BODY_LIMIT` bytes of it; empty when it cannot be decoded."""
    names = codings(headers)
    if not names:
        return data[:BODY_LIMIT]
    pieces = bytearray()
    for piece in unpacked_pieces(names, (data,), budget):
        pieces += piece
        if len(pieces) >= BODY_LIMIT:
            break
    return bytes(pieces[:BODY_LIMIT])


class DecodedBody(NamedTuple):
    """A body as text, even if it is binary, and Python's name of the charset it was decoded with."""

    text: str
    codec: str = "utf-8"


def body_text(content_type: str, plain: bytes) -> DecodedBody:
    """`plain` is the decoded body, or its beginning."""
    try:
        return DecodedBody(plain.decode())
    except UnicodeDecodeError:
        charset = detect(content_type, plain, complete=False)
        return DecodedBody(charset.decode(plain), charset.name)


JSON_NAMES = {True: "true", False: "false", None: "null"}
EVERY_WHOLE = 2.0**53
"""Up to here a float holds every whole number."""
_MAY_BE_NUMBER = re.compile(r"[\s_+\-.]*\d")
"""Matches the beginning of every number; most texts are ruled out by their first character."""


def as_number(value: Any) -> Decimal | None:
    """The value as a number, None if it is none. A text such as "12.50" is one: many services write amounts that
    way."""
    if isinstance(value, str) and not _MAY_BE_NUMBER.match(value):
        return None
    try:
        number = Decimal(value)
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None


def rounded(number: Decimal) -> tuple[float, bool]:
    """The nearest float, which the index can hold, and whether it equals the number."""
    near = float(number)
    if near.is_integer() and abs(near) < EVERY_WHOLE:
        return near, near == number
    return near, Decimal(repr(near)) == number


NO_JSON = object()
_decoder = json.JSONDecoder(parse_float=Decimal)
"""Made once: making one takes as long as parsing a small body."""


def _no_parts(part: int) -> bytes:
    """The body has no further parts than the one in the row."""
    return b""


def _never() -> bool:
    return False


class Candidate:
    """`data` is the first part of the body, `read` returns any part. `column_results` holds SQLite's results for
    filters on columns, by the position of the filter in the query. Once `cancelled` returns true, reading a long body
    ends. A compressed body is unpacked as far as `budget` allows, which bodies of one search share."""

    def __init__(
        self,
        *,
        target: str,
        content_type: str,
        source: str,
        headers: bytes,
        data: bytes | None,
        column_results: dict[int, bool],
        read: ReadPart = _no_parts,
        cancelled: Callable[[], bool] = _never,
        budget: UnpackBudget | None = None,
    ) -> None:
        self.target, self.content_type, self.source, self.column_results = target, content_type, source, column_results
        self._headers, self._data = headers, data or b""
        self._read, self._cancelled = read, cancelled
        self._budget = BodyBudget(budget or UnpackBudget())

    @property
    def is_whole(self) -> bool:
        """Whether the body was unpacked as far as was asked for."""
        return not self._budget.exceeded

    @cached_property
    def headers(self) -> Headers:
        return decode_headers(self._headers)

    @cached_property
    def text(self) -> str:
        """The text that words are searched in, as sent and case-folded, with the beginning of the body."""
        lines = [self.target, *(f"{name}: {value}" for name, value in self.headers)]
        if self._body.text:
            lines += ["", self._body.text]
        return "\n".join(lines).casefold()

    def readable_texts(self, *, only_changed: bool = False) -> list[str]:
        """The same text in readable form (percent, JSON and other escapes decoded) where that differs, in pieces. With
        `only_changed`, only the parts of the body that differ, with a few characters around them."""
        # Start-up time: it knows many notations and formats, which only a search and the index need.
        from app.core.search.notations import readable_headers, readable_targets
        from app.core.search.readable_text import readable_texts

        found = [*readable_targets(self.target), *readable_headers(self.headers)]
        found += readable_texts(self.content_type, self._body.text, self._body.codec, only_changed=only_changed)
        return [text.casefold() for text in found]

    def has(self, word: str) -> bool | None:
        """Whether the case-folded word occurs anywhere in the request, as sent or in readable form; None when it does
        not occur in what was unpacked of the body."""
        if word in self.text or any(word in text for text in self._readable_texts):
            return True
        body = word, self.headers, self.content_type, self._read, self._cancelled
        if self._is_long and body_contains(*body, budget=self._budget):
            return True
        return False if self.is_whole else None

    @cached_property
    def _readable_texts(self) -> list[str]:
        return self.readable_texts()

    @cached_property
    def _body(self) -> DecodedBody:
        """The beginning of the body."""
        return body_text(self.content_type, self._plain) if self._data else DecodedBody("")

    @cached_property
    def _plain(self) -> bytes:
        """The beginning of the decoded body, as far as it can be decoded; as sent when it cannot."""
        return decoded_body(self.headers, self._data, self._budget) or self._data[:BODY_LIMIT]

    @cached_property
    def _is_long(self) -> bool:
        return len(self._plain) >= BODY_LIMIT

    @cached_property
    def json(self) -> Any:
        """The body as JSON; `NO_JSON` when it is not JSON, longer than the part that is searched, or not whole."""
        text = self._json_text
        if not self._data or not self.is_whole:
            return NO_JSON
        try:
            return _decoder.decode(text)
        except (ValueError, ArithmeticError, RecursionError):
            return NO_JSON

    @property
    def _json_text(self) -> str:
        return self._body.text

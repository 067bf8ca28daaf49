"""Decodes the text of a body for searching, in addition to the text as sent, if they differ.

Decoding never makes a text longer, so the decoded text is at most a small multiple of the body.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from typing import TypedDict

from app.core.bodies.charset import detect
from app.core.bodies.formats.multipart import HEAD_MAX, Part, declared_boundary, part_of
from app.core.bodies.media_types import FORM, media_type, text_language, type_of
from app.core.search.notations import (
    ENCODED_WORDS,
    JSON_ESCAPES,
    PARAMETERS,
    UTF8_AS_LATIN1,
    Notation,
    form_notation,
)

LOOK_BACK = 8 * 1024
"""Characters before the header that are searched for the start of the part's headers."""
LINE_MAX = 16 * 1024
"""Maximum characters held back of a quoted-printable line."""
PARTS_MAX = 200
"""Maximum headers examined in a text."""
DELIMITERS_MAX = 10
_NAME = "content-t"
_HINTS = ("ransfer-", "RANSFER-")
_HINT = re.compile("(?:ransfer|RANSFER)-")
_ENCODING = re.compile(r"content-transfer-encoding[ \t]*:[ \t]*\"?(?:base64|quoted-printable)", re.IGNORECASE)
_ENCODING_MAX = 80
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/= \t\r\n]")
_TEXTS = ("text/", "message/", "multipart/")
_TEXT_ENDINGS = ("json", "xml", "yaml", "x-www-form-urlencoded")


class _Options(TypedDict):
    """What a `ReadableText` is made with, besides its body."""

    overlap: int
    only_changed: bool
    depth: int


class Mail:
    """Decodes quoted-printable and base64 texts (RFC 2045) in mails and other bodies with parts, as text arrives, and
    the texts encoded in those. `codec` is its charset, `content_type` that of the whole body; `options` are those of
    `ReadableText` for a part.

    They are found by the header that declares them, not by boundaries: mail providers put a mail into a form field, a
    part or a JSON string, where no boundary is declared.
    """

    def __init__(self, content_type: str, codec: str, options: _Options) -> None:
        boundary = declared_boundary(content_type) if "boundary" in content_type else None
        self._delimiters = [f"--{boundary}"] if boundary else []
        self._codec, self._options = codec if codec == "latin-1" else "utf-8", options
        self._text, self._at = "\n", 0
        self._examined, self._may_have_parts = 0, False
        self._part: _Part | None = None

    @staticmethod
    def may_occur(text: str) -> bool:
        """Whether the text can contain such a header."""
        return any(hint in text for hint in _HINTS)

    def feed(self, text: str, final: bool) -> Iterator[str]:
        """The texts found so far. Consume them all before feeding more."""
        cut = max(0, self._at - LOOK_BACK)
        self._text, self._at = self._text[cut:] + text, self._at - cut
        self._may_have_parts = self.may_occur(self._text)
        before: tuple[int, bool] | None = None
        while before != (self._at, self._part is None):
            before = self._at, self._part is None
            if self._part:
                yield from self._inside(self._part, final)
            else:
                self._outside(final)

    def _outside(self, final: bool) -> None:
        text = self._text
        found = self._next_encoding()
        if found is None or self._examined >= PARTS_MAX:
            self._at = max(self._at, len(text) - _ENCODING_MAX)
            return
        limit = found.end() + HEAD_MAX
        ends = [(text.find(mark, found.end(), limit), len(mark)) for mark in ("\n\n", "\n\r\n")]
        end, length = min((end for end in ends if end[0] >= 0), default=(-1, 0))
        if end < 0 and not final and len(text) < limit:
            self._at = max(self._at, found.start())
            return
        self._examined += 1
        if end < 0:
            self._at = found.end()
            return
        self._at = end + length - 1  # a boundary can follow directly
        delimiter, part = self._head(found.start(), end)
        if part.encoding in _CODECS and _is_text(part):
            if delimiter and delimiter not in self._delimiters:
                self._delimiters = [*self._delimiters, delimiter][-DELIMITERS_MAX:]
            self._part = _Part(part, self._codec, self._delimiters, self._options)

    def _next_encoding(self) -> re.Match[str] | None:
        """Searches for a substring first: a pattern for the whole line would be tried at every character."""
        text = self._text
        if not self._may_have_parts:
            return None
        for hint in _HINT.finditer(text, self._at):
            begin = hint.start() - len(_NAME)
            if begin > 0 and text[begin - 1] == "\n" and (match := _ENCODING.match(text, begin)):
                return match
        return None

    def _head(self, at: int, end: int) -> tuple[str | None, Part]:
        """The boundary line of the part, if any, and the part's headers."""
        text, low = self._text, max(0, at - LOOK_BACK)
        begin = max(text.rfind(mark, low, at) + len(mark) for mark in ("\n\n", "\n\r\n"))
        line = text.rfind("\n--", low, at)
        if line < begin - 1:
            return None, part_of(text[begin:end])
        stop = text.find("\n", line + 1)
        return text[line + 1 : stop].rstrip(), part_of(text[stop + 1 : end])

    def _inside(self, part: _Part, final: bool) -> Iterator[str]:
        text, at = self._text, self._at
        match = part.end.search(text, at)
        stop = match.start() if match else len(text) if final else max(at, len(text) - part.end_length)
        ended = match is not None or final
        self._at = stop
        if ended:
            self._part = None
        yield from part.feed(text[at:stop], ended)


def _quoted_printable(data: bytes, final: bool) -> tuple[bytes, bytes]:
    """Decodes complete lines only: a line can continue after its end. Also returns the rest."""
    stop = len(data) if final else data.rfind(b"\n") + 1
    if not stop and len(data) > LINE_MAX:
        equals = data.rfind(b"=", len(data) - 3)
        stop = len(data) if equals < 0 else equals
    return binascii.a2b_qp(data[:stop]), data[stop:]


def _base64(data: bytes, final: bool) -> tuple[bytes, bytes]:
    """Decodes groups of four characters, and returns the rest; an incomplete group at the end is dropped."""
    data = b"".join(data.split())
    stop = len(data) // 4 * 4
    try:
        return binascii.a2b_base64(data[:stop]), data[stop:]
    except binascii.Error:
        return b"", data[stop:]


_CODECS = {"quoted-printable": _quoted_printable, "base64": _base64}


class _Part:
    """A part being read, up to a match of `end`, which has at most `end_length` characters."""

    def __init__(self, part: Part, codec: str, delimiters: list[str], options: _Options) -> None:
        self._content_type, self._codec = part.content_type, codec
        self._overlap, self._inner = Overlap(options["overlap"]), ReadableText(part.content_type, **options)
        self._decode_bytes, self._pending = _CODECS[part.encoding], b""
        self._charset: codecs.IncrementalDecoder | None = None
        self.end, self.end_length = _NO_BASE64, 0
        if part.encoding != "base64":
            lines = "|".join(map(re.escape, delimiters))
            self.end = re.compile(f"\n(?:{lines})" if lines else r"(?!)")
            self.end_length = max(map(len, delimiters), default=0) + 2

    def feed(self, text: str, final: bool) -> Iterator[str]:
        """The next piece of its text, and the texts encoded in that."""
        decoded = self._decode(text, final)
        if decoded:
            yield self._overlap.extend(decoded)
        if decoded or final:
            yield from self._inner.feed(decoded, final)

    def _decode(self, text: str, final: bool) -> str:
        data, self._pending = self._decode_bytes(self._pending + text.encode(self._codec, "replace"), final)
        if self._charset is None:
            if not data:
                return ""
            charset = detect(self._content_type, data, complete=final)
            self._charset, data = charset.decoder(), data[charset.skip :]
        return self._charset.decode(data, final)


def _is_text(part: Part) -> bool:
    kind = type_of(media_type(part.content_type), part.file_name)
    return not kind or bool(text_language(kind)) or kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDINGS)


JSON_LEVELS = 3
"""Levels of JSON within JSON strings; deeper ones are not decoded."""
MAIL_LEVELS = 3
"""Levels of mails within mails."""
READ_MAX = 128 * 1024 * 1024
"""Maximum characters of a body that are decoded; beyond them only the text as sent is searched."""


class IncrementalDecoder:
    """Decodes a text that arrives in pieces, and returns the texts to search, beginning with the first that differs.

    Each begins with the `overlap` characters before it. With `only_changed`, the whole text must be fed at once.
    """

    def __init__(self, notation: Notation, overlap: int, only_changed: bool = False) -> None:
        self._notation, self._only_changed = notation, only_changed
        self._pending, self._overlap = "", Overlap(overlap)
        self.differs = False

    def feed(self, text: str, final: bool) -> tuple[str, list[str]]:
        """The text decoded so far, and the texts to search."""
        text = self._pending + text
        stop = len(text) if final else self._notation.unfinished(text)
        self._pending = text[stop:]
        decoded = self._notation.read(text[:stop])
        self.differs = self.differs or decoded != text[:stop]
        output = self._overlap.extend(decoded)
        if not self.differs:
            return decoded, []
        return decoded, self._notation.changed(text) if self._only_changed else [output]


class Overlap:
    """Prepends the last `length` characters of a text to its next piece."""

    def __init__(self, length: int) -> None:
        self._length, self._last = length, ""

    def extend(self, text: str) -> str:
        """The piece with the characters before it."""
        if not self._length:
            return text
        output = self._last + text
        self._last = output[-self._length :]
        return output


class ReadableText:
    """Turns the text of a body, as it arrives, into texts to search one by one.

    With `overlap`, each begins with that many characters before it, so that words of this length are found. Without it,
    the whole body is fed at once; `only_changed` then leaves out text that is not changed by decoding, except a few
    characters around the rest. `codec` is the charset of the text.
    """

    def __init__(
        self, content_type: str, codec: str = "utf-8", *, overlap: int = 0, only_changed: bool = False, depth: int = 0
    ) -> None:
        self._content_type, self._codec, self._depth = content_type, codec, depth
        self._overlap, self._only_changed = overlap, only_changed
        self._body_decoder: IncrementalDecoder | None = None
        self._started, self._remaining = False, READ_MAX
        self._json_levels = [IncrementalDecoder(JSON_ESCAPES, overlap) for _ in range(JSON_LEVELS if overlap else 1)]
        self._values: dict[tuple[int, Notation], IncrementalDecoder] = {}
        self._mails: dict[int, Mail] = {}

    def feed(self, text: str, final: bool) -> Iterator[str]:
        """The texts found so far. Consume them all before feeding more."""
        self._remaining -= len(text)
        if self._remaining < 0:
            return
        if text and not self._started:
            self._start(text)
        if self._body_decoder is not None:
            text, output = self._body_decoder.feed(text, final)
            yield from output
        yield from self._nested_texts(0, text, final)
        for level, decoder in enumerate(self._json_levels, 1):
            if self._only_changed:
                output = JSON_ESCAPES.changed(text)
                yield from output
                if not _may_decode_further(text, output):
                    return
            text, output = decoder.feed(text, final)
            yield from () if self._only_changed else output
            if decoder.differs:
                yield from self._nested_texts(level, text, final)
                if level == len(self._json_levels) < JSON_LEVELS:
                    self._json_levels.append(IncrementalDecoder(JSON_ESCAPES, 0))  # the next iteration

    def _start(self, text: str) -> None:
        self._started = True
        notation = _notation(self._content_type, text, self._codec, guess=not self._depth)
        if notation is not None:
            self._body_decoder = self._decoder(notation)

    def _nested_texts(self, level: int, text: str, final: bool) -> Iterator[str]:
        """The encoded texts within the text of a JSON level."""
        for notation in (ENCODED_WORDS, PARAMETERS):
            key = level, notation
            if key not in self._values and (self._overlap or notation.may_occur(text)):
                self._values[key] = self._decoder(notation)
            if key in self._values:
                yield from self._values[key].feed(text, final)[1]
        if level not in self._mails and (self._overlap or Mail.may_occur(text)) and self._depth < MAIL_LEVELS:
            options = _Options(overlap=self._overlap, only_changed=self._only_changed, depth=self._depth + 1)
            self._mails[level] = Mail(self._content_type, self._codec, options)
        if level in self._mails:
            yield from self._mails[level].feed(text, final)

    def _decoder(self, notation: Notation) -> IncrementalDecoder:
        return IncrementalDecoder(notation, self._overlap, self._only_changed)


def readable_texts(content_type: str, text: str, codec: str, *, only_changed: bool = False) -> list[str]:
    """The texts of a complete body, to be searched one by one."""
    if (
        not JSON_ESCAPES.may_occur(text)
        and not _may_contain_encoded(text)
        and _notation(content_type, text, codec) is None
    ):
        return []
    return list(ReadableText(content_type, codec, only_changed=only_changed).feed(text, True))


def _may_decode_further(text: str, changed: list[str]) -> bool:
    """Whether a decoded text can contain more encoded text; `changed` is what decoding changed."""
    if any(map(JSON_ESCAPES.may_occur, changed)):
        return True
    return bool(changed) and any(map(_may_contain_encoded, (text, *changed)))


def _may_contain_encoded(text: str) -> bool:
    """Whether the text can contain encoded text other than JSON's escapes."""
    return ENCODED_WORDS.may_occur(text) or PARAMETERS.may_occur(text) or Mail.may_occur(text)


def _notation(content_type: str, text: str, codec: str, *, guess: bool = True) -> Notation | None:
    """The notation of a body that begins with `text`: by its type, or with `guess` also by its content."""
    kind = media_type(content_type)
    if kind.startswith("multipart/"):
        return UTF8_AS_LATIN1 if codec == "latin-1" else None
    return form_notation(content_type, kind, text) if guess or kind == FORM else None

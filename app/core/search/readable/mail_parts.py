"""Decodes quoted-printable and base64 texts (RFC 2045) in mails and other bodies with parts.

They are found by the header that declares them, not by boundaries: mail providers put a mail into a form field, a part
or a JSON string, where no boundary is declared.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from typing import Protocol

from app.core.bodies.charset import detect
from app.core.bodies.formats.languages import type_of
from app.core.bodies.formats.multipart_parts import HEAD_MAX, Part, declared_boundary, part_of
from app.core.bodies.media_types import media_type

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
_TEXT_ENDINGS = ("json", "xml", "javascript", "x-www-form-urlencoded", "yaml")

Event = tuple[str, str]
"""("begin", content type) of a part, ("text", a piece of its text), or ("end", "")."""


class MailParts:
    """Decodes text as it arrives. `codec` is its charset, `content_type` that of the whole body."""

    def __init__(self, content_type: str, codec: str) -> None:
        boundary = declared_boundary(content_type) if "boundary" in content_type else None
        self._delimiters = [f"--{boundary}"] if boundary else []
        self._codec = codec if codec == "latin-1" else "utf-8"
        self._text, self._at = "\n", 0
        self._examined, self._may_have_parts = 0, False
        self._part: _Part | None = None

    @staticmethod
    def may_occur(text: str) -> bool:
        """Whether the text can contain such a header."""
        return any(hint in text for hint in _HINTS)

    def feed(self, text: str, final: bool) -> Iterator[Event]:
        """The events found so far. Consume them all before feeding more."""
        cut = max(0, self._at - LOOK_BACK)
        self._text, self._at = self._text[cut:] + text, self._at - cut
        self._may_have_parts = self.may_occur(self._text)
        before: tuple[int, bool] | None = None
        while before != (self._at, self._part is None):
            before = self._at, self._part is None
            yield from self._inside(self._part, final) if self._part else self._outside(final)

    def _outside(self, final: bool) -> Iterator[Event]:
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
            self._part = _Part(part, self._codec, self._delimiters)
            yield "begin", part.content_type

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

    def _inside(self, part: _Part, final: bool) -> Iterator[Event]:
        text, at = self._text, self._at
        match = part.end.search(text, at)
        stop = match.start() if match else len(text) if final else max(at, len(text) - part.end_length)
        ended = match is not None or final
        piece = part.decode(text[at:stop], ended)
        self._at = stop
        if piece:
            yield "text", piece
        if ended:
            self._part = None
            yield "end", ""


class _Decoder(Protocol):
    def decode(self, data: bytes, final: bool) -> bytes: ...


class _QuotedPrintable:
    def __init__(self) -> None:
        self._pending = b""

    def decode(self, data: bytes, final: bool) -> bytes:
        """Complete lines only: a line can continue after its end."""
        data = self._pending + data
        stop = len(data) if final else data.rfind(b"\n") + 1
        if not stop and len(data) > LINE_MAX:
            equals = data.rfind(b"=", len(data) - 3)
            stop = len(data) if equals < 0 else equals
        self._pending = data[stop:]
        return binascii.a2b_qp(data[:stop])


class _Base64:
    def __init__(self) -> None:
        self._pending = b""

    def decode(self, data: bytes, final: bool) -> bytes:
        """Groups of four characters; incomplete ones are dropped."""
        data = self._pending + b"".join(data.split())
        stop = len(data) // 4 * 4
        self._pending = data[stop:]
        try:
            return binascii.a2b_base64(data[:stop])
        except binascii.Error:
            return b""


_CODECS: dict[str, type[_QuotedPrintable] | type[_Base64]] = {"quoted-printable": _QuotedPrintable, "base64": _Base64}


class _Part:
    """A part being read, up to a match of `end`, which has at most `end_length` characters."""

    def __init__(self, part: Part, codec: str, delimiters: list[str]) -> None:
        self._content_type, self._codec = part.content_type, codec
        self._decoder: _Decoder = _CODECS[part.encoding]()
        self._charset: codecs.IncrementalDecoder | None = None
        self.end, self.end_length = _NO_BASE64, 0
        if part.encoding != "base64":
            lines = "|".join(map(re.escape, delimiters))
            self.end = re.compile(f"\n(?:{lines})" if lines else r"(?!)")
            self.end_length = max(map(len, delimiters), default=0) + 2

    def decode(self, text: str, final: bool) -> str:
        """The next piece of its text."""
        data = self._decoder.decode(text.encode(self._codec, "replace"), final)
        if self._charset is None:
            if not data:
                return ""
            charset = detect(self._content_type, data, complete=final)
            self._charset, data = charset.decoder(), data[charset.skip :]
        return self._charset.decode(data, final)


def _is_text(part: Part) -> bool:
    kind = type_of(media_type(part.content_type), part.file_name)
    return not kind or kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDINGS)

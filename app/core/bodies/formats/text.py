r"""Plain text, and raw bytes with `\xe9` for anything that is not printable UTF-8, as lines folded if too long."""

from __future__ import annotations

import codecs
import re

from app.core.bodies.lines import Kind, Line, LineBuilder


class TextFormatter:
    """Lines end at LF or CR LF; a lone CR is shown as `\\r`."""

    error: str | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, builder: LineBuilder | None = None) -> None:
        self._lines = LineBuilder() if builder is None else builder
        self._text, self._at = "", 0
        self._final = self._ended = False

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or (not self._final and self._at >= self._safe_end()))

    def feed(self, text: str, final: bool) -> None:
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final

    def next_lines(self, limit: int) -> list[Line]:
        """At most `limit` lines; an incomplete line is returned in folds once it is long."""
        end = self._safe_end()
        while len(self._lines) < limit and self._at < end:
            stop = self._text.find("\n", self._at, end)
            if stop < 0:
                self._lines.add("text", self._text[self._at : end])
                self._at = end
                break
            self._lines.add("text", self._text[self._at : stop].removesuffix("\r"))
            self._lines.end_line()
            self._at = stop + 1
        if self._final and self._at >= len(self._text) and not self._ended:
            self._ended = True
            if not self._lines.empty:
                self._lines.end_line()
        return self._lines.next_lines(limit)

    def _safe_end(self) -> int:
        """Excludes a CR at the end of the text."""
        end = len(self._text)
        return end - 1 if not self._final and self._text.endswith("\r") else end


def fit(media_type: str, head: bytes) -> float:
    """Good if the first bytes are text, poor if many of them are control bytes."""
    if not head:
        return 0.5
    controls = sum(head.count(byte) for byte in _BINARY)
    if controls * 20 > len(head):
        return 0.1
    textual = media_type.startswith("text/") or media_type == "application/x-www-form-urlencoded"
    return 0.6 if textual else 0.5


def is_binary(text: str) -> bool:
    """Whether decoded text is more likely binary: it has zeros, or many control characters."""
    return "\0" in text or sum(map(text.count, _CONTROLS)) * 20 > len(text)


_BINARY = tuple(bytes([code]) for code in range(32) if code not in b"\t\n\r\f\x1b")
_CONTROLS = tuple(byte.decode("ascii") for byte in _BINARY)


_NO_TEXT = re.compile("[\udc80-\udcff]+")
"""The result of `surrogateescape` for bytes that are not UTF-8."""


class RawFormatter:
    """Colours the header names in `head`; the rest of the request is fed. Lines end at LF or CR LF."""

    def __init__(self, head: bytes) -> None:
        self._builder = _ByteLines()
        self._text = TextFormatter(self._builder)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        line, *fields = head.decode("utf-8", "surrogateescape").split("\r\n")[:-1]
        self._builder.add("text", line)
        self._builder.end_line()
        for field in fields:
            name, mark, value = field.partition(":")
            self._builder.add("key", name)
            self._builder.add("text", mark + value)
            self._builder.end_line()

    @property
    def needs_input(self) -> bool:
        """Whether everything fed so far has been returned as lines."""
        return self._text.needs_input

    def feed(self, data: bytes, final: bool) -> None:
        """`final` marks the last piece, which may be empty."""
        self._text.feed(self._decoder.decode(data, final), final)

    def next_lines(self, limit: int) -> list[Line]:
        """The next lines, at most `limit`."""
        return self._text.next_lines(limit)


class _ByteLines(LineBuilder):
    def add(self, kind: Kind, text: str) -> None:
        at = 0
        for match in _NO_TEXT.finditer(text):
            super().add(kind, text[at : match.start()])
            super().add("control", "".join(f"\\x{ord(char) - 0xDC00:02x}" for char in match.group()))
            at = match.end()
        super().add(kind, text[at:])

r"""Bytes of a request as text; anything that is not printable UTF-8 is shown as `\xe9`."""

from __future__ import annotations

import codecs
import re

from app.core.bodies.formats.text import TextFormatter
from app.core.bodies.lines import Kind, Line, LineBuilder

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

    def take(self, limit: int) -> list[Line]:
        """The next lines, at most `limit`."""
        return self._text.take(limit)


class _ByteLines(LineBuilder):
    def add(self, kind: Kind, text: str) -> None:
        at = 0
        for match in _NO_TEXT.finditer(text):
            super().add(kind, text[at : match.start()])
            super().add("control", "".join(f"\\x{ord(char) - 0xDC00:02x}" for char in match.group()))
            at = match.end()
        super().add(kind, text[at:])

"""Turns the pieces of a body as sent into rows of comma-separated values: content coding, charset, delimiter, rows."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.bodies.decoding import decompressor
from app.core.bodies.decoding.charset import Charset, detect
from app.core.bodies.formats.csv_rows import Block, RowSplitter, delimiter_of
from app.core.model import Headers

PIECE = 256 * 1024
"""Bytes that are unpacked for one block of rows."""
_FIRST, _SAMPLE = 4 * 1024, 32 * 1024
"""Bytes read before charset and delimiter are detected, and characters that the detection looks at."""


class CsvReader:
    """`feed` it the body piece by piece. `error` says why unpacking stopped early."""

    def __init__(self, headers: Headers, content_type: str) -> None:
        names = decompressor.codings(headers)
        self._unpacker = decompressor.Decompressor(() if decompressor.refusal(names) else names)
        self._content_type = content_type
        self._splitter: RowSplitter | None = None
        self._charset: Charset | None = None
        self._first = b""
        self.error: str | None = None

    @property
    def delimiter(self) -> str:
        """Known after the first piece."""
        return self._splitter.delimiter if self._splitter else ","

    @property
    def charset(self) -> Charset | None:
        """Known after the first piece."""
        return self._charset

    def feed(self, data: bytes, final: bool) -> Iterator[Block]:
        """The rows that end in this piece; take them all before the next, and feed no more after an `error`.

        Slow: not for the GUI thread.
        """
        self._unpacker.feed(data)
        ended = False
        while not ended:
            plain = self._first + self._unpacker.take(PIECE)
            ended = self._unpacker.needs_input
            last = final and ended
            self.error = self._unpacker.finish() if last else self._unpacker.error
            last = last or self._unpacker.error is not None
            waits = self._charset is None and len(plain) < _FIRST and not last
            self._first = plain if waits else b""
            block = None if waits else self._rows(self._text(plain, last), last)
            if block is not None:
                yield block

    def _text(self, plain: bytes, last: bool) -> str:
        if self._charset is None:
            self._charset = detect(self._content_type, plain, last)
            self._decoder = self._charset.decoder()
            plain = plain[self._charset.skip :]
        return self._decoder.decode(plain, last)

    def _rows(self, text: str, last: bool) -> Block | None:
        if self._splitter is None:
            sample = text[:_SAMPLE]
            whole = last and len(sample) == len(text)
            self._splitter = RowSplitter(delimiter_of(sample, self._content_type, whole=whole))
        return self._splitter.feed(text, last)

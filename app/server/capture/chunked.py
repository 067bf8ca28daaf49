"""Parses the body of a chunked request strictly, with its trailers."""

from __future__ import annotations

import re

from app.core.record import Headers
from app.server.capture.head import FIELD_LINE, SPACE, MalformedError

TRAILERS_MAX = 100
TRAILERS_MAX_BYTES = 65_536
_SIZE_LINE_MAX = 4_096
_SIZE_MAX = 2**63 - 1
_NO_SIZE = "a chunk does not begin with a line that gives its size"

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]+)(?:;%b(?:=(?:%b|%b))?)*\r\n" % (_TOKEN, _TOKEN, _QUOTED))
_PLAIN_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})\r\n")
_MAY_BE_SIZE_LINE = re.compile(rb"(?:[0-9A-Fa-f]+(?:;[\t\x20-\x7e\x80-\xff]*)?\r?)?")


class ChunkedBody:
    """Splits the chunks as they arrive. Only this class decides where a chunked body ends: aiohttp's parser, which
    takes a trailer for a header of the next request, gets nothing of it."""

    def __init__(self) -> None:
        self.done = False
        self.trailers: Headers = ()
        """As sent: order, case, duplicates. They are data, whatever their names."""
        self.framing_error: str | None = None
        """Why the body is malformed; then nothing more can be read."""
        self._remaining = 0
        """Bytes of the chunk that are still missing; then -2 and -1 while its CR and LF are."""
        self._line = b""
        self._in_trailers = False
        self._trailer_bytes = 0
        self._fields: list[tuple[str, str]] = []

    def feed(self, data: bytes, at: int = 0) -> tuple[bytes, int]:
        """The body's bytes in `data` from `at` on, and where in `data` the body ended, or the length of `data`."""
        if 0 < len(data) - at <= self._remaining:  # the middle of a large chunk: nothing to take apart
            self._remaining -= len(data) - at
            if not self._remaining:
                self._remaining = -2
            return data[at:], len(data)
        parts: list[bytes] = []
        try:
            at = self._read(data, at, parts)
        except MalformedError as error:
            self.framing_error = str(error)
            at = len(data)
        return b"".join(parts), at

    def _read(self, data: bytes, at: int, parts: list[bytes]) -> int:
        """Append the body's bytes to `parts`; returns as `feed` does."""
        size = len(data)
        while at < size and not self.done:
            if self._remaining > 0:
                part = data[at : at + self._remaining]
                parts.append(part)
                at += len(part)
                self._remaining -= len(part)
                if not self._remaining:
                    self._remaining = -2
            elif self._remaining == -2 and data.startswith(b"\r\n", at):
                self._remaining = 0
                at += 2
            elif self._remaining < 0:
                if data[at] != b"\r\n"[self._remaining]:
                    raise MalformedError("a chunk is not followed by CR LF, so its size is wrong")
                self._remaining += 1
                at += 1
            elif self._in_trailers:
                at = self._read_trailer(data, at)
            else:
                at = self._read_size(data, at)
        return at

    def _read_size(self, data: bytes, at: int) -> int:
        found = None if self._line else _PLAIN_SIZE_LINE.match(data, at)
        if found is not None:
            at = found.end()
        else:
            line, at = self._complete(data, at, _SIZE_LINE_MAX, _NO_SIZE)
            if line is None:
                if not _MAY_BE_SIZE_LINE.fullmatch(self._line):
                    raise MalformedError(_NO_SIZE)
                return at
            found = _SIZE_LINE.fullmatch(line)
            if found is None:
                raise MalformedError(_NO_SIZE)
        self._remaining = int(found[1], 16)
        if self._remaining > _SIZE_MAX:
            raise MalformedError("the size of a chunk is too large")
        self._in_trailers = not self._remaining
        return at

    def _read_trailer(self, data: bytes, at: int) -> int:
        if not self._fields and not self._line and data.startswith(b"\r\n", at):
            self.done = True
            return at + 2
        room = TRAILERS_MAX_BYTES - self._trailer_bytes
        line, at = self._complete(data, at, room, f"the trailers are longer than {TRAILERS_MAX_BYTES:,} bytes")
        if line is None:
            return at
        if line == b"\r\n":
            self.trailers = tuple(self._fields)
            self.done = True
            return at
        self._trailer_bytes += len(line)
        field = FIELD_LINE.fullmatch(line)
        if field is None:
            raise MalformedError("a trailer is not a name and a value")
        if len(self._fields) == TRAILERS_MAX:
            raise MalformedError(f"there are more than {TRAILERS_MAX} trailers")
        self._fields.append((field[1].decode("latin-1"), field[2].strip(SPACE).decode("latin-1")))
        return at

    def _complete(self, data: bytes, at: int, limit: int, too_long: str) -> tuple[bytes | None, int]:
        """The line that ends in `data`, with its CR LF, and where the next begins; None while it is incomplete."""
        if self._line:
            # Its CR may have arrived earlier, so the whole line is searched, which is short.
            grown = self._line + data[at : at + limit + 2 - len(self._line)]
            end = grown.find(b"\r\n", len(self._line) - 1) + 2
            begun, line = len(self._line), grown[:end] if end > 1 else grown
        else:
            end = data.find(b"\r\n", at, at + limit + 2) + 2
            begun, line = 0, data[at:end] if end > 1 else data[at : at + limit + 2]
        if len(line) > limit:
            raise MalformedError(too_long)
        if end < 2:
            self._line = line
            return None, len(data)
        self._line = b""
        return line, at + len(line) - begun

"""Reads requests from a connection's bytes: each head is parsed in one piece, each body ends where its framing says.

The same bytes give the same result however they are cut into packets, and nothing else decides where a request ends.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from app.core.clock import now_us
from app.core.model import REFUSED_RAW_MAX
from app.core.record import Headers
from app.server.capture.head import LENGTH_MAX, Head, HeadScan, MalformedError

TRAILERS_MAX = 100
TRAILERS_MAX_BYTES = 65_536
_SIZE_LINE_MAX = 4_096
_NO_SIZE = "a chunk does not begin with a line that gives its size"

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD = re.compile(rb"(%b):([\t\x20-\x7e\x80-\xff]*)\r\n" % _TOKEN)
"""The space around the value is stripped afterwards: a pattern for it would take quadratic time."""
_QUOTED = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_EXTENSION = rb"[ \t]*;[ \t]*%b(?:[ \t]*=[ \t]*(?:%b|%b))?" % (_TOKEN, _TOKEN, _QUOTED)
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]+)(?:%b)*\r\n" % _EXTENSION)
_MAY_BE_SIZE_LINE = re.compile(rb"(?:[0-9A-Fa-f]+(?:[ \t;][\t\x20-\x7e\x80-\xff]*)?\r?)?")


class ChunkedBody:
    """Splits the chunks as they arrive, at most `most` pieces at once: lines, or what has come of a chunk's data."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self._most = most
        self.done = False
        self.trailers: Headers = ()
        """As sent: order, case, duplicates. They are data, whatever their names."""
        self.framing_error: str | None = None
        """Why the body is malformed; then nothing more can be read."""
        self._remaining = 0
        """Bytes of the chunk that are still missing."""
        self._begun = b""
        """The part of a line that has arrived."""
        self._after_chunk = self._in_trailers = False
        self._trailer_bytes = 0
        self._fields: list[tuple[str, str]] = []

    def feed(self, data: bytes, at: int = 0) -> tuple[bytes, int]:
        """The body's bytes in `data` from `at` on, and how far in `data` it was read: to the body's end, or to that of
        `data` unless it has too many pieces."""
        if 0 < len(data) - at < self._remaining:  # the middle of a large chunk: nothing to take apart
            self._remaining -= len(data) - at
            return data[at:], len(data)
        size, begun = len(data), self._begun
        if begun:
            data, at, self._begun = begun + data[at:], 0, b""
        parts: list[bytes] = []
        try:
            for _ in range(self._most):
                if at == len(data) or self.done:
                    break
                at = self._read(data, at, parts)
        except MalformedError as error:
            self.framing_error = str(error)
            at = len(data)
        return b"".join(parts), size - (len(data) - at)

    def _read(self, data: bytes, at: int, parts: list[bytes]) -> int:
        """Read a part of a chunk or a line from `at` on, and append the body's bytes to `parts`; returns its end."""
        if self._remaining:
            part = data[at : at + self._remaining]
            parts.append(part)
            self._remaining -= len(part)
            self._after_chunk = not self._remaining
            return at + len(part)
        if self._after_chunk:
            if not b"\r\n".startswith(data[at : at + 2]):
                raise MalformedError("a chunk is not followed by CR LF, so its size is wrong")
            return self._end_of(data, at, data[at : at + 2], self._end_chunk)
        if self._in_trailers:
            room = TRAILERS_MAX_BYTES - self._trailer_bytes
            line = _line(data, at, room, f"the trailers are longer than {TRAILERS_MAX_BYTES:,} bytes")
            return self._end_of(data, at, line, self._add_trailer)
        line = _line(data, at, _SIZE_LINE_MAX, _NO_SIZE)
        if not line.endswith(b"\r\n") and not _MAY_BE_SIZE_LINE.fullmatch(line):
            raise MalformedError(_NO_SIZE)
        return self._end_of(data, at, line, self._begin_chunk)

    def _end_of(self, data: bytes, at: int, line: bytes, take: Callable[[bytes], None]) -> int:
        """Take the line once it is complete; where it ends."""
        if line.endswith(b"\r\n"):
            take(line)
        else:
            self._begun = data[at:]
        return at + len(line)

    def _begin_chunk(self, line: bytes) -> None:
        found = _SIZE_LINE.fullmatch(line)
        if found is None:
            raise MalformedError(_NO_SIZE)
        self._remaining = int(found[1], 16)
        if self._remaining > LENGTH_MAX:
            raise MalformedError("the size of a chunk is too large")
        self._in_trailers = not self._remaining

    def _end_chunk(self, _: bytes) -> None:
        self._after_chunk = False

    def _add_trailer(self, line: bytes) -> None:
        if line == b"\r\n":
            self.trailers = tuple(self._fields)
            self.done = True
            return
        self._trailer_bytes += len(line)
        field = _FIELD.fullmatch(line)
        if field is None:
            raise MalformedError("a trailer is not a name and a value")
        if len(self._fields) == TRAILERS_MAX:
            raise MalformedError(f"there are more than {TRAILERS_MAX} trailers")
        self._fields.append((field[1].decode("latin-1"), field[2].strip(b" \t").decode("latin-1")))


def _line(data: bytes, at: int, limit: int, too_long: str) -> bytes:
    """The line that begins at `at` with its CR LF, or as much of it as there is."""
    end = data.find(b"\r\n", at, at + limit + 2) + 2
    line = data[at:end] if end > 1 else data[at : at + limit + 2]
    if len(line) > limit:
        raise MalformedError(too_long)
    return line


class AnyBody(Protocol):
    """A body as it arrives: `IncomingBody` for the capture port, aiohttp's `StreamReader` for the local API."""

    def feed_data(self, data: bytes, /) -> object: ...

    def feed_eof(self) -> None: ...


B = TypeVar("B", bound=AnyBody)


class Break(Enum):
    """Why a body is incomplete."""

    GONE = "the sender disconnected"
    MALFORMED = "the body's framing is malformed"
    IDLE = "the sender sent nothing for too long"
    SLOW = "the sender was too slow"
    CROWDED = "a slow sender made room for another"
    STOPPED = "Hookline was stopped"


@dataclass(slots=True, eq=False)
class Incoming(Generic[B]):
    """A request whose head was read. `body` is its body, as far as it was received; `broken` says why it ended early.

    `raw` is what was received along with the head, at most REFUSED_RAW_MAX bytes, for the list of refused requests;
    only the head, of `head_size` bytes, while the rest of a body is received, and empty once the request is stored.
    `framing_error` says why a body is malformed. `trailers` are complete once the body is. `responded`: whether a
    response was sent.
    """

    head: Head
    head_size: int
    body: B
    raw: bytes = b""
    received_at: int = field(default_factory=now_us)
    broken: Break | None = None
    framing_error: str | None = None
    trailers: Headers = ()
    responded: bool = False
    _started: float = field(default_factory=time.perf_counter)

    def elapsed_ms(self) -> float:
        """Milliseconds since the head was read."""
        return (time.perf_counter() - self._started) * 1000


_HEAD_END = b"\r\n\r\n"
_NO_LINE_END = re.compile(rb"[^\r\n]")


class RequestReader(Generic[B]):
    """Call `read_head` until it returns a request, then `read_body` until that is complete, and so on. `begin_body`
    makes a request's body: of the bytes that came with its head, or (None) one that is still to come.

    What follows the request is kept, in one piece however many requests it has: `read_head()` continues there. Of a
    chunked body at most `pieces` are read at once, and the rest follows, too: `read_body(request)` continues there.
    """

    def __init__(self, begin_body: Callable[[bytes | None], B], head_max: int, pieces: int = sys.maxsize) -> None:
        self._begin_body, self._head_max, self._pieces = begin_body, head_max, pieces
        self._scan: HeadScan | None = None
        self._chunks: ChunkedBody | None = None
        self._body_remaining = 0
        self._following = b""
        self._following_at = 0
        self.following = 0
        """How many bytes were received after what was read."""
        self.head = b""
        """The received part of a head that is incomplete, or was rejected."""

    def read_head(self, data: bytes = b"") -> Incoming[B] | None:
        """The request whose head `data`, or what followed the last request, completes, with the part of its body that
        was received; None while the head is incomplete.

        Raises MalformedError, after which nothing more can be read.
        """
        at, begun = 0, len(self.head)
        if not data:
            data, at = self._following, self._following_at
            self._follow(b"", 0)
        elif begun:
            data = self.head + data
        if not begun and data[at] in b"\r\n":  # line ends between requests belong to none
            begin = _NO_LINE_END.search(data, at)
            if begin is None:
                return None
            at = begin.start()
        end = data.find(_HEAD_END, begun - 3 if begun > 3 else at) + 4
        self._scan = self._scan or HeadScan()
        if not at + 4 <= end <= at + self._head_max:
            self.head = data[at:]
            self._scan.read(self.head[: self._head_max])
            if len(self.head) > self._head_max:
                raise MalformedError(f"the head is longer than {self._head_max:,} bytes")
            return None
        try:
            self._scan.read(data[at:end])
            head = self._scan.head()
        except MalformedError:
            self.head = data[at:]
            raise
        self.head, self._scan = b"", None
        return self._begin(head, data, at, end)

    def _begin(self, head: Head, data: bytes, at: int, end: int) -> Incoming[B]:
        """The request whose head is `data[at:end]`, with what has come of its body."""
        self._chunks = ChunkedBody(self._pieces) if head.chunked else None
        following_at = end + head.length
        if head.chunked or following_at > len(data):
            request = Incoming(head, end - at, self._begin_body(None))
            self._body_remaining = head.length
            following_at = self._read_body(request, data, end)
        else:
            request = Incoming(head, end - at, self._begin_body(data[end:following_at]))
        if following_at < len(data):
            self._follow(data, following_at)
        is_whole = self._chunks is None or self._chunks.done
        request.raw = data[at : min(following_at if is_whole else len(data), at + REFUSED_RAW_MAX)]
        return request

    def read_body(self, request: Incoming[B], data: bytes = b"") -> None:
        """Pass the body's bytes in `data`, or in what followed what was read last, to `request.body`, and keep what
        follows them.

        Where a chunk is malformed `request.framing_error` says so; what precedes it has been passed on.
        """
        data, at = (data, 0) if data else (self._following, self._following_at)
        self._follow(data, self._read_body(request, data, at))

    def _read_body(self, request: Incoming[B], data: bytes, at: int) -> int:
        """Pass on the body's bytes in `data` from `at` on; returns where they end."""
        chunks, body = self._chunks, request.body
        if chunks is None:
            end = min(len(data), at + self._body_remaining)
            self._body_remaining -= end - at
            body.feed_data(data[at:end])
            if not self._body_remaining:
                body.feed_eof()
            return end
        part, end = chunks.feed(data, at)
        body.feed_data(part)
        request.framing_error = chunks.framing_error
        if chunks.done:
            request.trailers = chunks.trailers
            body.feed_eof()
        return end

    def keep(self, data: bytes) -> None:
        """Keep what was received after what was read."""
        self._follow(self._following[self._following_at :] + data, 0)

    def _follow(self, data: bytes, at: int) -> None:
        self.following = len(data) - at
        self._following, self._following_at = (data, at) if self.following else (b"", 0)

    def drop(self) -> None:
        """Free what was received and not read."""
        self.head = b""
        self._follow(b"", 0)

    def close(self) -> None:
        """Free everything: nothing more is read."""
        self.drop()
        self._scan = self._chunks = None

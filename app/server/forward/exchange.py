"""One request and its response on one connection.

The response's head, and how its body is framed (RFC 9112), is parsed here, strictly where readers differ: h11 would
halve the rate of short deliveries.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec

from app.core.delivery import FailureKind, Timing
from app.core.errors import HooklineError
from app.core.model import PART_SIZE
from app.core.record import Headers
from app.core.text import phrase_of
from app.server.forward.attempt_failure import AttemptError, closed_error
from app.server.forward.pool import Connection, ConnectionClosedError, ConnectionPool, Phase, PoolKey, Progress
from app.server.forward.request import OutgoingRequest


@dataclass
class TargetResponse:
    """A target's response, filled in while it is read, so that what precedes a failure is kept.

    `body` is the first `PART_SIZE` bytes as sent: transfer coding removed, content coding kept.
    """

    status: int | None = None
    http_version: str = ""
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def check(self) -> None:
        """Of a complete response; AttemptError unless it is a success."""
        assert self.status is not None
        text = status_text(self.status, self.headers, self.body)
        if text is not None:
            raise AttemptError(FailureKind.LOOP if text == LOOP_ERROR else FailureKind.STATUS, text)

    def add(self, data: bytes) -> None:
        """Append `data` as far as there is room."""
        room = PART_SIZE - len(self.body)
        self.body += data[:room]
        self.truncated = self.truncated or len(data) > room


REDIRECTS = (301, 302, 303, 307, 308)
LOOP_ERROR = "The forwarded request came back to Hookline: the target is one of its own capture URLs."
_LOCATION_MAX = 200


def status_text(status: int, headers: Headers, body: bytes | bytearray) -> str | None:
    """The sentence for a response's status; None for 2xx, which is success."""
    if 200 <= status < 300:
        return None
    if status == 508 and _is_loop(body):
        return LOOP_ERROR
    text = f"The target responded with {status} {phrase_of(status)}".rstrip() + "."
    if location := location_of(status, headers):
        return f"{text} Redirects are not followed; it points to {location[:_LOCATION_MAX]}"
    return text


def location_of(status: int, headers: Headers) -> str | None:
    """The redirect's Location; None if the response is no redirect."""
    if status not in REDIRECTS:
        return None
    return next((value for name, value in headers if name.lower() == "location" and value), None)


def _is_loop(body: bytes | bytearray) -> bool:
    try:
        error_body = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(error_body, dict) and error_body.get("error") == "forward_loop"


HEAD_MAX = 64 * 1024
"""Bytes of status line and headers."""
_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(r"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: ([^\r\n\x00]*))?\r?\n")
_HEADER = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\x00]*)\r?")
_FOLDED = re.compile(r"\r?\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_QUOTE_MAX = 80
SWITCHING = 101
_NO_CONTENT = 204
_NO_BODY = (_NO_CONTENT, 304)
_SPECIAL = frozenset({"content-length", "transfer-encoding", "connection", "proxy-connection", "keep-alive"})
_KNOWN_MAX, _KNOWN_HEAD_MAX = 256, 1024
"""Longer lines and heads are not remembered."""


class MalformedResponseError(Exception):
    """The response is not valid HTTP; `str()` says why."""


class ResponseHead(msgspec.Struct, frozen=True):
    """`length` is the body's; None where its end shows by itself: it is `chunked`, or ends with the connection.
    `keep_alive`: the target does not close the connection after it; `idle_s` is how long it then keeps the connection,
    None if it did not say."""

    version: str
    status: int
    headers: Headers
    length: int | None
    chunked: bool
    keep_alive: bool
    idle_s: float | None


def take_head(buffer: bytearray, method: str) -> ResponseHead | None:
    """Take a head from the start of `buffer`; None while it is incomplete. MalformedResponseError.

    `method` is that of the request.
    """
    end = _END.search(buffer, 0, HEAD_MAX)
    if not buffer.startswith(b"HTTP/1."[: len(buffer)]):
        raise MalformedResponseError(_not_http(buffer))
    if end is None:
        if len(buffer) >= HEAD_MAX:
            raise MalformedResponseError(f"its headers are longer than {HEAD_MAX // 1024} KiB")
        return None
    text = buffer[: end.end()].decode("latin-1")
    del buffer[: end.end()]
    return _known(text, method) if len(text) <= _KNOWN_HEAD_MAX else _parsed(text, method)


def _parsed(text: str, method: str) -> ResponseHead:
    found = _STATUS.match(text)
    if found is None:
        raise MalformedResponseError(f"illegal status line: {_quoted(text)}")
    if "\n " in text or "\n\t" in text:
        text = _FOLDED.sub(" ", text)
    version, status = f"1.{found[1]}", int(found[2])
    headers: list[tuple[str, str]] = []
    special: list[tuple[str, str]] = []
    for line in text[found.end() : -2 if text.endswith("\r\n") else -1].split("\n")[:-1]:
        header = _known_header(line) if len(line) <= _KNOWN_MAX else _header(line)
        headers.append(header.pair)
        if header.special:
            special.append((header.special, header.pair[1]))
    return _framed(version, status, tuple(headers), special, method)


_known = lru_cache(maxsize=256)(_parsed)
"""Within a second, most responses of a target have the same head."""


class _Header(NamedTuple):
    """`special`: the name in lower case if the header says how the body is framed or whether the connection is kept."""

    pair: tuple[str, str]
    special: str


def _header(line: str) -> _Header:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise MalformedResponseError(f"illegal header line: {_quoted(line)}")
    lower = found[1].lower()
    return _Header((found[1], found[2].strip(" \t")), lower if lower in _SPECIAL else "")


_known_header = lru_cache(maxsize=256)(_header)
"""The responses of a target have most of their headers in common."""


def _framed(version: str, status: int, headers: Headers, special: list[tuple[str, str]], method: str) -> ResponseHead:
    """`special` are the names in lower case and the values of those headers that are looked at."""
    lengths: list[str] = []
    codings: list[str] = []
    options: list[str] = []
    idle_s: float | None = None
    for lower, value in special:
        if lower == "content-length":
            lengths += (part.strip() for part in value.split(","))
        elif lower == "transfer-encoding":
            codings += (part.strip().lower() for part in value.split(","))
        elif lower in ("connection", "proxy-connection"):
            options += (part.strip().lower() for part in value.split(","))
        elif lower == "keep-alive" and (given := re.search(r"timeout=([0-9]{1,6})", value)):
            idle_s = float(given[1])
    length = _length(status, method, lengths, codings)
    chunked = length is None and bool(codings)
    keep_alive = "close" not in options and (version != "1.0" or "keep-alive" in options)
    keep_alive = keep_alive and (chunked or length is not None) and not (lengths and codings)
    if status == _NO_CONTENT and (codings or set(lengths) - {"0"}):
        keep_alive = False  # the body that it cannot have may come later, and would begin the next response
    return ResponseHead(version, status, headers, length, chunked, keep_alive, idle_s)


def _length(status: int, method: str, lengths: list[str], codings: list[str]) -> int | None:
    """Of the body, None where that is not known."""
    if method == "HEAD" or status < 200 or status in _NO_BODY:
        return 0
    if codings not in ([], ["chunked"]):
        raise MalformedResponseError(f"its transfer coding {_quoted(', '.join(codings))} is not supported")
    if codings or not lengths:
        return None
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise MalformedResponseError(f"illegal Content-Length: {_quoted(', '.join(lengths))}")
    return int(lengths[0])


def _not_http(buffer: bytearray) -> str:
    if buffer[3:5] == b"\x04\x00" and buffer[:2] == b"\0\0":  # the type and flags of a SETTINGS frame
        return "it is HTTP/2, which Hookline does not speak"
    return f"illegal status line: {_quoted(buffer[: _QUOTE_MAX * 2].decode('latin-1'))}"


def _quoted(text: str) -> str:
    line = text.splitlines()[0] if text.splitlines() else ""
    return repr(line[:_QUOTE_MAX] + ("…" if len(line) > _QUOTE_MAX else ""))


class StaleConnectionError(Exception):
    """A reused connection closed before any byte of the response came."""


@dataclass(slots=True)
class Exchange:
    """Filled in while it runs, so that what precedes a failure is kept. `keep`: how many idle connections to the target
    are kept. `connection` is the one on which the request is sent, from then on."""

    request: OutgoingRequest
    key: PoolKey
    pool: ConnectionPool
    keep: int
    progress: Progress = field(default_factory=Progress)
    response: TargetResponse = field(default_factory=TargetResponse)
    connection: Connection | None = None
    reused: bool = False
    complete: bool = False
    first_byte: float | None = None
    _sending: asyncio.Task[None] | None = None
    _unsent: bool = False

    @property
    def timing(self) -> Timing:
        progress = self.progress
        return Timing(lookup=progress.lookup, connect=progress.connect, tls=progress.tls, first_byte=self.first_byte)

    async def run(self, *, fresh: bool) -> None:
        """Send the request and read the response. AttemptError; StaleConnectionError unless `fresh`, which asks for a
        new connection."""
        head = self.request.head()
        connection = None if fresh else self.pool.take(self.key)
        self.reused = connection is not None
        if connection is None:
            connection = await self.pool.open(self.key, self.progress)
        self.progress.phase = Phase.EXCHANGE
        self.connection = connection
        answer = None
        try:
            answer = await self._exchange(connection, head)
        except ConnectionClosedError as closed:
            if self.reused and not connection.responding:
                raise StaleConnectionError from closed
            raise closed_error(closed.cause, self.key.place, responding=connection.responding) from closed
        except MalformedResponseError as error:
            text = f"The response from {self.key.place} was not valid HTTP, or ended early: {error}."
            raise AttemptError(FailureKind.PROTOCOL, text) from error
        finally:
            self._release(connection, answer)

    @property
    def timeout_kind(self) -> FailureKind:
        """When the attempt's time was over."""
        connecting = self.progress.phase in (Phase.LOOKUP, Phase.CONNECT)
        return FailureKind.CONNECTION if connecting else FailureKind.TIMEOUT

    def timeout_text(self, limit: str) -> str:
        """What took too long when the attempt's time was over."""
        place, phase = self.key.place, self.progress.phase
        if phase is Phase.START:
            return f"Nothing was sent within {limit}: this computer is too busy."
        if phase is Phase.LOOKUP:
            return f"The host name {self.key.host} was not found within {limit}: looking it up takes too long."
        if phase is Phase.CONNECT:
            return f"No connection to {place} within {limit}."
        if phase is Phase.TLS:
            return f"The TLS handshake with {place} did not finish within {limit}. Does that port speak https?"
        if self.response.status is not None:
            return f"It took longer than {limit}."
        if self._unsent:
            return f"{place} did not take the whole request within {limit}."
        return f"No response within {limit}."

    async def _exchange(self, connection: Connection, head: bytes) -> ResponseHead:
        connection.begin_exchange()
        started = time.perf_counter()
        body = self.request.body
        if isinstance(body, bytes):
            connection.write(head, body)
            if self.request.cut_off:
                await connection.flush()
                raise AttemptError(FailureKind.CUT_OFF, f"Cut off on purpose after {len(body):,} bytes of the body.")
        else:
            connection.write(head, b"")
            self._sending = asyncio.get_running_loop().create_task(
                connection.write_parts(body.parts()), name="forward-body"
            )
            self._sending.add_done_callback(self._sent)
        while True:
            answer = take_head(connection.buffer, self.request.method)
            if self.first_byte is None and connection.responding:
                self.first_byte = (time.perf_counter() - started) * 1000
            if answer is None:
                await connection.more()
            elif answer.status == SWITCHING:
                raise MalformedResponseError("it switches protocols (101), which was not asked for")
            elif answer.status >= 200:
                break
            else:
                await asyncio.sleep(0)  # thousands may have come at once
        response = self.response
        response.status, response.headers, response.http_version = answer.status, answer.headers, answer.version
        await read_body(connection, answer, response)
        self.complete = True
        return answer

    def _sent(self, task: asyncio.Task[None]) -> None:
        """A body that cannot be read ends the exchange, of which a part was sent."""
        error = None if task.cancelled() else task.exception()
        if error is None or self.connection is None:
            return
        if isinstance(error, HooklineError):
            self.connection.fail(AttemptError(FailureKind.INTERNAL, str(error)))
        else:
            self.connection.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))

    def _release(self, connection: Connection, answer: ResponseHead | None) -> None:
        """Keep the connection if it can have another exchange; `answer` is None if this one failed."""
        task = self._sending
        unsent = task is not None and (not task.done() or task.cancelled() or task.exception() is not None)
        self._unsent = unsent or connection.unsent
        connection.sent_body = max(0, connection.sent_body - connection.transport.get_write_buffer_size())
        if task is not None:
            task.cancel()
        done = answer is not None and answer.keep_alive and self.request.keep_alive
        if answer is None or not done or self._unsent or not connection.is_open:
            connection.close()
        else:
            self.pool.give_back(self.key, connection, self.keep, answer.idle_s)


_LINE_MAX = 4096
_CHUNKS_AT_ONCE = 256
"""Of the smallest, a hundred thousand may have come at once: reading them all would take half a second."""
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_EMPTY_LINES = (b"\r\n", b"\n")


async def read_body(connection: Connection, head: ResponseHead, into: TargetResponse) -> None:
    """Read the body to its end as sent: the transfer coding removed, the content coding kept. `into` keeps the first
    `PART_SIZE` bytes, and is marked as truncated if there are more.

    ConnectionClosedError when the body ends early, MalformedResponseError.
    """
    if head.length is not None:
        await _read_exactly(connection, head.length, into)
    elif head.chunked:
        await _read_chunks(connection, into)
    else:
        await _read_to_close(connection, into)


async def _read_exactly(connection: Connection, length: int, into: TargetResponse) -> None:
    buffer, left = connection.buffer, length
    while left:
        if not buffer:
            await connection.more()
        data = bytes(buffer[:left])
        del buffer[: len(data)]
        left -= len(data)
        into.add(data)


async def _read_chunks(connection: Connection, into: TargetResponse) -> None:
    too_long = "a chunk is longer than it said"
    for count in itertools.count(1):
        line = await _line(connection, _LINE_MAX, "a chunk header is too long")
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise MalformedResponseError(f"illegal chunk header: {line[:80]!r}")
        length = int(found[1], 16)
        if not length:
            break
        await _read_exactly(connection, length, into)
        if await _line(connection, 2, too_long) not in _EMPTY_LINES:
            raise MalformedResponseError(too_long)
        if count % _CHUNKS_AT_ONCE == 0:
            await asyncio.sleep(0)
    left = HEAD_MAX
    while (line := await _line(connection, left, "its trailers are too long")) not in _EMPTY_LINES:
        left -= len(line)


async def _line(connection: Connection, most: int, problem: str) -> bytes:
    """`problem`: why one longer than `most` bytes is malformed."""
    buffer = connection.buffer
    while (end := buffer.find(b"\n", 0, most)) < 0:
        if len(buffer) >= most:
            raise MalformedResponseError(problem)
        await connection.more()
    line = bytes(buffer[: end + 1])
    del buffer[: end + 1]
    return line


async def _read_to_close(connection: Connection, into: TargetResponse) -> None:
    buffer = connection.buffer
    try:
        while True:
            if buffer:
                data = bytes(buffer)
                buffer.clear()
                into.add(data)
            else:
                await connection.more()
    except ConnectionClosedError as closed:
        if closed.cause is not None:
            raise

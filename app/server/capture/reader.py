"""Reads requests from a connection's bytes: each head is parsed in one piece, each body ends where its framing says.

aiohttp's parser gets exactly one complete head at a time, and then the body that Content-Length announces; it alone
decides where that ends. It never gets a chunked body, see `chunked`. So the same bytes give the same result however
they are cut into packets, and no two parsers can disagree on where a request ends.
"""

from __future__ import annotations

import asyncio
import time
from enum import Enum

from aiohttp.base_protocol import BaseProtocol
from aiohttp.hdrs import CONTENT_LENGTH, TRANSFER_ENCODING
from aiohttp.http import HttpRequestParser, HttpVersion10, HttpVersion11, RawRequestMessage
from aiohttp.http_exceptions import BadHttpMethod
from aiohttp.streams import StreamReader

from app.core.clock import now_us
from app.core.model import REFUSED_RAW_MAX, Headers
from app.server.capture.chunked import ChunkedBody
from app.server.capture.head import HEADERS_MAX, LINE_MAX, HeadScan, MalformedError, parser_words, reduced


class Break(Enum):
    """Why a body ended before its end."""

    GONE = "the sender broke off"
    MALFORMED = "the body's framing is malformed"
    IDLE = "the sender sent nothing for too long"
    SLOW = "the sender was too slow"
    CROWDED = "too slow a sender made room for another"
    STOPPED = "Hookline was stopped"


class Incoming:
    """A request whose head was read. `payload` is the body as far as it is received; `broken` says why it ended early.

    `raw` is what was received along with the head, at most REFUSED_RAW_MAX bytes, for the list of refused requests;
    the head alone, of `head_size` bytes, while the rest of a body is received, and empty once the request is stored.
    `length` is the body's Content-Length, 0 without one. `fault` says what of a body is malformed. `trailers` are
    complete once the body is. `responded`: whether a response was sent.
    """

    __slots__ = (
        "_started",
        "broken",
        "fault",
        "head_size",
        "length",
        "message",
        "payload",
        "raw",
        "received_at",
        "responded",
        "trailers",
    )

    def __init__(self, message: RawRequestMessage, payload: StreamReader) -> None:
        self.message = message
        self.payload = payload
        self.raw = b""
        self.head_size = 0
        self.received_at = now_us()
        self._started = time.perf_counter()
        self.broken: Break | None = None
        self.fault: str | None = None
        self.length = 0
        self.trailers: Headers = ()
        self.responded = False

    def elapsed_ms(self) -> float:
        """Milliseconds since the head was read."""
        return (time.perf_counter() - self._started) * 1000


_READ_BUFFER = 256 * 1024
_LENGTH_MAX = 2**63 - 1
_HEAD_END = b"\r\n\r\n"


class UnknownMethodError(Exception):
    """A sound head, but for a method that nobody knows."""


class RequestReader:
    """`read_head` until it gives a request, `read_body` until that is complete, and so on."""

    def __init__(self, protocol: BaseProtocol, loop: asyncio.AbstractEventLoop, head_max: int) -> None:
        self._protocol, self._loop, self._head_max = protocol, loop, head_max
        self._parser = self._new_parser()
        self._scan: HeadScan | None = None
        self._chunks: ChunkedBody | None = None
        self._left = 0
        self.head_size = 0
        """Bytes of the head that was read last."""
        self.head = b""
        """The part received of a head that is not complete, or was refused."""
        self.behind = b""
        """The bytes after the request that was read last."""

    def read_head(self, data: bytes) -> Incoming | None:
        """The request whose head `data` completes, with what of its body is in `data`; None while it is not complete.

        What follows the request is in `behind` then. Raises MalformedError or UnknownMethodError, after which nothing
        more can be read.
        """
        begun = len(self.head)
        if begun:
            data = self.head + data
        elif data[0] in b"\r\n":  # line ends between requests are nobody's
            data = data.lstrip(b"\r\n")
            if not data:
                return None
        end = data.find(_HEAD_END, begun - 3 if begun > 3 else 0) + 4
        if not 4 <= end <= self._head_max:
            self._gather(data)
            return None
        # With the body, which is in `data` as a rule: a second call costs more than all else here. What is fed is never
        # so much that the payload would be full.
        fed = self._chunks is None and len(data) <= 2 * _READ_BUFFER
        self._parser.message_consumed()
        try:
            message, payload = self._parser.feed_data(data if fed else data[:end])[0][0]
        except Exception as error:  # whatever the parser stumbles over is the sender's doing, ValueError included
            self.head = data
            message, payload = self._parse_again(data[:end], error)
            fed = False
        if message.should_close or message.chunked or TRANSFER_ENCODING in message.headers:
            self.head = data
            _check_rarities(message, data[:end])
            if message.chunked and fed:
                message, payload = self._parse_alone(data[:end])
        self.head, self._scan = b"", None
        self.head_size = end
        request = Incoming(message, payload)
        request.head_size = end
        self.behind = self._begin_body(request, data, end, fed)
        request.raw = data[: min(len(data) - len(self.behind), REFUSED_RAW_MAX)]  # not what follows it
        return request

    def _begin_body(self, request: Incoming, data: bytes, end: int, fed: bool) -> bytes:
        """Take the part of the body received with the head, which ends at `end`; what follows the body is returned."""
        message = request.message
        if message.chunked and not request.payload.is_eof():  # CONNECT has no body, whatever its headers say
            self._chunks = ChunkedBody()
            return self.read_body(request, data[end:])
        self._chunks = None
        length = message.headers.get(CONTENT_LENGTH)
        if length is not None:
            # The parser lets digits alone through, but any number of zeros, of which int() takes only so many.
            request.length = int(length if len(length) < 20 else length.lstrip("0") or 0)
            if request.length > _LENGTH_MAX:  # the parser takes some of these for no body at all
                self.head = data
                raise MalformedError("Content-Length is too large")
        if not fed:
            self._left = request.length
            return data[end:] if request.payload.is_eof() else self.read_body(request, data[end:])
        over = len(data) - end - request.length
        if over <= 0:
            self._left = -over
            return b""
        self._left = 0
        self._parser = self._new_parser()  # the other one holds what is behind
        return data[-over:]

    def read_body(self, request: Incoming, data: bytes) -> bytes:
        """Hand what of `data` belongs to the body to `request.payload`; what follows the body is returned.

        Where a chunk is malformed `request.fault` says so; what precedes it has been handed over.
        """
        chunks = self._chunks
        if chunks is None:
            left = self._left
            if len(data) <= left:
                self._left = left - len(data)
                self._parser.feed_data(data)
                return b""
            self._left = 0
            self._parser.feed_data(data[:left])
            return data[left:]
        body, behind = chunks.feed(data)
        request.payload.feed_data(body)
        request.fault = chunks.fault
        if chunks.done:
            request.trailers = chunks.trailers
            request.payload.feed_eof()
            self._parser = self._new_parser()  # the other one waits for chunks
        return behind

    def close(self) -> None:
        """Nothing more is read: free what was received."""
        self.head = self.behind = b""
        self._scan = self._chunks = None
        self._parser = None  # type: ignore[assignment]

    def pause(self) -> None:
        """The payload is full: let the parser keep what it has of the body until it is asked on."""
        if self._chunks is None:
            self._parser.pause_reading()

    def _gather(self, data: bytes) -> None:
        self.head = data
        self._scan = self._scan or HeadScan()
        self._scan.read(data[: self._head_max])
        if len(data) > self._head_max:
            raise MalformedError(f"the head is longer than {self._head_max:,} bytes")

    def _parse_alone(self, head: bytes) -> tuple[RawRequestMessage, StreamReader]:
        """Give a new parser the head without what follows it."""
        self._parser = self._new_parser()
        if self._protocol._reading_paused:  # by the first payload, which nobody is going to read
            self._protocol.resume_reading(resume_parser=False)
        message, payload = self._parser.feed_data(head)[0][0]
        return message, payload

    def _parse_again(self, head: bytes, error: Exception) -> tuple[RawRequestMessage, StreamReader]:
        """Take a head that the parser refused all the same if that was for nothing that frames a request."""
        try:
            return self._parse_alone(head)  # it may have been its body that was refused
        except Exception as again:
            error = again
        scan = HeadScan()
        scan.read(head)
        if isinstance(error, BadHttpMethod):
            raise UnknownMethodError from error
        lines = reduced(scan)
        try:
            message, payload = self._parse_alone(lines)
        except Exception as again:
            raise MalformedError(parser_words(again)) from again
        headers = message.headers.copy()
        headers.clear()
        for name, value in scan.fields:
            headers.add(_text(name), _text(value))
        true = message._replace(
            path=_text(scan.request_line()[1]), headers=type(message.headers)(headers), raw_headers=tuple(scan.fields)
        )
        return true, payload

    def _new_parser(self) -> HttpRequestParser:
        return HttpRequestParser(
            self._protocol,
            self._loop,
            _READ_BUFFER,
            max_line_size=LINE_MAX,
            max_field_size=LINE_MAX,
            max_headers=HEADERS_MAX,
            auto_decompress=False,
            max_msg_queue_size=1,
        )


def _check_rarities(message: RawRequestMessage, head: bytes) -> None:
    """What the parser lets pass and two programs may read in two ways."""
    if (CONTENT_LENGTH if message.chunked else TRANSFER_ENCODING) in message.headers:
        # An empty Transfer-Encoding is none to the parser, even beside Content-Length.
        raise MalformedError("Transfer-Encoding does not end in chunked, or Content-Length is present too")
    if message.chunked and message.version < HttpVersion11:
        raise MalformedError("HTTP/1.0 has no chunked bodies, so the end of the body is ambiguous")
    if message.version < HttpVersion10:  # whose first line may end with LF alone
        HeadScan().read(head)


def _text(data: bytes) -> str:
    """As aiohttp's parser makes text of it."""
    return data.decode("utf-8", "surrogateescape")

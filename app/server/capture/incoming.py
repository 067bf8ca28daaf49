"""A request on its way in, and the parser that finds it in a connection's bytes."""

from __future__ import annotations

import asyncio
import time
from enum import Enum

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.streams import StreamReader

from app.core.clock import now_us

LINE_MAX = 65_536
"""Bytes of a request line, or of one header."""
_HEADERS_MAX = 1_000
_READ_BUFFER = 256 * 1024
_CHUNKED_END = b"\r\n0\r\n\r\n"


class Break(Enum):
    """Why a body ended before its end."""

    GONE = "the sender broke off"
    MALFORMED = "the body's framing is malformed"
    IDLE = "the sender sent nothing for too long"
    SLOW = "the sender was too slow"
    STOPPED = "Hookline was stopped"


class Incoming:
    """A request whose head was read. `payload` gives what came of the body; `broken` tells why that is not all.

    `parts` counts the parts of the body that are stored already, `answered` tells whether an answer was sent.
    """

    __slots__ = ("_started", "answered", "broken", "message", "parts", "payload", "received_at")

    def __init__(self, message: RawRequestMessage, payload: StreamReader) -> None:
        self.message = message
        self.payload = payload
        self.received_at = now_us()
        self._started = time.perf_counter()
        self.broken: Break | None = None
        self.parts = 0
        self.answered = False

    def elapsed_ms(self) -> float:
        """Milliseconds since the head was read."""
        return (time.perf_counter() - self._started) * 1000


def new_parser(protocol: BaseProtocol, loop: asyncio.AbstractEventLoop) -> HttpRequestParser:
    """A parser that hands out one message at a time, with its body as sent.

    What follows a message stays unparsed until more is asked for, so that garbage behind it cannot spoil it.
    """
    return HttpRequestParser(
        protocol,
        loop,
        _READ_BUFFER,
        max_line_size=LINE_MAX,
        max_field_size=LINE_MAX,
        max_headers=_HEADERS_MAX,
        auto_decompress=False,
        max_msg_queue_size=1,
    )


def trailer_safe(data: bytes) -> bool:
    """Whether a chunked body whose last bytes are `data` ends without trailers and with nothing behind it.

    aiohttp's parser keeps a trailer and takes it for the first header of the next request, which then would be stored
    with a header that nobody sent; so only after a plain end may the connection go on.
    """
    return data.endswith(_CHUNKED_END) or data == _CHUNKED_END[2:]

"""A request being received: its head as it was sent, and its body so far."""

from __future__ import annotations

import time
from enum import Enum

from aiohttp.http import RawRequestMessage
from aiohttp.streams import StreamReader

from app.core.clock import now_us
from app.core.model import Headers


class Break(Enum):
    """Why a body ended before its end."""

    GONE = "the sender disconnected"
    MALFORMED = "the body's framing is malformed"
    IDLE = "the sender sent nothing for too long"
    SLOW = "the sender was too slow"
    CROWDED = "a slow sender made room for another"
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

"""One sender's connection: passes complete requests to the handler one at a time, and sends the bytes of responses.

aiohttp's request handler is not used, because that creates a task for each request, loses a request whose successor is
malformed, and discards what was received of a body that ends early.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, cast

from app.core.clock import now_us
from app.core.model import REFUSED_RAW_MAX
from app.server.capture import admission
from app.server.capture.admission import Rejection
from app.server.capture.client import Client
from app.server.capture.head import MalformedError, request_line
from app.server.capture.incoming_body import READ_MOST, UNREAD_MOST, IncomingBody, wake
from app.server.capture.limits import EvictionStage, Limits, Waiting
from app.server.capture.reader import Break, Incoming, RequestReader
from app.server.capture.responses import CLOSE
from app.server.refused import RefusedLog

HEADER_BYTES = 450
"""Bytes that one header takes in memory besides its text."""
PIECES_AT_ONCE = 128
"""Pieces of a chunked body that are taken apart before others have their turn. A read has 16,000 where chunks have one
byte: 20 ms, and as many more as there are such senders."""


Request = Incoming[IncomingBody]


class Connection(asyncio.Protocol):
    """The protocol object that asyncio feeds. One task serves its requests, in order.

    `turns` is held while a request is handled that was sent before the response to the one before it.
    """

    def __init__(
        self, limits: Limits, turns: asyncio.Semaphore, refused: RefusedLog, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._reader = RequestReader(IncomingBody, limits.head_bytes, PIECES_AT_ONCE)
        self._limits, self._turns, self._refused = limits, turns, refused
        self.transport: asyncio.Transport | None = None
        """None before the sender connected and after it disconnected."""
        self._request: Request | None = None
        self._drained: asyncio.Future[None] | None = None
        """While the sender does not read what was written: until it did, or disconnected."""
        self._waiter: asyncio.Future[None] | None = None
        self._delay: asyncio.Future[None] | None = None
        self._deadline = math.inf
        self._timeout_reason = Break.IDLE
        self._waited = 0.0
        self._stalled = 0.0
        self._counted = 0
        self._slow_since = self._delayed_since = 0.0
        self._served = False
        self._draining = False
        self._ended = False
        self._skip_delays = False
        self._has_turn = False
        self.closing = False
        self.head_memory_used = 0
        """Bytes of a head received in more than one read, until its request is handled."""
        self.unread = 0
        """Bytes of responses that wait for the sender to read them."""
        self.peer: tuple[str, int] = ("", 0)
        self.task: asyncio.Task[None] | None = None

    # -- what asyncio calls ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        cast(Any, transport).max_size = READ_MOST  # without effect on Windows, where it is 64 KiB
        peer = transport.get_extra_info("peername")
        if peer:
            self.peer = (peer[0], peer[1])

    def data_received(self, data: bytes) -> None:
        request = self._request
        if self._draining:
            return
        if request is None:
            self._receive_head(data)
        elif request.body.is_eof() or self._reader.following:
            self._reader.keep(data)
        else:
            self._read_body(request, data)
        if self._reader.following:
            self._hold()

    def pause_writing(self) -> None:
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        wake(self._drained)
        self._drained = None

    def eof_received(self) -> bool:
        """A sender may close its side and still wait for the response; then the connection stays open until that is
        sent."""
        self._ended = True
        if self._draining:
            return False
        self._receive_eof()
        return self._request is not None

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        self.closing = self._skip_delays = True
        self.end_body(Break.GONE)
        wake(self._waiter)
        wake(self._delay)
        wake(self._drained)
        self._end_if_done()

    # -- what the handler calls -----------------------------------------------------------------------------------

    async def read(self, request: Request) -> bytes:
        """The next bytes of the request's body; none at its end, or where it broke off."""
        body = request.body
        if body.is_eof():
            return body.read_nowait()
        self._end_turn()
        limits, began = self._limits, self._loop.time()
        idle = began + limits.body_idle_s
        slow = began + limits.body_s + body.total_bytes / limits.body_rate - self._waited
        if body.total_bytes - self._counted >= limits.body_rate:  # a byte now and then does not count as progress
            self._counted, self._stalled = body.total_bytes, 0.0
        self._slow_since = began - self._stalled
        self._deadline, self._timeout_reason = min((idle, Break.IDLE), (slow, Break.SLOW), key=itemgetter(0))
        try:
            while self._reader.following and not body.unread and not body.is_eof():
                await asyncio.sleep(0)
                self._read_body(request)
            self._read_on()
            return await body.readany()
        finally:
            self._deadline = math.inf
            took = self._loop.time() - began  # time spent storing does not count against the sender
            self._waited += took
            self._stalled += took

    @contextmanager
    def paused_reading(self) -> Iterator[None]:
        """Leave what the sender sends in the system's buffers meanwhile, until they are full and the sender waits."""
        self._hold()
        try:
            yield
        finally:
            self._read_on()

    def send(self, data: bytes) -> bool:
        """Write `data`; False when the sender disconnected."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        transport.write(data)
        return True

    @property
    def writing_paused(self) -> bool:
        """Whether the sender has not read what was written."""
        return self._drained is not None

    async def flush(self) -> None:
        """Wait until a slow sender has read what was written."""
        drained = self._drained
        if drained is None:
            return
        self._end_turn()
        self._deadline = self._loop.time() + self._limits.body_idle_s
        if self.transport is not None:
            self.unread_grew(self.transport.get_write_buffer_size())
        try:
            await drained
        finally:
            self._deadline = math.inf
            self.unread_grew(-self.unread)

    async def sleep(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Wait before responding; ends early when `until` is done, the server stops or the sender disconnects."""
        if self._skip_delays:
            return
        self._end_turn()
        self._delay, self._delayed_since = delay, _ = self._loop.create_future(), self._loop.time()
        timer = self._loop.call_later(seconds, wake, delay)
        if until is not None:
            until.add_done_callback(lambda _: wake(delay))
        try:
            await self._delay
        finally:
            timer.cancel()
            self._delay = None

    # -- what the server calls ------------------------------------------------------------------------------------

    def serve(self, handle: Callable[[Connection, Request], Awaitable[None]]) -> None:
        """Pass the requests to `handle`, one after the other."""
        self._deadline = self._loop.time() + self._limits.head_s
        self.task = self._loop.create_task(
            self._serve(handle), name=f"capture connection {self.peer[0]}:{self.peer[1]}"
        )
        self.task.add_done_callback(self._end_if_done)

    def reject(self, rejected: Rejection, received: bytes = b"", *, add_to_list: bool = True) -> None:
        """Respond without a complete request, and close. `received` are the bytes so far."""
        self.send(rejected.response.compose("", CLOSE, False))
        self.close_gracefully()
        if add_to_list:
            refusal = rejected.refusal(Client(*self.peer), now_us(), *request_line(received))
            self._refused.add(refusal, received[:REFUSED_RAW_MAX])

    def expire(self, now: float) -> None:
        """Act on a time limit that has passed by `now` (the loop's time)."""
        transport = self.transport
        if now < self._deadline or transport is None:
            return
        if self._draining or self.writing_paused or transport.is_closing():
            transport.abort()
        elif self._request is not None:
            self.end_body(self._timeout_reason)
        elif self._reader.head:
            self.reject(admission.HEAD_TIMED_OUT, self._reader.head)
        else:
            self._close()

    @property
    def head(self) -> bytes:
        """The part of a request's head received so far."""
        return self._reader.head

    def waiting_for(self) -> Waiting:
        """What it waits for from the sender, and since when."""
        deadline, request = self._deadline, self._request
        if self._delay is not None and self.transport is not None:
            return EvictionStage.DELAYED, self._delayed_since
        if self.transport is None:
            return None
        if deadline == math.inf:
            ahead = request is not None and request.body.is_eof() and self._reader.following
            return (EvictionStage.PIPELINING, 0.0) if ahead and not self.closing else None
        if self._draining:
            return EvictionStage.ANSWERED, deadline
        if self.writing_paused or self.transport.is_closing():
            return EvictionStage.UNREAD, deadline
        if request is not None:
            return None if request.body.is_eof() else (EvictionStage.BODY, self._slow_since)
        return (EvictionStage.HEAD if self._reader.head or not self._served else EvictionStage.IDLE), deadline

    def close_idle(self) -> None:
        """Close a connection that has no current request."""
        self.closing = True
        self._close()

    def drain(self) -> None:
        """Accept no further request. The current one still gets its response, but without the delay."""
        self.closing = self._skip_delays = True
        wake(self._delay)
        if self._request is None or self._draining:
            self._close()

    def end_body(self, why: Break) -> None:
        """End an incomplete body; the handler gets what was received, and `why`."""
        request = self._request
        if request is not None and not request.body.is_eof():
            request.broken = why
            self.closing = True
            request.body.feed_eof()

    def close_gracefully(self) -> None:
        """After the last response: close our side, and let the sender read before the connection is closed.

        Closing at once, with bytes of the sender unread, would reset the connection and lose the response.
        """
        self.closing = True
        wake(self._waiter)
        transport = self.transport
        if transport is None or transport.is_closing() or self._draining:
            return
        self._reader.drop()
        if self._ended:
            self._close()
            return
        self._draining = True
        self._deadline = self._loop.time() + self._limits.linger_s
        try:
            transport.write_eof()
        except OSError:  # the sender disconnected already
            transport.abort()
            return
        self._read_on()

    # -- what the server wants to know ----------------------------------------------------------------------------

    def head_grew(self, size: int) -> None:
        """Count `size` more bytes of a head in memory."""
        self.head_memory_used += size

    def unread_grew(self, size: int) -> None:
        """Count `size` more bytes of responses that the sender has not read."""
        self.unread += size

    def ended(self) -> None:
        """Called once, when its sender has disconnected and its task is done."""

    # -- within ---------------------------------------------------------------------------------------------------

    async def _serve(self, handle: Callable[[Connection, Request], Awaitable[None]]) -> None:
        try:
            while True:
                if self._request is None:
                    if self.closing:
                        break
                    self._waiter = self._loop.create_future()
                    await self._waiter
                    continue
                await handle(self, self._request)
                if self._has_turn:
                    self._end_turn()
                self._served = True
                if self.head_memory_used:
                    self.head_grew(-self.head_memory_used)
                if self.closing:
                    break
                self._next()
                if self._request is not None:
                    # It was sent before the response to the last one: such requests must not hold up all others.
                    await asyncio.sleep(0)
                    await self._turns.acquire()
                    self._has_turn = True
            self._last()
        except BaseException:
            if self.transport is not None:
                self.transport.abort()
            raise
        finally:
            self._end_turn()

    def _hold(self) -> None:
        """Read nothing from the sender for now."""
        if self.transport is not None:
            self.transport.pause_reading()

    def _read_on(self) -> None:
        """Read from the sender again, unless it has sent other requests, which are handled first."""
        if not self._reader.following and self.transport is not None:
            self.transport.resume_reading()

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.release()

    def _next(self) -> None:
        """Continue with the bytes that follow the handled request."""
        self._request = None
        self._deadline = self._loop.time() + self._limits.keepalive_s
        if self._reader.following:
            self._receive_head()
        # What follows would otherwise grow by a read with each request, if its sender sends on and reads no response.
        self._read_on()
        if self._ended and not self._draining:
            self._receive_eof()
            if self._request is None:
                self.closing = True

    def _last(self) -> None:
        """Close after the last response, at once if no bytes of the sender can be unread."""
        request = self._request
        if self._draining or (
            request is not None and (request.broken or not request.body.is_eof() or self._reader.following)
        ):
            self.close_gracefully()
        else:
            self._close()

    def _close(self) -> None:
        if self.transport is not None:
            self._deadline = self._loop.time() + self._limits.body_idle_s
            self.transport.close()

    def _end_if_done(self, _: object = None) -> None:
        """End once the sender has disconnected and nothing remains to be done, such as storing what was received."""
        if self.transport is None and (self.task is None or self.task.done()):
            self.task = None  # its error refers to the connection: both would stay until garbage is collected
            self.ended()

    def _receive_head(self, data: bytes = b"") -> None:
        """Read the next request from `data`, or from what followed the last one."""
        reader = self._reader
        begun = reader.head
        try:
            request = reader.read_head(data)
        except MalformedError as error:
            self.reject(admission.malformed(str(error)), reader.head)
            return
        if request is None:
            if reader.head and not begun:  # its time limit starts with its first byte
                self._deadline = min(self._deadline, self._loop.time() + self._limits.head_s)
            self.head_grew(len(reader.head) - len(begun))
            return
        self._request = request
        self._deadline = math.inf
        self._waited = self._stalled = 0.0
        self._counted = 0
        if request.head.closes:
            self.closing = True
        if request.framing_error is not None:
            self.end_body(Break.MALFORMED)
        if not request.body.is_eof():  # its head stays in memory until the body is received
            # It is kept as received, for the list of refused requests, and as headers.
            size = 2 * request.head_size + HEADER_BYTES * len(request.head.headers)
            self.head_grew(size - self.head_memory_used)
        wake(self._waiter)

    def _read_body(self, request: Request, data: bytes = b"") -> None:
        """Read more of the body from `data`, or from what is left of the bytes that were received last."""
        self._reader.read_body(request, data)
        if request.framing_error is not None:
            self.end_body(Break.MALFORMED)
        elif request.body.unread > UNREAD_MOST and not request.body.is_eof():
            self._hold()

    def _receive_eof(self) -> None:
        """The sender closed its side: what is incomplete now stays so."""
        if self._request is not None:
            self.end_body(Break.GONE)
        elif self._reader.head:
            self.reject(admission.malformed("the connection ended within the request's head"), self._reader.head)

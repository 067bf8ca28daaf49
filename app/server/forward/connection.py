"""A connection to a target: bytes out and in with flow control, and whether any byte of a response came."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import cast

READ_AHEAD = 256 * 1024
"""The target has to wait while this many received bytes are unread."""
_STEP = 256 * 1024
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Linux alone has it."""


class ConnectionClosedError(Exception):
    """The connection ended. `cause` is None if the target closed it in order."""

    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__(str(cause or "closed"))
        self.cause = cause


class Connection(asyncio.Protocol):
    """Has one exchange at a time. `buffer` holds what was received and not yet used.

    `reused`: it had an exchange before. `responding`: a byte has come since `begin_exchange`.
    """

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.reused = False
        self.responding = False
        self.sent_body = 0
        self._loop = asyncio.get_running_loop()
        self._closed: ConnectionClosedError | None = None
        self._failure: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._drainer: asyncio.Future[None] | None = None
        self._reading_paused = self._writing_paused = False
        self._lost = self._loop.create_future()
        self._poll: select.poll | None = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.responding = True
        if len(self.buffer) > READ_AHEAD and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> bool:
        self._closed = self._closed or ConnectionClosedError()
        _wake(self._reader)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = self._closed or ConnectionClosedError(exc)
        _wake(self._reader)
        _wake(self._drainer)
        _wake(self._lost)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        _wake(self._drainer)

    # What the sender calls.

    @property
    def unsent(self) -> bool:
        """Whether written bytes have not left yet."""
        return self.transport.get_write_buffer_size() > 0

    @property
    def is_open(self) -> bool:
        """Whether the idle connection is open and nothing unexpected came on it, as far as the loop has read."""
        return not (self._closed or self.buffer or self.transport.is_closing())

    def is_usable(self) -> bool:
        """The same, as far as this side can know."""
        return self.is_open and not self._has_news()

    def _has_news(self) -> bool:
        """Whether something waits at the socket that the loop has not read yet: most likely the target's close."""
        sock = self.transport.get_extra_info("socket")
        if sock is None or sock.fileno() < 0:
            return True
        if not hasattr(select, "poll"):
            return bool(select.select([sock.fileno()], [], [], 0)[0])
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(sock.fileno(), select.POLLIN)
        return bool(self._poll.poll(0))

    def rest(self) -> None:
        """Notice when the target closes it, after an exchange."""
        self.reused = True
        self._resume_reading()

    def begin_exchange(self) -> None:
        self.responding = False
        self.sent_body = 0
        self._failure = None

    async def more(self) -> None:
        """Wait for bytes in addition to those in `buffer`; ConnectionClosedError when none will come, or the
        error given to `fail`."""
        if self._failure is not None:
            raise self._failure
        if self._closed is not None:
            raise self._closed
        self._resume_reading()
        if self.responding:
            self._acknowledge_at_once()
        self._reader = self._loop.create_future()
        before = len(self.buffer)
        try:
            await self._reader
        finally:
            self._reader = None
        if len(self.buffer) == before:
            await self.more()

    def _resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resume_reading()

    def fail(self, error: Exception) -> None:
        """Let the reader raise `error`."""
        self._failure = error
        _wake(self._reader)

    def write(self, head: bytes, body: bytes) -> None:
        """Send the head, and the body if it is at hand."""
        self.sent_body = len(body)
        if len(body) <= _STEP:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)

    def _acknowledge_at_once(self) -> None:
        """A target that sends head and body of its response apart, as Python's development servers do, waits with the
        body until the head is acknowledged: on a kept connection of Linux for 40 ms. The system forgets the option, so
        it is set each time that more is awaited."""
        if _QUICKACK is not None and (sock := self.transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)

    async def write_parts(self, parts: AsyncIterator[bytes]) -> None:
        """Send the body in parts, each when the one before has left. Ends quietly when the connection does: the reader
        learns of it."""
        async for part in parts:
            for at in range(0, len(part), _STEP):
                if self._closed is not None:
                    return
                piece = part[at : at + _STEP]
                self.transport.write(piece)
                self.sent_body += len(piece)
                await self._drained()

    async def flush(self) -> None:
        """Return once all that was written has left, or the connection is lost."""
        while self.transport.get_write_buffer_size() and not self._lost.done():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)

    async def _drained(self) -> None:
        while self._writing_paused and not self._lost.done():
            self._drainer = self._loop.create_future()
            try:
                await self._drainer
            finally:
                self._drainer = None

    def close(self) -> None:
        """Close it; at once if bytes have not left, for which the target may never make room."""
        if self.unsent:
            self.transport.abort()
        else:
            self.transport.close()

    async def wait_closed(self, timeout_s: float) -> None:
        """Until it is closed; it is cut off after the time."""
        done, _ = await asyncio.wait([self._lost], timeout=timeout_s)
        if not done:
            self.transport.abort()
            await asyncio.wait([self._lost], timeout=timeout_s)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

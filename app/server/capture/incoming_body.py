"""A request's body as it arrives."""

from __future__ import annotations

import asyncio
from typing import Protocol

UNREAD_MOST = 512 * 1024
"""Bytes that may wait to be read; above that nothing more is read from the sender."""


class Flow(Protocol):
    """The connection it comes from."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class IncomingBody:
    """What has come of a body and was not read. `total_bytes` counts all that has come."""

    __slots__ = ("_ended", "_flow", "_pieces", "_unread", "_waiter", "total_bytes")

    def __init__(self, flow: Flow, whole: bytes | None = None) -> None:
        """`whole`: the body came with its head, as most do."""
        self._flow = flow
        self._ended = whole is not None
        self._pieces = [whole] if whole else []
        self._unread = self.total_bytes = len(whole or b"")
        self._waiter: asyncio.Future[None] | None = None

    def is_eof(self) -> bool:
        """Whether nothing more comes."""
        return self._ended

    def feed_data(self, data: bytes) -> None:
        if not data:
            return
        self._pieces.append(data)
        self._unread += len(data)
        self.total_bytes += len(data)
        wake(self._waiter)
        if self._unread > UNREAD_MOST:
            self._flow.pause_reading()

    def feed_eof(self) -> None:
        self._ended = True
        wake(self._waiter)
        self._flow.resume_reading()  # for what follows the body

    def read_nowait(self) -> bytes:
        """What has come since it was last read."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        paused = self._unread > UNREAD_MOST
        self._unread = 0
        if paused and not self._ended:
            self._flow.resume_reading()
        return data

    async def readany(self) -> bytes:
        """The same, at least one byte of it; none at the body's end."""
        if not self._pieces and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.read_nowait()


def wake(waiter: asyncio.Future[None] | None) -> None:
    """Let what waits for it continue."""
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

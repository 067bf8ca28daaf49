"""A request's body as it arrives."""

from __future__ import annotations

import asyncio

UNREAD_MOST = 64 * 1024
"""Bytes of a body that may wait to be read; above that nothing more is read from its sender."""


class IncomingBody:
    """What has come of a body and was not read: `unread` bytes. `total_bytes` counts all that has come."""

    __slots__ = ("_ended", "_pieces", "_waiter", "total_bytes", "unread")

    def __init__(self, whole: bytes | None = None) -> None:
        """`whole`: the body came with its head, as most do."""
        self._ended = whole is not None
        self._pieces = [whole] if whole else []
        self.unread = self.total_bytes = len(whole or b"")
        self._waiter: asyncio.Future[None] | None = None

    def is_eof(self) -> bool:
        """Whether nothing more comes."""
        return self._ended

    def feed_data(self, data: bytes) -> None:
        if data:
            self._pieces.append(data)
            self.unread += len(data)
            self.total_bytes += len(data)
            wake(self._waiter)

    def feed_eof(self) -> None:
        self._ended = True
        wake(self._waiter)

    def read_nowait(self) -> bytes:
        """What has come since it was last read."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.unread = 0
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

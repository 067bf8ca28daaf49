"""A request's body as it arrives, and the memory of all unfinished ones together: above its limit, what comes goes to
the store at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

UNREAD_MOST = 64 * 1024
"""Bytes of a body that may wait to be read; above that nothing more is read from its sender."""
PART_LEAST = 4 * 1024
"""A body with fewer bytes in memory keeps them there."""
READ_MOST = 32 * 1024
"""Bytes read from a sender at once; asyncio's 256 KiB, from 512 senders at once, would be 128 MiB."""


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


class BodyMemory:
    """Counts the bytes of bodies from their arrival until they are stored.

    While it is `full`, a body stores what it has when more of it comes, so above the limit each connection adds no more
    than it reads at once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._trimming: asyncio.Future[None] | None = None
        self._was_full = False
        self.used = 0

    def add(self, size: int) -> None:
        self.used += size
        self._was_full = self._was_full or self.full

    def release(self, size: int) -> None:
        self.used -= size
        if self._was_full and self.used <= self._limit // 8:
            self._was_full = False
            self._trimming = asyncio.get_running_loop().run_in_executor(None, trim)

    @property
    def full(self) -> bool:
        """Whether more than `limit` bytes are in memory."""
        return self.used > self._limit

    async def close(self) -> None:
        if self._trimming is not None:
            await self._trimming


def trim() -> None:
    """Return free memory to the system, which glibc does not do between blocks still in use; does nothing where the C
    library is not glibc. Takes milliseconds, without Python's lock."""
    release = _malloc_trim()
    if release is not None:
        release(0)


def _malloc_trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # few runs ever need it

    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found

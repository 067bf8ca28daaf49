"""Bounds the memory of all unfinished bodies together: above the limit the largest go to the store in pieces."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from typing import Protocol

PIECE_LEAST = 1_024
"""A body with fewer bytes in memory is left alone."""
READ_MOST = 32 * 1024
"""Bytes taken from a sender at once; asyncio's 256 KiB, from 512 senders at once, would be 128 MiB."""
_READING_S = 0.005
"""How long those that may go on are given to read before more of them may."""


class Buffer(Protocol):
    """The part of a body that is in memory."""

    @property
    def spillable(self) -> int:
        """How many bytes can go to the store now."""
        ...

    async def spill(self) -> None:
        """Store them and give them back to the `BodyMemory`; StorageUnavailableError when that cannot be."""
        ...


class BodyMemory:
    """Counts bytes of bodies from their arrival until they are stored; `room` waits while there are more than `limit`.

    What each connection reads at once is not included. The limit must be more than `PIECE_LEAST` for each connection.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffers: set[Buffer] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._released: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._spills: list[asyncio.Task[None]] = []
        self._trimming: asyncio.Future[None] | None = None
        self._was_full = False
        self.held = 0

    def register(self, buffer: Buffer) -> None:
        """A body begins."""
        self._buffers.add(buffer)

    def unregister(self, buffer: Buffer) -> None:
        """The body is stored or given up."""
        self._buffers.discard(buffer)

    def take(self, size: int) -> None:
        """So many bytes were received."""
        self.held += size

    def release(self, size: int) -> None:
        """So many bytes are in memory no more."""
        self.held -= size
        if self._released is not None and not self._released.done():
            self._released.set_result(None)
        if self._was_full and self.held <= self._limit // 8:
            self._was_full = False
            self._trimming = asyncio.get_running_loop().run_in_executor(None, trim)

    @property
    def full(self) -> bool:
        """Whether `room` would wait."""
        return self.held > self._limit

    async def room(self) -> None:
        """Wait until no more than `limit` is in memory. StorageUnavailableError when nothing can be stored."""
        if not self.full:
            return
        self._was_full = True
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self._waiting.append(waiter)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._relieve(), name="capture body memory")
        await waiter

    async def close(self) -> None:
        """Move no more to the store."""
        tasks = [task for task in (self._task, *self._spills) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._trimming is not None:
            await self._trimming

    async def _relieve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if not self.full:
                self._wake(max(1, (self._limit - self.held) // READ_MOST))
                await asyncio.sleep(_READING_S)
                continue
            self._spills = [loop.create_task(buffer.spill(), name="body to store") for buffer in self._largest()]
            if not self._spills:  # what is on its way to the store makes room
                self._released = loop.create_future()
                await self._released
                continue
            await asyncio.wait(self._spills)
            errors = [error for spill in self._spills if (error := spill.exception()) is not None]
            if errors:
                self._wake(len(self._waiting), errors[0])

    def _largest(self) -> list[Buffer]:
        """Those that together hold what is above three quarters of the limit."""
        above = self.held - self._limit * 3 // 4
        sizes = ((buffer.spillable, buffer) for buffer in self._buffers)
        chosen = []
        for size, buffer in sorted(sizes, key=lambda sized: sized[0], reverse=True):
            if above <= 0 or size < PIECE_LEAST:
                break
            above -= size
            chosen.append(buffer)
        return chosen

    def _wake(self, number: int, error: BaseException | None = None) -> None:
        """Let the first of those that wait go on, or fail."""
        for _ in range(min(number, len(self._waiting))):
            waiter = self._waiting.popleft()
            if waiter.done():  # given up meanwhile
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


def trim() -> None:
    """Give back what is free; nothing where the C library is not glibc. Takes milliseconds, without Python's lock."""
    release = _malloc_trim()
    if release is not None:
        release(0)


def _malloc_trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # here, because few runs ever need it

    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found

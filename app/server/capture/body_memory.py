"""Bounds the memory of all unfinished bodies together: above the limit the largest go to the store in pieces."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from typing import Protocol

PIECE_MIN = 1_024
"""A body with fewer bytes in memory is not spilled."""
READ_MOST = 32 * 1024
"""Bytes read from a sender at once; asyncio's 256 KiB, from 512 senders at once, would be 128 MiB."""
_READ_TURN_S = 0.005
"""How long the bodies that may continue have to read before more of them may."""


class Buffer(Protocol):
    """The part of a body that is in memory."""

    @property
    def spillable(self) -> int:
        """How many bytes can be stored now."""
        ...

    async def spill(self) -> None:
        """Store them and release them from the `BodyMemory`; StorageUnavailableError when that is impossible."""
        ...


class BodyMemory:
    """Counts the bytes of bodies from their arrival until they are stored; `wait_for_room` waits while there are more
    than `limit`.

    What each connection reads at once is not included. The limit must be more than `PIECE_MIN` for each connection.
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
        self.used = 0

    def register(self, buffer: Buffer) -> None:
        self._buffers.add(buffer)

    def unregister(self, buffer: Buffer) -> None:
        self._buffers.discard(buffer)

    def add(self, size: int) -> None:
        self.used += size

    def release(self, size: int) -> None:
        self.used -= size
        if self._released is not None and not self._released.done():
            self._released.set_result(None)
        if self._was_full and self.used <= self._limit // 8:
            self._was_full = False
            self._trimming = asyncio.get_running_loop().run_in_executor(None, trim)

    @property
    def full(self) -> bool:
        """Whether `wait_for_room` would wait."""
        return self.used > self._limit

    async def wait_for_room(self) -> None:
        """Wait until no more than `limit` bytes are in memory. StorageUnavailableError when nothing can be stored."""
        if not self.full:
            return
        self._was_full = True
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self._waiting.append(waiter)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._spill_largest(), name="capture body memory")
        await waiter

    async def close(self) -> None:
        """Stop moving bodies to the store."""
        tasks = [task for task in (self._task, *self._spills) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._trimming is not None:
            await self._trimming

    async def _spill_largest(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if not self.full:
                self._wake(max(1, (self._limit - self.used) // READ_MOST))
                await asyncio.sleep(_READ_TURN_S)
                continue
            self._spills = [loop.create_task(buffer.spill(), name="body to store") for buffer in self._largest()]
            if not self._spills:  # room comes from what is being stored
                self._released = loop.create_future()
                await self._released
                continue
            await asyncio.wait(self._spills)
            errors = [error for spill in self._spills if (error := spill.exception()) is not None]
            if errors:
                self._wake(len(self._waiting), errors[0])

    def _largest(self) -> list[Buffer]:
        """The buffers that together have the bytes above three quarters of the limit."""
        above = self.used - self._limit * 3 // 4
        sizes = ((buffer.spillable, buffer) for buffer in self._buffers)
        selected = []
        for size, buffer in sorted(sizes, key=lambda sized: sized[0], reverse=True):
            if above <= 0 or size < PIECE_MIN:
                break
            above -= size
            selected.append(buffer)
        return selected

    def _wake(self, number: int, error: BaseException | None = None) -> None:
        """Let the first `number` waiting bodies continue, or fail."""
        for _ in range(min(number, len(self._waiting))):
            waiter = self._waiting.popleft()
            if waiter.done():  # given up meanwhile
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


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

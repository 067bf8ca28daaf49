"""Bounds the memory of all unfinished bodies together: above the limit, what comes goes to the store at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

PART_LEAST = 4 * 1024
"""A body with fewer bytes in memory keeps them there."""
READ_MOST = 32 * 1024
"""Bytes read from a sender at once; asyncio's 256 KiB, from 512 senders at once, would be 128 MiB."""


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

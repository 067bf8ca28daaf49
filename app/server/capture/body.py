"""Reads bodies: hashed and counted while they arrive, stored in parts when large."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from app.core.model import PART_SIZE
from app.core.store import CaptureRepository
from app.server.capture.body_memory import PART_LEAST, BodyMemory
from app.server.capture.connection import Connection
from app.server.capture.reader import Incoming


class Body(NamedTuple):
    """A received body, its total size and hash. `tail` is all of it, or with a `key` what follows its stored parts."""

    tail: bytes
    key: int | None
    size: int
    sha256: str


class BodyTooLargeError(Exception):
    """The body is larger than the limit; stored parts of it have to be deleted."""


def read_small_body(request: Incoming, limit: int) -> Body | None:
    """The body if it is small and was received with the head, as most are; otherwise None."""
    payload = request.payload
    if not payload.is_eof() or payload.total_bytes > min(limit, PART_SIZE) or request.broken:
        return None
    data = payload.read_nowait()
    return Body(data, None, len(data), sha256(data).hexdigest())


class BodyBuffer:
    """A body being received. Full parts are stored at once; while memory is short, also what has come of the next."""

    def __init__(self, memory: BodyMemory, captures: CaptureRepository, endpoint_id: int) -> None:
        self._memory, self._captures, self._endpoint_id = memory, captures, endpoint_id
        self._part = bytearray()
        """What has come since the last part was stored."""
        self._stored = self._tail_size = 0
        self._key: int | None = None

    async def receive(self, connection: Connection, request: Incoming, limit: int) -> Body:
        """Read to the end of the body, or to where it broke off; then everything except the tail is stored.

        Nothing is read while something has to be stored first. Raises BodyTooLargeError as soon as `limit` bytes are
        exceeded, StorageUnavailableError or StorageLimitError when they cannot be stored.
        """
        digest, size = sha256(), 0
        while data := await connection.read(request.payload):
            size += len(data)
            if size > limit:
                raise BodyTooLargeError
            digest.update(data)
            self._memory.add(len(data))
            self._part += data
            data = b""  # otherwise it would stay in memory until the next one is received
            while len(self._part) > PART_SIZE or (self._memory.full and len(self._part) >= PART_LEAST):
                with connection.paused_reading():
                    await self._store_part()
        tail, self._part = bytes(self._part), bytearray()
        self._tail_size = len(tail)
        return Body(tail, self._key, size, digest.hexdigest())

    async def drop(self) -> None:
        """Delete the stored parts; StorageUnavailableError when that is impossible now."""
        self.close()
        if self._key is not None:
            await self._captures.drop_parts(self._key)

    def close(self) -> None:
        """Release its memory: it is stored, or given up."""
        self._memory.release(len(self._part) + self._tail_size)
        self._part, self._tail_size = bytearray(), 0

    async def _store_part(self) -> None:
        data = bytes(self._part[:PART_SIZE])
        del self._part[:PART_SIZE]
        try:
            self._key = await self._captures.add_part(self._key, self._stored, data, endpoint_id=self._endpoint_id)
        finally:
            self._memory.release(len(data))
        self._stored += len(data)

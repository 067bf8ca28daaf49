"""Reads bodies: hashed and counted while they arrive, stored in parts when large."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import NamedTuple

from app.core.errors import StorageLimitError
from app.core.model import PART_SIZE
from app.core.repositories import CaptureSink
from app.server.capture.body_memory import BodyMemory
from app.server.capture.connection import Connection
from app.server.capture.reader import Incoming


class Body(NamedTuple):
    """A received body: its last part and that part's number (earlier ones are stored), its total size and hash."""

    tail: bytes
    tail_part: int
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
    return Body(data, 0, len(data), sha256(data).hexdigest())


class BodyBuffer:
    """A body being received. Full parts are stored at once; of the current part, pieces when memory is short."""

    def __init__(self, memory: BodyMemory, captures: CaptureSink, endpoint_id: int) -> None:
        self._memory, self._captures, self._endpoint_id = memory, captures, endpoint_id
        self._seq: int | None = None
        self._part = bytearray()
        """The bytes of the current part that are in memory. `_stored_of_part` bytes before them are stored, in
        `_pieces` pieces."""
        self._stored_of_part = self._parts = self._pieces = 0
        self._tail_size = 0
        self._storing = asyncio.Lock()
        self._refused: StorageLimitError | None = None
        self._closed = False
        memory.register(self)

    @property
    def seq(self) -> int:
        """The number of the capture. Taken when the first part is stored: what is stored at once needs none before."""
        if self._seq is None:
            self._seq = self._captures.new_seq()
        return self._seq

    @property
    def spillable(self) -> int:
        """Bytes of the current part that are in memory; 0 while something is being stored."""
        return 0 if self._storing.locked() else len(self._part)

    async def spill(self) -> None:
        """Store the bytes in memory as a piece. If a storage limit prevents that, only this request fails."""
        async with self._storing:
            data = self._take_part()
            if not data:
                return
            self._stored_of_part += len(data)
            try:
                await self._captures.add_piece(self.seq, self._pieces, data, endpoint_id=self._endpoint_id)
            except StorageLimitError as error:
                self._refused = error
                self._memory.release(len(data))
                return
            except BaseException:
                self._stored_of_part -= len(data)
                self._part[:0] = data
                if self._closed:
                    self.close()
                raise
            self._pieces += 1
            self._memory.release(len(data))

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
            if self._refused is not None:
                raise self._refused
            digest.update(data)
            self._memory.add(len(data))
            while len(data) > (space := PART_SIZE - self._stored_of_part - len(self._part)):
                self._part += data[:space]
                data = data[space:]
                with connection.paused_reading():
                    await self._store_part()
            self._part += data
            data = b""  # otherwise it would stay in memory until the next one is received
            if self._memory.full:
                with connection.paused_reading():
                    await self._memory.wait_for_room()
        if self._pieces or self._storing.locked():
            await self._store_part()
        if self._refused is not None:
            raise self._refused
        tail = self._take_part()
        self._tail_size = len(tail)
        return Body(tail, self._parts, size, digest.hexdigest())

    async def drop(self) -> None:
        """Delete the stored parts; StorageUnavailableError when that is impossible now."""
        self._memory.release(len(self._take_part()))
        async with self._storing:
            if self._parts or self._pieces:
                await self._captures.drop_parts(self.seq)

    def close(self) -> None:
        """Release its memory: it is stored, or given up."""
        self._closed = True
        self._memory.unregister(self)
        self._memory.release(len(self._take_part()) + self._tail_size)
        self._tail_size = 0

    async def _store_part(self) -> None:
        async with self._storing:
            data = self._take_part()
            try:
                await self._captures.add_part(
                    self.seq, self._parts, data, pieces=self._pieces, endpoint_id=self._endpoint_id
                )
            finally:
                self._memory.release(len(data))
            self._parts += 1
            self._stored_of_part = self._pieces = 0

    def _take_part(self) -> bytes:
        data, self._part = bytes(self._part), bytearray()
        return data

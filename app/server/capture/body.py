"""Reading a body: hashed and counted on the way, in parts where it is large."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from app.core.model import PART_SIZE
from app.server.capture.connection import Connection
from app.server.capture.incoming import Incoming
from app.server.ports import CaptureSink


class Body(NamedTuple):
    """A body as received: its last part and that part's number (earlier ones are stored), all its bytes counted."""

    tail: bytes
    tail_part: int
    size: int
    sha256: str


class BodyTooLargeError(Exception):
    """The body is larger than the limit; what of it was stored is to be dropped."""


def whole(request: Incoming, limit: int) -> Body | None:
    """The body when all of it has come with the head and it is small, which most are; None otherwise."""
    payload = request.payload
    if not payload.is_eof() or payload.total_bytes > min(limit, PART_SIZE) or request.broken:
        return None
    data = payload.read_nowait()
    return Body(data, 0, len(data), sha256(data).hexdigest())


async def receive(
    connection: Connection, request: Incoming, captures: CaptureSink, *, seq: int, limit: int, endpoint_id: int
) -> Body:
    """Read to the body's end, or to where it breaks off. Full parts go to `captures` at once, the tail is returned.

    Reading waits while a part is stored, so that no more than a few parts are in memory. Raises BodyTooLargeError as
    soon as `limit` bytes are passed.
    """
    digest, pending, size = sha256(), bytearray(), 0
    while data := await connection.read(request.payload):
        size += len(data)
        if size > limit:
            raise BodyTooLargeError
        digest.update(data)
        pending += data
        while len(pending) > PART_SIZE:
            part = bytes(memoryview(pending)[:PART_SIZE])
            del pending[:PART_SIZE]  # before the wait: many large bodies may wait at once
            await captures.add_part(seq, request.parts, part, endpoint_id)
            del part
            request.parts += 1
    return Body(bytes(pending), request.parts, size, digest.hexdigest())

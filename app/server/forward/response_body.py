"""Reads a response's body as sent: the transfer coding removed, the content coding kept."""

from __future__ import annotations

import re

from app.server.forward.connection import Connection, ConnectionClosedError
from app.server.forward.response import TargetResponse
from app.server.forward.response_head import HEAD_MAX, Framing, MalformedResponseError, ResponseHead

_LINE_MAX = 4096
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")


async def read_body(connection: Connection, head: ResponseHead, into: TargetResponse) -> None:
    """Read it to its end; `into` keeps the first `PART_SIZE` bytes, and is marked as truncated if there are more.

    ConnectionClosedError when the body ends early, MalformedResponseError.
    """
    if head.framing is Framing.LENGTH:
        await _read_exactly(connection, head.length, into)
    elif head.framing is Framing.CHUNKED:
        await _read_chunks(connection, into)
    elif head.framing is Framing.CLOSE:
        await _read_to_close(connection, into)


async def _read_exactly(connection: Connection, length: int, into: TargetResponse) -> None:
    buffer, left = connection.buffer, length
    while left:
        if not buffer:
            await connection.more()
        data = bytes(buffer[:left])
        del buffer[: len(data)]
        left -= len(data)
        into.add(data)


async def _read_chunks(connection: Connection, into: TargetResponse) -> None:
    while length := await _chunk_length(connection):
        await _read_exactly(connection, length, into)
        await _end_of_chunk(connection)
    await _skip_trailers(connection)


async def _chunk_length(connection: Connection) -> int:
    line = await _line(connection, _LINE_MAX, "a chunk header is too long")
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise MalformedResponseError(f"illegal chunk header: {line[:80]!r}")
    return int(found[1], 16)


async def _end_of_chunk(connection: Connection) -> None:
    problem = "a chunk is longer than it said"
    if await _line(connection, 2, problem) not in (b"\r\n", b"\n"):
        raise MalformedResponseError(problem)


async def _skip_trailers(connection: Connection) -> None:
    left = HEAD_MAX
    while (line := await _line(connection, left, "its trailers are too long")) not in (b"\r\n", b"\n"):
        left -= len(line)


async def _line(connection: Connection, most: int, problem: str) -> bytes:
    """`problem`: why one longer than `most` bytes is malformed."""
    buffer = connection.buffer
    while (end := buffer.find(b"\n", 0, most)) < 0:
        if len(buffer) >= most:
            raise MalformedResponseError(problem)
        await connection.more()
    line = bytes(buffer[: end + 1])
    del buffer[: end + 1]
    return line


async def _read_to_close(connection: Connection, into: TargetResponse) -> None:
    buffer = connection.buffer
    try:
        while True:
            if buffer:
                data = bytes(buffer)
                buffer.clear()
                into.add(data)
            else:
                await connection.more()
    except ConnectionClosedError as closed:
        if closed.cause is not None:
            raise

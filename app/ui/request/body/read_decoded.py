"""Reads an unpacked body: at once for views that need all of it, or piece by piece; both can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from app.core.bodies import decompressor
from app.core.bodies.body_reader import CHUNK
from app.ui.latest_only import Latest
from app.ui.request.body.body_source import BodySource

READ = 1024 * 1024
"""Bytes read at once when a whole body is processed."""


async def read_plain(source: BodySource, limit: int, latest: Latest | None = None) -> bytes | None:
    """The whole body, or somewhat more than `limit` bytes if it is larger; None if `latest` was superseded."""
    loop = asyncio.get_running_loop()
    names = decompressor.codings(source.headers)
    unpacker = decompressor.Decompressor(() if decompressor.unsupported_reason(names) else names)
    plain, offset = bytearray(), 0
    while offset < source.size and len(plain) <= limit:
        data = await source.read(offset, CHUNK)
        if latest is not None and latest.superseded:
            return None
        if not data:
            break
        offset += len(data)
        unpacker.feed(data)
        await loop.run_in_executor(None, _unpack, unpacker, plain, limit)
    return None if latest is not None and latest.superseded else bytes(plain)


async def plain_pieces(
    source: BodySource, codings: tuple[str, ...], begin: int, latest: Latest
) -> AsyncGenerator[tuple[bytes, int], None]:
    """The body from its unpacked byte `begin` on in pieces of at most `CHUNK`, each with the number of packed bytes
    read for it; ends early if `latest` was superseded.
    """
    loop = asyncio.get_running_loop()
    unpacker = decompressor.Decompressor(codings)
    offset, drop = (0, begin) if codings else (begin, 0)
    while offset < source.size and not latest.superseded:
        data = await source.read(offset, READ)
        if not data:
            return
        offset += len(data)
        unpacker.feed(data)
        while not (unpacker.needs_input or latest.superseded):
            piece = await loop.run_in_executor(None, unpacker.read, CHUNK) if codings else unpacker.read(CHUNK)
            if drop < len(piece):
                yield piece[drop:], offset
            drop = max(0, drop - len(piece))


def _unpack(unpacker: decompressor.Decompressor, plain: bytearray, limit: int) -> None:
    while not unpacker.needs_input and len(plain) <= limit:
        plain += unpacker.read(CHUNK)

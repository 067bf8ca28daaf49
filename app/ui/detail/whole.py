"""Reads a whole body, unpacked, for views that need all of it; bounded, and in steps that can be given up."""

from __future__ import annotations

import asyncio

from app.core.bodies import decoding
from app.core.bodies.reading import CHUNK
from app.ui.detail.latest import Latest
from app.ui.detail.source import BodySource


async def read_plain(source: BodySource, limit: int, latest: Latest | None = None) -> bytes | None:
    """All of it, or somewhat more than `limit` bytes when there are more; None when `latest` has given up."""
    loop = asyncio.get_running_loop()
    names = decoding.codings(source.headers)
    unpacker = decoding.Unpacker(() if decoding.refusal(names) else names)
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


def _unpack(unpacker: decoding.Unpacker, plain: bytearray, limit: int) -> None:
    while not unpacker.hungry and len(plain) <= limit:
        plain += unpacker.take(CHUNK)

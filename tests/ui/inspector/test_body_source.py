"""Reading a body from where it is kept."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from app.core.bodies.body_reader import CHUNK
from app.ui.inspector.body.body_source import of_bytes, read_plain

LARGE = bytes(range(256)) * (3 * CHUNK // 256)


@pytest.mark.parametrize(
    ("limit", "length"), [(len(LARGE), len(LARGE)), (len(LARGE) - 1, len(LARGE)), (9, 10), (CHUNK + 9, CHUNK + 10)]
)
async def test_no_more_than_one_byte_above_the_limit_is_unpacked(limit: int, length: int) -> None:
    for source in (
        of_bytes(LARGE, "body"),
        of_bytes(gzip.compress(LARGE), "body", headers=(("Content-Encoding", "gzip"),)),
    ):
        assert await read_plain(source, limit) == LARGE[:length]


async def test_what_is_above_the_limit_is_not_read() -> None:
    read: list[int] = []
    source = of_bytes(LARGE, "body")

    async def counted(offset: int, length: int) -> bytes:
        read.append(offset)
        return await source.read(offset, length)

    assert len(await read_plain(replace(source, read=counted), 9)) == 10
    assert read == [0]

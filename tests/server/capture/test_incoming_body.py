"""A body as it arrives: nothing is lost between two reads."""

from __future__ import annotations

import asyncio

import pytest

from app.server.capture.incoming_body import IncomingBody


async def test_what_came_is_read_once_and_in_order() -> None:
    body = IncomingBody()
    for piece in (b"ab", b"", b"c"):
        body.feed_data(piece)
    assert body.unread == 3
    assert (await body.readany(), body.total_bytes, body.unread, body.is_eof()) == (b"abc", 3, 0, False)
    body.feed_data(b"d")
    body.feed_eof()
    assert (await body.readany(), await body.readany(), body.total_bytes) == (b"d", b"", 4)
    assert body.is_eof()


async def test_a_whole_body_is_there_at_once() -> None:
    for whole in (b"", b"x" * 100_000):
        body = IncomingBody(whole)
        assert body.is_eof()
        assert (body.total_bytes, body.read_nowait(), await body.readany()) == (len(whole), whole, b"")


@pytest.mark.parametrize("ends", [False, True])
async def test_a_reader_waits_for_the_next_byte_or_the_end(ends: bool) -> None:
    body = IncomingBody()
    reading = asyncio.create_task(body.readany())
    await asyncio.sleep(0)
    body.feed_data(b"")
    await asyncio.sleep(0)
    assert not reading.done()
    if ends:
        body.feed_eof()
    else:
        body.feed_data(b"x")
    assert await reading == (b"" if ends else b"x")

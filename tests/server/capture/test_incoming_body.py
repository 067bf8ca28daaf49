"""A body as it arrives: nothing is lost between two reads, and a sender waits while too much of it is unread."""

from __future__ import annotations

import asyncio

import pytest

from app.server.capture.incoming_body import UNREAD_MOST, IncomingBody


class Sender:
    """Records when it has to wait."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause_reading(self) -> None:
        self.said.append("pause")

    def resume_reading(self) -> None:
        self.said.append("resume")


@pytest.fixture
def sender() -> Sender:
    return Sender()


async def test_what_came_is_read_once_and_in_order(sender: Sender) -> None:
    body = IncomingBody(sender)
    for piece in (b"ab", b"", b"c"):
        body.feed_data(piece)
    assert (await body.readany(), body.total_bytes, body.is_eof()) == (b"abc", 3, False)
    body.feed_data(b"d")
    body.feed_eof()
    assert (await body.readany(), await body.readany(), body.total_bytes) == (b"d", b"", 4)
    assert body.is_eof()


async def test_a_whole_body_is_there_at_once_and_holds_nobody_up(sender: Sender) -> None:
    for whole in (b"", b"x" * (UNREAD_MOST + 1)):
        body = IncomingBody(sender, whole)
        assert body.is_eof()
        assert (body.total_bytes, body.read_nowait(), await body.readany()) == (len(whole), whole, b"")
    assert sender.said == []


@pytest.mark.parametrize("ends", [False, True])
async def test_a_reader_waits_for_the_next_byte_or_the_end(sender: Sender, ends: bool) -> None:
    body = IncomingBody(sender)
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


async def test_a_sender_waits_while_too_much_is_unread(sender: Sender) -> None:
    body = IncomingBody(sender)
    body.feed_data(bytes(UNREAD_MOST))
    assert sender.said == []
    body.feed_data(b"x")
    assert sender.said == ["pause"]
    assert len(await body.readany()) == UNREAD_MOST + 1
    assert sender.said == ["pause", "resume"]
    body.feed_data(b"y")
    assert await body.readany() == b"y"
    assert sender.said == ["pause", "resume"]


async def test_a_sender_that_waits_at_the_end_of_a_body_goes_on(sender: Sender) -> None:
    body = IncomingBody(sender)
    body.feed_data(bytes(UNREAD_MOST + 1))
    body.feed_eof()
    assert sender.said == ["pause", "resume"]
    assert len(await body.readany()) == UNREAD_MOST + 1
    assert sender.said == ["pause", "resume"]

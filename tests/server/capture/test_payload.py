"""A body as it arrives: nothing is lost between two reads, and a sender waits while too much of it is unread."""

from __future__ import annotations

import asyncio

import pytest

from app.server.capture.payload import UNREAD_MOST, Payload


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
    payload = Payload(sender)
    for piece in (b"ab", b"", b"c"):
        payload.feed_data(piece)
    assert (await payload.readany(), payload.total_bytes, payload.is_eof()) == (b"abc", 3, False)
    payload.feed_data(b"d")
    payload.feed_eof()
    assert (await payload.readany(), await payload.readany(), payload.total_bytes) == (b"d", b"", 4)
    assert payload.is_eof()


async def test_a_whole_body_is_there_at_once_and_holds_nobody_up(sender: Sender) -> None:
    for whole in (b"", b"x" * (UNREAD_MOST + 1)):
        payload = Payload(sender, whole)
        assert payload.is_eof()
        assert (payload.total_bytes, payload.read_nowait(), await payload.readany()) == (len(whole), whole, b"")
    assert sender.said == []


@pytest.mark.parametrize("ends", [False, True])
async def test_a_reader_waits_for_the_next_byte_or_the_end(sender: Sender, ends: bool) -> None:
    payload = Payload(sender)
    reading = asyncio.create_task(payload.readany())
    await asyncio.sleep(0)
    payload.feed_data(b"")
    await asyncio.sleep(0)
    assert not reading.done()
    if ends:
        payload.feed_eof()
    else:
        payload.feed_data(b"x")
    assert await reading == (b"" if ends else b"x")


async def test_a_sender_waits_while_too_much_is_unread(sender: Sender) -> None:
    payload = Payload(sender)
    payload.feed_data(bytes(UNREAD_MOST))
    assert sender.said == []
    payload.feed_data(b"x")
    assert sender.said == ["pause"]
    assert len(await payload.readany()) == UNREAD_MOST + 1
    assert sender.said == ["pause", "resume"]
    payload.feed_data(b"y")
    assert await payload.readany() == b"y"
    assert sender.said == ["pause", "resume"]


async def test_a_sender_that_waits_at_the_end_of_a_body_goes_on(sender: Sender) -> None:
    payload = Payload(sender)
    payload.feed_data(bytes(UNREAD_MOST + 1))
    payload.feed_eof()
    assert sender.said == ["pause", "resume"]
    assert len(await payload.readany()) == UNREAD_MOST + 1
    assert sender.said == ["pause", "resume"]

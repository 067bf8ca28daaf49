"""Bodies that end before their end: what came is stored, incomplete, and never forwarded."""

from __future__ import annotations

import asyncio

import pytest

from app.core.model import PART_SIZE, DeliveryState
from tests.server.capture.support import Clock, Rig, Sender
from tests.support import until

LENGTH = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
CHUNKED = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def broken_off(rig: Rig, raw: bytes, how: str) -> Sender:
    rig.directory.put("orders", forward_url="http://127.0.0.1:9/")
    sender = await rig.connect()
    await sender.send(raw)
    await rig.bodies_waited_for()
    if how == "close":
        await sender.close()
    elif how == "reset":
        sender.reset()
    else:
        sender.half_close()
    await until(lambda: rig.sink.captures)
    return sender


@pytest.mark.parametrize("how", ["close", "reset", "half"])
@pytest.mark.parametrize(
    ("raw", "came"),
    [
        (LENGTH, b""),
        (LENGTH + b"abcd", b"abcd"),
        (CHUNKED, b""),
        (CHUNKED + b"5\r\nab", b"ab"),
        (CHUNKED + b"2\r\nab\r\n", b"ab"),
        (CHUNKED + b"2\r\nab\r\n0\r\n", b"ab"),
    ],
)
async def test_what_came_is_stored_as_incomplete(rig: Rig, raw: bytes, came: bytes, how: str) -> None:
    sender = await broken_off(rig, raw, how)
    record = rig.sink.last
    assert (rig.sink.last_body, record.size, record.complete) == (came, len(came), False)
    assert (record.delivery, rig.sink.targets[record.seq]) == (DeliveryState.NONE, ())
    assert record.response_status == 400
    if how == "half":
        assert (await sender.response()).status == 400
    assert rig.refusals() == []


async def test_parts_that_came_are_kept(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n")
    await sender.send(b"x" * (3 * PART_SIZE + 5))
    await until(lambda: sum(rig.sink.part_sizes) == 3 * PART_SIZE and rig.server.handler.body_memory.used == 5)
    await sender.close()
    await until(lambda: rig.sink.captures)
    assert rig.sink.last_body == b"x" * (3 * PART_SIZE + 5)
    assert not rig.sink.last.complete


async def test_what_came_while_the_store_was_slow_is_kept(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n")
    await sender.send(b"x" * (PART_SIZE + 300_000))
    await until(lambda: rig.sink.writing)
    await sender.close()
    await asyncio.sleep(0.1)
    rig.sink.hold.set()
    await until(lambda: rig.sink.captures)
    assert rig.sink.last.size == PART_SIZE + 300_000


@pytest.mark.parametrize(
    ("junk", "fault"),
    [
        (b"zz\r\nab\r\n", "a chunk does not begin with a line that gives its size"),
        (b"2\r\nabXX", "a chunk is not followed by CR LF, so its size is wrong"),
        (b"-1\r\n", "a chunk does not begin with a line that gives its size"),
        (b"ffffffffffffffffff\r\n", "the size of a chunk is too large"),
    ],
)
async def test_a_malformed_chunk_ends_the_body(rig: Rig, junk: bytes, fault: str) -> None:
    sender = await rig.connect()
    await sender.send(CHUNKED + b"3\r\nabc\r\n")
    await rig.bodies_waited_for()
    await sender.send(junk)
    answer = await sender.response()
    assert (answer.status, answer.json()) == (400, {"error": "bad_request", "reason": f"Malformed HTTP: {fault}."})
    assert await sender.rest() == b""
    assert rig.sink.last_body in (b"abc", b"abcab")
    assert (rig.sink.last.complete, rig.sink.last.response_status) == (False, 400)


async def test_a_body_that_stands_still_is_ended(rig: Rig, clock: Clock) -> None:
    await rig.restart(body_idle_s=100, body_s=1_000)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
    for number, byte in enumerate(b"abcd", start=1):
        await sender.send(bytes((byte,)))
        await until(lambda number=number: rig.server.handler.body_memory.used == number)
        await clock.move_on(60)  # slow, but never still for long
    assert not rig.sink.captures
    await clock.move_on(60)
    assert (await sender.response()).status == 408
    assert await sender.rest() == b""
    assert (rig.sink.last_body, rig.sink.last.complete, rig.sink.last.response_status) == (b"abcd", False, 408)


async def test_a_body_that_drips_is_ended(rig: Rig, clock: Clock) -> None:
    await rig.restart(body_idle_s=1_000, body_s=100, body_rate=1)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n")
    for number in range(1, 7):  # after 20, 40, ... seconds; at 120 only 106 bytes' time has passed
        assert not rig.sink.captures
        await sender.send(b"x")
        await until(lambda number=number: rig.server.handler.body_memory.used == number)
        await clock.move_on(20)
    assert (await sender.response()).status == 408
    assert not rig.sink.last.complete
    assert rig.sink.last_body == b"x" * 6


async def test_a_slow_body_that_keeps_the_least_rate_is_taken(rig: Rig, clock: Clock) -> None:
    await rig.restart(body_idle_s=1_000, body_s=100, body_rate=1)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n")
    for _ in range(19):
        await sender.send(b"x" * 10)
        await clock.move_on(15)
    await sender.send(b"x" * 10)
    assert (await sender.response()).status == 200
    assert rig.sink.last.complete


async def test_time_spent_storing_is_not_the_senders(rig: Rig, clock: Clock) -> None:
    await rig.restart(body_idle_s=100, body_s=100, keepalive_s=100, head_s=100)
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (2 * PART_SIZE))
    await sender.send(bytes(PART_SIZE + 9))
    await until(lambda: rig.sink.writing)
    await clock.move_on(1_000)
    rig.sink.hold.set()
    await sender.send(bytes(PART_SIZE - 9))
    assert (await sender.response()).status == 200
    assert rig.sink.last.complete


async def test_a_sender_that_closes_its_side_after_the_request_gets_its_answers(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send((b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx") * 2)
    sender.half_close()
    assert (await sender.response()).status == 200
    assert (await sender.response()).status == 200
    assert await sender.rest() == b""
    assert all(capture.complete for capture in rig.sink.captures)


SECOND = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789"


@pytest.mark.parametrize(
    ("came", "status"), [(0, None), (20, 400), (len(SECOND) - 9, 400), (len(SECOND) - 4, 400), (len(SECOND), 200)]
)
@pytest.mark.parametrize("apart", [False, True])
async def test_a_second_request_cut_off_by_the_senders_end_is_answered_at_once(
    rig: Rig, came: int, status: int | None, apart: bool
) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    if apart:
        await sender.send(SECOND)
        await until(lambda: rig.sink.writing)
        await sender.send(SECOND[:came])
    else:
        await sender.send(SECOND + SECOND[:came])
    sender.half_close()
    await until(lambda: rig.sink.writing)
    await asyncio.sleep(0.02)
    rig.sink.hold.set()
    assert (await sender.response()).status == 200
    if status is not None:
        answer = await sender.response()
        assert answer.status == status
        assert status == 200 or "ended" in answer.json()["reason"]
    assert await sender.rest() == b""
    assert len(rig.sink.captures) + len(rig.refused.newest()) == (1 if status is None else 2)

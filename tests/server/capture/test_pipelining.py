"""Senders that send requests before they have the response to an earlier one: memory stays small, nothing is lost."""

from __future__ import annotations

import asyncio
import random

import pytest

from app.core.model import ResponseSettings
from app.server.capture import reader
from app.server.capture.connection import Connection
from app.server.capture.incoming_body import READ_MOST
from tests.server.capture.support import Clock, Rig, Sender, request
from tests.support import until

MIB = 1024 * 1024


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> dict[Connection, int]:
    """Bytes received by each connection so far."""
    by_connection: dict[Connection, int] = {}
    data_received = Connection.data_received

    def counted(self: Connection, data: bytes) -> None:
        by_connection[self] = by_connection.get(self, 0) + len(data)
        data_received(self, data)

    monkeypatch.setattr(Connection, "data_received", counted)
    return by_connection


async def test_a_sender_that_reads_no_response_is_read_no_faster_than_its_requests_are_handled(
    rig: Rig, received: dict[Connection, int]
) -> None:
    one = request(body=b"x" * 400)
    sender = await rig.connect()
    sender.writer.transport.pause_reading()
    sending = asyncio.create_task(sender.send(one * 4_000))
    most = 0

    def handled_enough() -> bool:
        nonlocal most
        most = max(most, sum(received.values()) - len(one) * len(rig.sink.captures))
        return len(rig.sink.captures) >= 1_000

    await until(handled_enough)
    assert most <= 3 * READ_MOST
    sending.cancel()
    sender.reset()


async def test_requests_sent_at_once_are_not_copied_for_each_other(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0

    class Counting(reader.HeadScan):
        def read(self, data: bytes) -> None:
            nonlocal parsed
            parsed += len(data)
            super().read(data)

    monkeypatch.setattr(reader, "HeadScan", Counting)
    data = request(body=b"x" * 100) * 500
    sender = await rig.connect()
    await sender.send(data)
    for _ in range(500):
        assert (await sender.response()).status == 200
    assert 0 < parsed <= 3 * len(data)


def various(number: int, dice: random.Random) -> tuple[bytes, bytes]:
    """A body, and its request: some chunked, some larger than what is read at once, some after stray line ends."""
    body = b"%d " % number + dice.randbytes(dice.choice((0, 10, 300, READ_MOST, 3 * READ_MOST)))
    if number % 3:
        return body, b"\r\n" * (number % 4) + request(body=body)
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    return body, b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


@pytest.mark.parametrize("cut", [False, True], ids=["as fast as it is taken", "cut anywhere"])
async def test_all_are_captured_as_sent_and_answered_in_order(rig: Rig, cut: bool) -> None:
    dice = random.Random(7)
    bodies, requests = zip(*(various(number, dice) for number in range(300)), strict=True)
    data = b"".join(requests)
    sender = await rig.connect()

    async def send() -> None:
        at = 0
        while at < len(data):
            size = dice.randrange(1, 2 * READ_MOST) if cut else len(data)
            await sender.send(data[at : at + size])
            at += size
        sender.half_close()

    sending = asyncio.create_task(send())
    ids = [(await sender.response()).json()["id"] for _ in bodies]
    await sending
    assert await sender.rest() == b""
    assert ids == [capture.id for capture in rig.sink.captures]
    assert [rig.sink.bodies[capture.seq] for capture in rig.sink.captures] == list(bodies)
    assert all(capture.complete for capture in rig.sink.captures)


async def test_requests_sent_ahead_leave_room_for_other_senders(rig: Rig) -> None:
    await rig.restart(pipelined=2)
    rig.sink.hold = first = asyncio.Event()
    ahead = [await rig.connect() for _ in range(5)]
    for sender in ahead:
        await sender.send(request() * 3)
    await until(lambda: rig.sink.writing == 5)
    rig.sink.hold = second = asyncio.Event()
    first.set()
    await until(lambda: len(rig.sink.captures) == 5 and rig.sink.writing == 2)
    other = await rig.connect()
    await other.send(request(body=b"other"))
    await until(lambda: rig.sink.writing == 3)
    second.set()
    for sender in (other, *ahead * 3):
        assert (await sender.response()).status == 200


async def test_a_response_that_is_delayed_holds_up_nobody_else(rig: Rig, clock: Clock) -> None:
    await rig.restart(pipelined=1)
    rig.directory.put("slow", response=ResponseSettings(delay_ms=30_000))
    slow = await rig.connect()
    await slow.send(request(path="/catch/slow") * 2)
    await until(lambda: rig.sink.captures)
    await clock.move_on(31)
    assert (await slow.response()).status == 200
    await until(lambda: len(rig.sink.captures) == 2)
    quick = await rig.connect()
    await quick.send(request() * 3)
    for _ in range(3):
        assert (await quick.response()).status == 200
    slow.reset()


async def test_little_is_read_of_a_body_that_waits_for_its_turn(rig: Rig, received: dict[Connection, int]) -> None:
    await rig.restart(pipelined=1)
    body = bytes(MIB)
    holds = [asyncio.Event() for _ in range(3)]
    ahead, long = [await rig.connect() for _ in range(2)]
    for sender, hold, data in (ahead, holds[0], request() * 2), (long, holds[1], request()):
        rig.sink.hold = hold
        writing = rig.sink.writing
        await sender.send(data)
        await until(lambda writing=writing: rig.sink.writing == writing + 1)
    connection = next(one for one in rig.server.connections if one.peer == long.writer.get_extra_info("sockname"))
    sending = asyncio.create_task(long.send(request(body=body)))
    await until(lambda: received[connection] > len(request()))
    rig.sink.hold = holds[2]
    holds[0].set()
    await until(lambda: rig.server.turns.locked() and rig.sink.writing == 2)
    holds[1].set()
    transport = connection.transport
    assert transport is not None
    await until(lambda: received[connection] > 2 * READ_MOST and not transport.is_reading())
    assert received[connection] <= 4 * READ_MOST
    holds[2].set()
    for sender in ahead, ahead, long, long:
        assert (await sender.response()).status == 200
    await sending
    assert rig.sink.last_body == body


@pytest.mark.parametrize("waits", ["for the rest of a body", "for its responses to be read"])
async def test_a_sender_that_is_waited_for_holds_up_nobody_else(rig: Rig, waits: str) -> None:
    await rig.restart(pipelined=1)
    rig.directory.put("big", response=ResponseSettings(body="x" * MIB))
    if waits == "for the rest of a body":
        slow = await rig.connect()
        await slow.send(request() + request(body=b"x" * 100)[:-1])
        await rig.bodies_waited_for()
    else:
        (slow,) = await unread(rig, 1)
        await until(lambda: rig.server.connections[0].unread)
    quick = await rig.connect()
    await quick.send(request() * 3)
    for _ in range(3):
        assert (await quick.response()).status == 200
    slow.reset()


async def test_who_sends_ahead_makes_room_for_a_new_sender_and_loses_nothing_acknowledged(rig: Rig) -> None:
    await rig.restart(connections=2)
    rig.sink.hold = asyncio.Event()
    ahead = [await rig.connect() for _ in range(2)]
    for number, sender in enumerate(ahead):
        await sender.send(b"".join(request(body=b"%d%d" % (number, own)) for own in range(3)))
        await until(lambda number=number: rig.sink.writing == number + 1)
    late = await rig.connect()
    await late.send(request(body=b"late"))
    await until(lambda: rig.sink.writing == 3)
    rig.sink.hold.set()
    assert (await late.response()).status == 200
    response = await ahead[0].response()
    assert (response.status, response.value("Connection")) == (200, "close")
    assert await ahead[0].rest() == b""
    for _ in range(3):
        assert (await ahead[1].response()).status == 200
    assert sorted(rig.sink.bodies.values()) == [b"00", b"10", b"11", b"12", b"late"]


async def test_a_malformed_request_behind_others_is_refused_after_them(rig: Rig) -> None:
    sender = await rig.connect()
    await sender.send(request(body=b"1") + request(body=b"2") + b"nonsense\r\n\r\n" + request(body=b"3"))
    assert [(await sender.response()).status for _ in range(3)] == [200, 200, 400]
    assert await sender.rest() == b""
    assert list(rig.sink.bodies.values()) == [b"1", b"2"]
    assert rig.refused.raw(1) == b"nonsense\r\n\r\n" + request(body=b"3")


async def unread(rig: Rig, number: int) -> list[Sender]:
    """Senders that wait for nothing, each with a response of 1 MB that it does not read."""
    senders = []
    for _ in range(number):
        sender = await rig.connect()
        sender.writer.transport.pause_reading()
        await sender.send(request(path="/catch/big") * 20)
        senders.append(sender)
    return senders


async def test_responses_that_nobody_reads_are_bounded_for_all_senders_together(rig: Rig) -> None:
    await rig.restart(response_memory=3 * MIB)
    rig.directory.put("big", response=ResponseSettings(body="x" * MIB))
    senders = await unread(rig, 16)
    await until(lambda: 0 < len(rig.server.connections) < 16)
    await until(lambda: all(one.unread for one in rig.server.connections))
    assert sum(one.transport.get_write_buffer_size() for one in rig.server.connections if one.transport) <= 3 * MIB
    response = await rig.ask(request(path="/catch/big"))
    assert (response.status, len(response.body)) == (200, MIB)
    for sender in senders:
        sender.reset()


async def test_a_slow_reader_gets_all_of_a_long_response(rig: Rig) -> None:
    await rig.restart(response_memory=2 * MIB)
    rig.directory.put("big", response=ResponseSettings(body="x" * MIB))
    (sender,) = await unread(rig, 1)
    await until(lambda: any(one.unread for one in rig.server.connections))
    sender.writer.transport.resume_reading()
    for _ in range(20):
        assert len((await sender.response()).body) == MIB
    assert not any(one.unread for one in rig.server.connections)

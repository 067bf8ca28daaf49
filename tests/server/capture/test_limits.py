"""What one sender may ask of the port, so that others still get through."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from app.core.model import PART_SIZE, ResponseSettings
from app.server.capture import handler
from app.server.capture.connection import PIECES_AT_ONCE
from app.server.capture.limits import EvictionStage
from app.server.capture.reader import ChunkedBody
from tests.server.capture.support import Clock, Rig, request
from tests.support import until


async def test_a_head_must_be_complete_in_time_however_it_trickles(rig: Rig, clock: Clock) -> None:
    await rig.restart(head_s=100)
    sender = await rig.connect()
    head = b"POST /catch/orders HTTP/1.1\r\n"
    await sender.send(head)
    for _ in range(4):
        await until(lambda head=head: [one.head for one in rig.server.connections] == [head])
        wait = rig.server.connections[0].waiting_for()
        assert wait is not None
        assert wait[0] is EvictionStage.HEAD
        await clock.move_on(30)
        head += b"X-A: b\r\n"
        await sender.send(b"X-A: b\r\n")
    assert (await sender.response()).status == 408
    assert await sender.rest() == b""
    assert rig.refusals() == [(408, "POST", "/catch/orders")]


async def test_a_second_head_must_be_complete_in_time_too(rig: Rig, clock: Clock) -> None:
    await rig.restart(head_s=20, keepalive_s=1_000)
    sender = await rig.connect()
    await sender.send(request())
    assert (await sender.response()).status == 200
    await clock.move_on(40)  # idle is allowed for longer than that
    await sender.send(b"GET ")
    await until(lambda: rig.server.connections[0].head)
    await clock.move_on(30)
    assert (await sender.response()).status == 408


async def test_a_connection_that_says_nothing_is_closed_without_a_word(rig: Rig) -> None:
    await rig.restart(head_s=0.1, sweep_s=0.05)
    sender = await rig.connect()
    assert await sender.rest() == b""
    assert rig.refusals() == []


async def test_an_idle_connection_is_closed(rig: Rig) -> None:
    await rig.restart(keepalive_s=0.2, sweep_s=0.05)
    sender = await rig.connect()
    await sender.send(request())
    await sender.response()
    assert await sender.rest() == b""


async def test_a_head_has_a_largest_size(rig: Rig) -> None:
    await rig.restart(head_bytes=100_000)
    sender = await rig.connect()
    await sender.send(b"GET /catch/orders HTTP/1.1\r\nHost: x\r\n")
    for _ in range(4):
        await sender.send(b"X-Long: " + b"x" * 30_000 + b"\r\n")
        await asyncio.sleep(0.01)
    answer = await sender.response()
    reason = "Malformed HTTP: the head is longer than 100,000 bytes."
    assert (answer.status, answer.json()) == (400, {"error": "bad_request", "reason": reason})
    assert rig.refusals() == [(400, "GET", "/catch/orders")]


async def test_many_and_long_headers_are_captured(rig: Rig) -> None:
    headers = "".join(f"X-{n}: {'v' * 100}\r\n" for n in range(500)) + f"X-Long: {'v' * 60_000}\r\n"
    assert (await rig.post(headers=headers)).status == 200
    assert len(rig.sink.last.headers) == 503


async def test_one_connection_too_many_is_told_so_while_all_others_are_at_work(rig: Rig) -> None:
    await rig.restart(connections=3)
    rig.sink.hold = asyncio.Event()
    senders = [await rig.connect() for _ in range(3)]
    for sender in senders:
        await sender.send(request())
    await until(lambda: rig.sink.writing == 3)
    for _ in range(5):
        late = await rig.connect()
        answer = await late.response()
        assert (answer.status, answer.json()) == (503, {"error": "too_many_connections"})
        assert answer.value("Retry-After")
        assert await late.rest() == b""
        await late.close()
    assert rig.refusals() == [(503, "", "")]  # a flood does not push all else out of the list
    rig.sink.hold.set()
    for sender in senders:
        assert (await sender.response()).status == 200
    assert (await rig.post()).status == 200


async def test_a_flood_of_connections_is_cut_off_and_leaves_nothing(rig: Rig) -> None:
    await rig.restart(connections=2, sweep_s=0.05, linger_s=0.1)
    rig.sink.hold = asyncio.Event()
    held = [await rig.connect() for _ in range(2)]
    for sender in held:
        await sender.send(request())
    await until(lambda: rig.sink.writing == 2)
    flood = [await rig.connect() for _ in range(150)]
    for sender in flood:
        await sender.rest()
        await sender.close()
    rig.sink.hold.set()
    for sender in held:
        assert (await sender.response()).status == 200
        await sender.close()
    await until(lambda: not rig.server.connections)
    assert (await rig.post()).status == 200


async def test_a_sender_that_never_reads_is_let_go(rig: Rig) -> None:
    await rig.restart(body_idle_s=0.2, sweep_s=0.05)
    rig.directory.put("big", response=ResponseSettings(body="x" * 1_000_000))
    sender = await rig.connect()
    sender.writer.transport.pause_reading()
    await sender.send(request(path="/catch/big") * 60)
    await until(lambda: rig.sink.captures and not rig.server.connections)
    assert len(rig.sink.captures) < 60


async def test_others_have_their_turn_between_small_chunks(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    feed = ChunkedBody.feed

    def watched(self: ChunkedBody, data: bytes, at: int = 0) -> tuple[bytes, int]:
        part, end = feed(self, data, at)
        sizes.append(len(part))
        return part, end

    monkeypatch.setattr(ChunkedBody, "feed", watched)
    body = bytes(range(256)) * 40
    chunks = b"".join(b"1;x\r\n%c\r\n" % byte for byte in body) + b"0\r\nT: 1\r\n\r\n"
    sender = await rig.connect()
    for _ in range(2):
        await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    for _ in range(2):
        assert (await sender.response()).status == 200
    assert list(rig.sink.bodies.values()) == [body, body]
    assert rig.sink.last.trailers == (("T", "1"),)
    assert 0 < max(sizes) <= PIECES_AT_ONCE // 3 + 1


async def test_who_goes_on_sending_after_a_refusal_is_cut_off(rig: Rig) -> None:
    await rig.restart(linger_s=0.2, sweep_s=0.05)
    rig.settings.override(body_limit=1024)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n")
    assert (await sender.response()).status == 413

    async def pour() -> None:
        while True:
            await sender.send(bytes(10_000))
            await asyncio.sleep(0.01)

    try:
        async with asyncio.timeout(5):
            await pour()
    except ConnectionError:
        pass
    await until(lambda: not rig.server.connections)


async def test_a_large_body_that_waits_for_the_store_is_in_memory_once(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    senders = [await rig.connect() for _ in range(4)]
    head = f"POST /catch/orders HTTP/1.1\r\nHost: t\r\nContent-Length: {4 * PART_SIZE}\r\n\r\n"
    tracemalloc.start()
    try:
        for sender in senders:
            await sender.send(head.encode() + bytes(PART_SIZE + 65_536))
        await until(lambda: rig.sink.writing == len(senders))
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, handler.__file__)])
    finally:
        tracemalloc.stop()
    held = sum(trace.size for trace in ours.traces)
    assert PART_SIZE * len(senders) <= held < 1.5 * PART_SIZE * len(senders)
    rig.sink.hold.set()
    for sender in senders:
        await sender.close()

"""All connections are in use and a new sender comes: who makes room for it."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from functools import partial

import pytest

from app.core.model import PART_SIZE, ResponseSettings
from app.server import listening
from app.server.capture import limits
from app.server.capture.connection import Connection
from app.server.capture.limits import EvictionStage, Limits, sender_of
from app.server.capture.reader import Incoming
from tests.server.capture.support import Rig, Sender, request
from tests.support import until

HEAD = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\n"
BODY = request(body=b"x" * 5_000)[:-2_000]
CROWDED = {"error": "too_many_connections"}
several_addresses = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.1 is the only such address")


@pytest.fixture(autouse=True)
async def no_sender_is_waited_for(rig: Rig) -> AsyncIterator[None]:
    """A stop of the server would give unfinished bodies a second to come to their end."""
    yield
    for sender in rig.senders:
        await sender.close()


async def held(rig: Rig, *sent: bytes, address: str | None = None) -> list[Sender]:
    """Connections in this order, each with what it sent; whole requests are answered."""
    senders = []
    for data in sent:
        sender = await rig.connect(address)
        await sender.send(data)
        if data == request():
            await sender.response()
        else:
            await until(partial(has_come, rig, sender, EvictionStage.BODY if data == BODY else EvictionStage.HEAD))
        senders.append(sender)
    return senders


def has_come(rig: Rig, sender: Sender, stage: EvictionStage) -> bool:
    own = sender.writer.get_extra_info("sockname")
    waits = [connection.waiting_for() for connection in rig.server.connections if connection.peer == own]
    return bool(waits and waits[0] and waits[0][0] is stage)


async def is_open(sender: Sender) -> bool:
    """Whether the server has neither answered nor closed."""
    await asyncio.sleep(0.02)
    return not sender.reader.at_eof() and not sender.reader._buffer  # type: ignore[attr-defined]


async def test_512_idle_connections_shut_nobody_out(rig: Rig) -> None:
    assert rig.server.limits == Limits()
    idle = [await rig.connect() for _ in range(512)]
    for sender in idle:
        await sender.send(request())
    for sender in idle:
        await sender.response()
    await idle[0].send(request())
    assert (await idle[0].response()).status == 200
    assert (await rig.post()).status == 200
    assert await idle[1].rest() == b""
    await idle[0].send(request())
    assert (await idle[0].response()).status == 200
    assert rig.refusals() == []


async def test_a_slow_head_makes_room_however_it_trickles(rig: Rig) -> None:
    await rig.restart(connections=3)
    first, second, third = await held(rig, HEAD, HEAD, b"")
    await first.send(b"X-A: b\r\n")
    assert (await rig.post()).status == 200
    answer = await first.response()
    assert (answer.status, answer.json()) == (503, CROWDED)
    assert await first.rest() == b""
    assert await is_open(second)
    assert await is_open(third)
    assert rig.refusals() == [(503, "POST", "/catch/orders")]


async def test_a_connection_that_has_said_nothing_makes_room(rig: Rig) -> None:
    await rig.restart(connections=2)
    first, _ = await held(rig, b"", b"")
    assert (await rig.post()).status == 200
    assert (await first.response()).status == 503


async def test_a_slow_body_makes_room_and_what_came_is_stored(rig: Rig) -> None:
    await rig.restart(connections=2)
    first, second = await held(rig, BODY, BODY)
    await first.send(b"y")  # a byte is no progress
    assert (await rig.post()).status == 200
    answer = await first.response()
    assert (answer.status, answer.json()) == (503, CROWDED)
    cut = next(capture for capture in rig.sink.captures if not capture.complete)
    assert rig.sink.bodies[cut.seq] == b"x" * 3_000 + b"y"
    assert cut.response_status == 503
    assert len(rig.sink.captures) == 2
    await second.send(b"x" * 2_000)
    assert (await second.response()).status == 200


async def test_a_body_that_goes_on_is_kept_before_one_that_stopped(rig: Rig) -> None:
    await rig.restart(connections=2)
    first, second = await held(rig, BODY, BODY)
    (connection, _) = rig.server.connections
    began = connection.waiting_for()
    await first.send(b"x" * 1_998)
    await until(lambda: connection.waiting_for() != began)
    assert (await rig.post()).status == 200
    assert (await second.response()).status == 503
    await first.send(b"x" * 2)
    assert (await first.response()).status == 200


async def test_idle_ones_go_before_heads_and_heads_before_bodies(rig: Rig) -> None:
    await rig.restart(connections=3)
    body, head, idle = await held(rig, BODY, HEAD, request())
    late = await held(rig, HEAD)
    assert await idle.rest() == b""
    assert await is_open(head)
    await held(rig, BODY, BODY)
    assert (await head.response()).status == 503
    assert (await late[0].response()).status == 503
    assert await is_open(body)


async def test_a_sender_that_does_not_read_its_answers_makes_room(rig: Rig) -> None:
    await rig.restart(connections=1)
    rig.directory.put("big", response=ResponseSettings(body="x" * 1_000_000))
    sender = await rig.connect()
    sender.writer.transport.pause_reading()
    await sender.send(request(path="/catch/big") * 60)
    await until(lambda: rig.server.connections[0].writing_paused)
    assert (await rig.post()).status == 200
    sender.writer.transport.resume_reading()
    assert len(await sender.rest()) < 60_000_000


async def test_a_refused_sender_that_lingers_makes_room(rig: Rig) -> None:
    await rig.restart(connections=1, linger_s=600)
    rig.settings.override(body_limit=10)
    sender = await rig.connect()
    await sender.send(BODY)
    assert (await sender.response()).status == 413
    rig.settings.override(body_limit=100)
    assert (await rig.post()).status == 200
    await until(lambda: not rig.server.connections)


async def test_a_request_that_is_complete_is_never_given_up(rig: Rig) -> None:
    await rig.restart(connections=2)
    rig.sink.hold = asyncio.Event()
    first, second = [await rig.connect() for _ in range(2)]
    await first.send(request(body=b"whole"))
    await second.send(BODY)
    await second.send(b"x" * 2_000)
    await until(lambda: rig.sink.writing == 2)
    late = await rig.connect()
    assert (await late.response()).status == 503
    assert await is_open(first)
    assert await is_open(second)
    rig.sink.hold.set()
    await until(lambda: len(rig.sink.captures) == 2)
    assert all(capture.complete for capture in rig.sink.captures)


async def test_a_body_in_small_chunks_is_not_given_up_while_a_part_of_it_is_stored(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    begun = b"%x\r\n%b\r\n" % (PART_SIZE - 9, bytes(PART_SIZE - 9)) + b"1\r\n\0\r\n" * 1_000
    sending = asyncio.create_task(sender.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + begun))
    await until(lambda: rig.sink.writing)
    assert rig.server.connections[0].waiting_for() is None
    rig.sink.hold.set()
    await sending
    await sender.send(b"0\r\n\r\n")
    assert (await sender.response()).status == 200
    assert rig.sink.last_body == bytes(PART_SIZE + 991)


async def test_a_response_that_is_delayed_comes_at_once_to_make_room(rig: Rig) -> None:
    await rig.restart(connections=2)
    rig.directory.put("orders", response=ResponseSettings(delay_ms=30_000))
    rig.directory.put("quick")
    first, second = [await rig.connect() for _ in range(2)]
    await first.send(request())
    await until(lambda: len(rig.sink.captures) == 1)
    await second.send(request())
    await until(lambda: len(rig.sink.captures) == 2)
    late = await rig.connect()
    await late.send(request(path="/catch/quick"))
    assert (await late.response()).status == 200
    assert (await first.response()).status == 200
    assert await is_open(second)


async def test_many_short_headers_count_as_what_they_take_in_memory(rig: Rig) -> None:
    await rig.restart(head_memory=200_000)
    headers = "".join(f"a{number}: \r\n" for number in range(300))
    begun = request(body=b"x" * 100, headers=headers)[:-1]
    senders = [await rig.connect() for _ in range(4)]
    for sender in senders:
        await sender.send(begun)
    assert 503 in {(await sender.response()).status for sender in senders[:3]}


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_closed_connection_leaves_nothing_behind(rig: Rig, cut_off: bool) -> None:
    rig.sink.hold = asyncio.Event()
    gc.collect()
    gc.disable()
    try:
        senders = [await rig.connect() for _ in range(5)]
        for sender in senders:
            whole = request(path="/catch/orders" if cut_off else "/catch/nobodys", body=b"x" * 10)
            await sender.send(whole if cut_off else whole[:-1])
        await until(lambda: (rig.sink.writing == 5 or rig.refusals()) and len(rig.server.connections) == 5)
        if cut_off:
            await rig.server.stop(grace_s=0)
        for sender in senders:
            await sender.close()
        await until(lambda: not rig.server.connections)
        for kind in Incoming, Connection:
            kept = [one for one in gc.get_objects() if isinstance(one, kind)]
            assert len(kept) <= 1  # the last one may still be in a frame of the loop
    finally:
        gc.enable()


@several_addresses
async def test_the_address_with_the_most_connections_makes_room(rig: Rig) -> None:
    await rig.restart(connections=4)
    (other,) = await held(rig, HEAD, address="127.0.0.2")
    first, *_ = await held(rig, BODY, BODY, BODY)
    late = await rig.connect("127.0.0.3")
    await late.send(request())
    assert (await late.response()).status == 200
    assert (await first.response()).status == 503
    assert await is_open(other)


@several_addresses
async def test_an_address_with_its_share_takes_no_other_address_s_place(rig: Rig) -> None:
    await rig.restart(connections=4)
    idle, head = await held(rig, request(), HEAD, address="127.0.0.2")
    await held(rig, BODY, BODY)
    await held(rig, *[HEAD, BODY] * 10)
    assert await is_open(idle)
    assert await is_open(head)


@several_addresses
async def test_one_address_may_use_all_while_no_other_is_there(rig: Rig) -> None:
    await rig.restart(connections=4)
    senders = await held(rig, HEAD, HEAD, HEAD, HEAD)
    for sender in senders:
        assert await is_open(sender)


async def test_hundreds_of_slow_bodies_are_cut_one_by_one_and_all_stored(rig: Rig) -> None:
    await rig.restart(connections=8)
    await held(rig, *[BODY] * 40)
    await until(lambda: len(rig.sink.captures) == 32)
    assert all(not capture.complete for capture in rig.sink.captures)
    assert (await rig.post()).status == 200


@pytest.mark.parametrize("complete", [False, True], ids=["heads", "bodies behind long heads"])
async def test_the_longest_heads_are_given_up_when_all_together_are_too_long(rig: Rig, complete: bool) -> None:
    await rig.restart(head_memory=500_000)
    head = HEAD + b"Content-Length: 9\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"v" * 1_000) for n in range(100))
    (short,) = await held(rig, HEAD)
    senders = [await rig.connect() for _ in range(20)]
    for sender in senders:
        await sender.send(head)
        if complete:
            await sender.send(b"\r\nx")
        await asyncio.sleep(0)
    await until(lambda: sum(sender.reader.at_eof() or bool(sender.reader._buffer) for sender in senders) >= 15)
    assert sum(connection.head_memory_used for connection in rig.server.connections) <= 500_000
    kept = [sender for sender in senders if await is_open(sender)]
    assert kept
    for sender in kept:
        await sender.send(b"23456789" if complete else b"\r\n123456789")
        assert (await sender.response()).status == 200
    assert await is_open(short)
    assert sum(connection.head_memory_used for connection in rig.server.connections) <= len(HEAD)
    assert all(capture.complete for capture in rig.sink.captures) is not complete


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%lo", "fe80::2", True),
    ],
)
def test_an_address_of_ipv6_is_its_network(one: str, other: str, same: bool) -> None:
    assert (sender_of(one) == sender_of(other)) is same


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_connections_leave_files_to_the_rest_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((256, 128), (1_024, 512), (100_000, 512), (listening.resource.RLIM_INFINITY, 512)):
        monkeypatch.setattr(listening.resource, "getrlimit", lambda _, files=files: (files, files))
        assert limits.affordable(512) == most

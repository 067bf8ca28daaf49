"""Bodies that are not complete yet: in memory there is little of them all together, and nothing is lost for it."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from app.core.errors import StorageUnavailableError
from app.core.model import PART_SIZE
from app.server.capture import incoming_body
from app.server.capture.connection import Connection
from app.server.capture.incoming_body import READ_MOST, BodyMemory
from tests.server.capture.support import Clock, Rig, Sender, request
from tests.support import until

LIMIT = 256 * 1024


@pytest.fixture
def most_held(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Tells the most bytes that were held at once."""
    seen = [0]
    add = BodyMemory.add

    def watched(self: BodyMemory, size: int) -> None:
        add(self, size)
        seen[0] = max(seen[0], self.used)

    monkeypatch.setattr(BodyMemory, "add", watched)
    return lambda: seen[0]


def bodies(*sizes: int) -> list[bytes]:
    return [random.Random(number).randbytes(size) for number, size in enumerate(sizes)]


async def begin(rig: Rig, data: list[bytes]) -> tuple[list[Sender], list[asyncio.Task[None]]]:
    """Send these side by side, as fast as they are taken."""
    senders = [await rig.connect() for _ in data]
    sending = [asyncio.create_task(sender.send(one)) for sender, one in zip(senders, data, strict=True)]
    return senders, sending


async def test_bodies_without_their_last_byte_are_not_in_memory(rig: Rig, most_held: Callable[[], int]) -> None:
    await rig.restart(body_memory=LIMIT)
    sent = bodies(*[300_000] * 12)
    senders, sending = await begin(rig, [request(body=body)[:-1] for body in sent])
    await asyncio.gather(*sending)
    total = sum(len(body) - 1 for body in sent)
    await until(lambda: sum(rig.sink.part_sizes) + rig.server.handler.body_memory.used == total)
    await until(lambda: rig.server.handler.body_memory.used <= LIMIT)
    assert most_held() <= LIMIT + len(senders) * READ_MOST
    assert not rig.sink.captures
    for sender, body in zip(senders, sent, strict=True):
        await sender.send(body[-1:])
        assert (await sender.response()).status == 200
        assert rig.sink.last_body == body
        assert rig.sink.last.sha256 == hashlib.sha256(body).hexdigest()
        assert rig.sink.last.size == len(body)
    assert rig.server.handler.body_memory.used == 0
    assert not rig.sink.parts
    await senders[0].send(request(body=sent[1]))
    assert (await senders[0].response()).status == 200


async def test_a_storage_limit_met_by_a_part_is_for_its_own_sender(rig: Rig) -> None:
    await rig.restart(body_memory=LIMIT)
    sent = bodies(400_000, 400_000, 400_000)
    rig.sink.over_limit.add(sent[0][:100])
    (first, *others), sending = await begin(rig, [request(body=body) for body in sent])
    assert (await first.response()).status == 503
    for sender in others:
        assert (await sender.response()).status == 200
    await asyncio.gather(*sending, return_exceptions=True)
    assert sorted(rig.sink.bodies.values()) == sorted(sent[1:])
    assert rig.server.handler.body_memory.used == 0


async def test_while_memory_is_short_parts_are_shorter(rig: Rig) -> None:
    await rig.restart(body_memory=LIMIT)
    sent = bodies(PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 3 * PART_SIZE + 5, 200_000)
    senders, sending = await begin(rig, [request(body=body) for body in sent])
    await asyncio.gather(*sending, *(sender.response() for sender in senders))
    assert sorted(rig.sink.bodies.values()) == sorted(sent)
    assert incoming_body.PART_LEAST <= min(rig.sink.part_sizes) <= LIMIT
    assert rig.server.handler.body_memory.used == 0


async def test_a_small_number_of_bodies_is_stored_in_full_parts(rig: Rig) -> None:
    sent = bodies(*[PART_SIZE + 1] * 4)
    senders, sending = await begin(rig, [request(body=body) for body in sent])
    await asyncio.gather(*sending, *(sender.response() for sender in senders))
    assert rig.sink.part_sizes == [PART_SIZE] * 4


async def test_senders_wait_unread_for_a_slow_store_and_are_not_blamed(
    rig: Rig, clock: Clock, most_held: Callable[[], int]
) -> None:
    await rig.restart(body_memory=LIMIT, body_idle_s=100, body_s=100)
    rig.sink.hold = asyncio.Event()
    sent = bodies(*[400_000] * 6)
    senders, sending = await begin(rig, [request(body=body) for body in sent])
    await until(lambda: rig.server.handler.body_memory.used > LIMIT and rig.sink.writing)
    await clock.move_on(1_000)
    assert most_held() <= LIMIT + len(senders) * READ_MOST
    rig.sink.hold.set()
    await asyncio.gather(*sending)
    for sender in senders:
        assert (await sender.response()).status == 200
    assert sorted(rig.sink.bodies.values()) == sorted(sent)
    assert most_held() <= LIMIT + len(senders) * READ_MOST


async def test_when_nothing_can_be_stored_senders_are_told_and_memory_is_free(rig: Rig) -> None:
    await rig.restart(body_memory=LIMIT)
    (idle,), _ = await begin(rig, [request(body=bytes(200_000))[:-1]])
    await until(lambda: rig.server.handler.body_memory.used == 199_999)
    rig.sink.fail_with = StorageUnavailableError("The disk is full.")
    senders, sending = await begin(rig, [request(body=bytes(300_000)) for _ in range(6)])
    for sender in senders:
        assert (await sender.response()).json() == {"error": "storage_unavailable"}
    await asyncio.gather(*sending, return_exceptions=True)
    assert rig.server.handler.body_memory.used <= LIMIT
    rig.sink.fail_with = None
    await idle.send(b"\0")
    assert (await idle.response()).status == 200
    assert rig.sink.last_body == bytes(200_000)
    assert rig.server.handler.body_memory.used == 0
    assert not rig.sink.parts


async def test_what_is_stored_is_kept_or_dropped_as_the_rest(rig: Rig) -> None:
    await rig.restart(body_memory=LIMIT)
    rig.settings.override(body_limit=250_000)
    chunked = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n" + bytes(200_000)
    senders, sending = await begin(rig, [chunked] * 6)
    await asyncio.gather(*sending)
    await until(lambda: len(rig.sink.parts) >= 5 and rig.server.handler.body_memory.used <= LIMIT)
    for sender in senders[:3]:
        await sender.close()
    await until(lambda: len(rig.sink.captures) == 3)
    assert list(rig.sink.bodies.values()) == [bytes(200_000)] * 3
    assert not any(capture.complete for capture in rig.sink.captures)
    for sender in senders[3:]:
        await sender.send(b"\r\n30d40\r\n" + bytes(200_000))
        assert (await sender.response()).status == 413
    assert not rig.sink.parts
    assert rig.server.handler.body_memory.used == 0


async def test_a_stop_ends_senders_that_wait_for_the_store(rig: Rig) -> None:
    await rig.restart(body_memory=LIMIT)
    rig.sink.hold = asyncio.Event()
    _, sending = await begin(rig, [request(body=bytes(300_000)) for _ in range(6)])
    await until(lambda: rig.sink.writing)
    await rig.server.stop(0.05)
    assert rig.server.connections == []
    assert rig.server.handler.body_memory.used == 0
    await asyncio.gather(*sending, return_exceptions=True)


async def test_memory_goes_back_to_the_system_once_the_rush_is_over(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    trimmed: list[bool] = []
    loop, trim = asyncio.get_running_loop(), incoming_body.trim
    run_in_executor = loop.run_in_executor

    def watched() -> None:
        trim()
        trimmed.append(True)

    def watched_start(executor: Any, call: Callable[..., Any], *values: Any) -> asyncio.Future[Any]:
        if call is watched:  # what is in memory now; more may come before another thread has trimmed it
            begun.append(rig.server.handler.body_memory.used)
        return run_in_executor(executor, call, *values)

    monkeypatch.setattr(incoming_body, "trim", watched)
    monkeypatch.setattr(loop, "run_in_executor", watched_start)
    await rig.restart(body_memory=LIMIT)
    assert (await rig.post(bytes(200_000))).status == 200
    senders, sending = await begin(rig, [request(body=bytes(300_000)) for _ in range(6)])
    await asyncio.gather(*sending, *(sender.response() for sender in senders))
    await until(lambda: trimmed and len(trimmed) == len(begun))
    assert max(begun) <= LIMIT // 8


async def test_little_is_read_from_each_sender_at_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    received = Connection.data_received

    def watched(self: Connection, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    monkeypatch.setattr(Connection, "data_received", watched)
    assert (await rig.post(bytes(2 * PART_SIZE))).status == 200
    assert max(sizes) == READ_MOST

"""In which order a worker marks deliveries as begun, sends them and stores what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from app.core.delivery import Attempt, Delivery, FailureKind
from app.core.model import DeliveryState
from app.db.deliveries.deliveries import Deliveries
from app.server.forward import lazy_sender
from tests.db.helpers import query
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Received, answering, silent, target

ERROR = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"


class Queue:
    """The real queue, which notes what is stored, and stores results only while `open`."""

    def __init__(self, stage: Stage) -> None:
        self._real = stage.store.deliveries
        self.open = asyncio.Event()
        self.open.set()
        self.asked = asyncio.Event()
        self.told: list[str] = []
        self.limits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def queued(self, target_id: int, limit: int, **others: Any) -> Any:
        self.limits.append(limit)
        return await self._real.queued(target_id, limit, **others)

    async def finish(self, delivery: Delivery, made: Sequence[tuple[Attempt, bytes]], **others: Any) -> bool:
        self.told.append(delivery.captured_target)
        self.asked.set()
        await self.open.wait()
        return await self._real.finish(delivery, made, **others)


@pytest.fixture
def queue(stage: Stage) -> Queue:
    queue = Queue(stage)
    stage.forwarder = stage.new_forwarder(cast(Deliveries, queue))
    return queue


def begun(folder: Path) -> int:
    ((number,),) = query(folder, "SELECT count(*) FROM delivery WHERE sending_at IS NOT NULL")
    return int(number)


async def test_what_is_sent_in_order_has_begun_on_disk_and_nothing_else(stage: Stage) -> None:
    seen = []

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        seen.append(query(stage.folder, "SELECT id FROM delivery WHERE sending_at IS NOT NULL ORDER BY seq"))
        writer.write(OK)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.capture_many(endpoint, 120)
        ids = [(one.delivery.id,) for one in await stage.store.deliveries.queued(endpoint.targets[0].id, 200)]
        await stage.forwarder.start()
        await stage.outcomes(120)
    assert len(seen) == 120
    assert seen == [[name] for name in ids]
    assert begun(stage.folder) == 0


async def test_nothing_is_sent_while_a_result_is_stored(stage: Stage, queue: Queue) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        for number in range(5):
            await stage.capture(endpoint, target=f"/catch/s/{number}")
        queue.open.clear()
        await stage.forwarder.start()
        await queue.asked.wait()
        await asyncio.gather(*(stage.capture(endpoint, target="/catch/s/later") for _ in range(20)))
        assert len(place.received) == 1
        assert queue.told == ["/catch/s/0"]
        queue.open.set()
        await stage.outcomes(25)
    assert [received.line.split()[1] for received in place.received[:5]] == [f"/{number}" for number in range(5)]


async def test_a_failure_is_stored_before_the_next_is_sent(stage: Stage, queue: Queue) -> None:
    async with target(answering(ERROR)) as place:
        endpoint = await stage.endpoint(place.url, {"pause_after": 3})
        for _ in range(10):
            await stage.capture(endpoint)
        await stage.forwarder.start()
        await stage.outcomes(3)
        await stage.forwarder.stop()
    assert len(place.received) == 3, "the target was paused"
    assert begun(stage.folder) == 0
    assert len(await stage.queued(endpoint)) == 7


async def test_a_stop_interrupts_only_the_one_that_hangs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 0.05)
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url)
        captures = [await stage.capture(endpoint) for _ in range(3)]
        await stage.forwarder.start()
        await place.arrival()
        assert begun(stage.folder) == 1
        await stage.close()
    await stage.open()
    tried = [await stage.store.deliveries.of_capture(capture.id) for capture in captures]
    assert [delivery.attempts for (delivery,) in tried] == [1, 0, 0]
    (attempt,) = await stage.attempts(tried[0][0])
    assert attempt.failure is FailureKind.INTERRUPTED


async def test_a_request_deleted_while_the_one_before_is_sent_is_not_sent(stage: Stage) -> None:
    deleted = asyncio.Event()

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        await deleted.wait()
        writer.write(OK)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        captures = [await stage.capture(endpoint, target=f"/catch/s/{number}") for number in range(4)]
        await stage.forwarder.start()
        await place.arrival()
        await stage.store.captures.delete([captures[1].id, captures[2].id])
        deleted.set()
        await stage.outcomes(2)
    assert [event.delivery.captured_target for event in stage.told] == ["/catch/s/0", "/catch/s/3"]
    assert [received.line.split()[1] for received in place.received] == ["/0", "/3"]


@pytest.mark.slow
async def test_the_queue_is_read_ahead_and_nothing_is_sent_twice(stage: Stage, queue: Queue) -> None:
    for parallel in (None, 1, 8):
        async with target() as place:
            endpoint = await stage.endpoint(place.url, {"parallel": parallel})
            before = len(stage.told)
            await stage.capture_many(endpoint, 330)
            await stage.forwarder.start()
            await stage.outcomes(before + 330)
        paths = [received.line.split()[1] for received in place.received]
        assert sorted(paths) == sorted(f"/{number}" for number in range(330))
        assert parallel == 8 or paths == [f"/{number}" for number in range(330)]
    assert {event.state for event in stage.told} == {DeliveryState.DELIVERED}
    assert max(queue.limits) <= 200

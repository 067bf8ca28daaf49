"""Several deliveries at once: results are stored together, and how far that may go ahead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from app.core.delivery import Attempt, Delivery, FailureKind
from app.core.errors import StorageUnavailableError
from app.core.model import DeliveryState, Endpoint
from app.core.target import RetryRule
from app.db.deliveries.deliveries import Deliveries
from app.server.forward import lazy_sender
from tests.db.helpers import query
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Received, Target, target
from tests.support import until

Ended = Sequence[tuple[Delivery, Sequence[tuple[Attempt, bytes]]]]


class Queue:
    """The real queue; `before` is awaited before results are stored."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._real = stage, stage.store.deliveries
        self.before: Callable[[Ended], Awaitable[object]] | None = None
        self.groups: list[int] = []
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def finish(self, delivery: Delivery, made: Sequence[tuple[Attempt, bytes]], **others: Any) -> bool:
        await self._look([(delivery, made)])
        return await self._real.finish(delivery, made, **others)

    async def finish_all(self, ended: Ended, **others: Any) -> set[str]:
        await self._look(ended)
        return await self._real.finish_all(ended, **others)

    async def _look(self, ended: Ended) -> None:
        if ended and self.before is not None:
            await self.before(ended)
        self.groups.append(len(ended))
        self.most = max(self.most, begun(self._stage))


@pytest.fixture
def queue(stage: Stage) -> Queue:
    queue = Queue(stage)
    stage.forwarder = stage.new_forwarder(cast(Deliveries, queue))
    return queue


class Gate:
    """A target that responds only while it is open."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.open = asyncio.Event()
        if is_open:
            self.open.set()

    async def __call__(self, _: Received, writer: asyncio.StreamWriter) -> None:
        await self.open.wait()
        writer.write(OK)


def begun(stage: Stage) -> int:
    ((number,),) = query(stage.folder, "SELECT count(*) FROM delivery WHERE sending_at IS NOT NULL")
    return int(number)


def paths(place: Target) -> Counter[str]:
    return Counter(received.line.split()[1] for received in place.received)


def once(number: int) -> Counter[str]:
    return Counter(f"/{each}" for each in range(number))


async def attempts(stage: Stage, endpoint: Endpoint) -> list[tuple[str, int, int]]:
    return query(
        stage.folder,
        "SELECT state, attempts, (SELECT count(*) FROM attempt WHERE delivery_seq = delivery.seq) FROM delivery"
        " WHERE endpoint_id = ? ORDER BY seq",
        endpoint.id,
    )


@pytest.mark.parametrize(("parallel", "most"), [(1, 8), (2, 16), (8, 64), (40, 64)])
async def test_a_slow_store_lets_only_so_many_begin(stage: Stage, queue: Queue, parallel: int, most: int) -> None:
    async with target() as place:

        async def all_sent(_: Ended) -> None:
            """The store is so slow that all that has begun is sent meanwhile."""
            ((sent,),) = query(stage.folder, "SELECT count(*) FROM delivery WHERE sending_at IS NOT NULL OR attempts")
            await place.arrival(sent)

        queue.before = all_sent
        endpoint = await stage.endpoint(place.url, {"parallel": parallel})
        await stage.capture_many(endpoint, 200)
        await stage.forwarder.start()
        await stage.outcomes(200)
    assert parallel < queue.most <= most
    assert max(queue.groups) > parallel // 2
    assert paths(place) == once(200)
    assert begun(stage) == 0


async def test_of_a_target_that_hangs_no_more_begin_than_are_sent(stage: Stage) -> None:
    gate = Gate()
    async with target(gate) as place:
        endpoint = await stage.endpoint(place.url, {"parallel": 3})
        await stage.capture_many(endpoint, 20)
        await stage.forwarder.start()
        await place.arrival(3)
        assert begun(stage) == 3
        gate.open.set()
        await stage.outcomes(20)
    assert paths(place) == once(20)


async def test_after_a_kill_all_without_a_stored_result_are_interrupted(
    stage: Stage, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 0.05)
    stuck = asyncio.Event()

    async def hang(_: Ended) -> None:
        if len(place.received) >= 30:
            stuck.set()
            await asyncio.Event().wait()

    async with target() as place:
        queue.before = hang
        endpoint = await stage.endpoint(place.url, {"parallel": 8})
        await stage.capture_many(endpoint, 100)
        await stage.forwarder.start()
        await stuck.wait()
        await stage.close()
        sent, stored = len(place.received), len(stage.told)
        marked = begun(stage)
        assert sent - stored <= marked <= 64
        await stage.open()
        tried = await attempts(stage, endpoint)
        interrupted = [made for state, made, _ in tried if state == "queued" and made]
        assert interrupted == [1] * marked
        assert sum(made for _, made, _ in tried) == stored + marked
        await stage.forwarder.start()
        await stage.outcomes(100)
        (first, *_) = await stage.attempts(next(event.delivery for event in stage.told if event.delivery.attempts > 1))
        assert first.failure is FailureKind.INTERRUPTED
    assert {state for state, _, _ in await attempts(stage, endpoint)} == {"delivered"}
    assert set(paths(place)) == set(once(100))


@pytest.mark.parametrize("how", ["stop", "pause", "off", "in order", "delete"])
async def test_what_has_begun_and_is_not_sent_is_queued_again(
    stage: Stage, queue: Queue, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 20.0)
    gate, storing = Gate(is_open=True), asyncio.Event()

    async def close_the_gate(_: Ended) -> None:
        if len(place.received) >= 20 and not storing.is_set():
            gate.open.clear()
            storing.set()

    async with target(gate) as place:
        queue.before = close_the_gate
        endpoint = await stage.endpoint(place.url, {"parallel": 4, "timeout_ms": 60_000})
        await stage.capture_many(endpoint, 60)
        (first,) = endpoint.targets
        await stage.forwarder.start()
        await storing.wait()
        await until(lambda: begun(stage) > 4)  # some wait for a lane
        changing = asyncio.create_task(change(stage, first.id, how))
        told = lambda: sum(event.delivery.attempts > 0 for event in stage.told)  # noqa: E731
        await until(lambda: begun(stage) <= 4 and len(place.received) == told() + begun(stage))
        sent = len(place.received)
        gate.open.set()
        await changing
        if how == "in order":
            await stage.outcomes(60)
            assert [received.line.split()[1] for received in place.received[sent:]] == [
                f"/{number}" for number in range(60) if f"/{number}" not in paths_of(place.received[:sent])
            ]
        else:
            await until(lambda: begun(stage) == 0)
            assert len(place.received) == sent
            tried = await attempts(stage, endpoint)
            assert sum(made for _, made, _ in tried) == sum(stored for *_, stored in tried) == sent
        assert max(paths(place).values()) == 1


def paths_of(received: Sequence[Received]) -> set[str]:
    return {one.line.split()[1] for one in received}


async def change(stage: Stage, target_id: int, how: str) -> None:
    targets = stage.store.targets
    found = targets.by_id(target_id)
    assert found is not None
    if how == "stop":
        await stage.forwarder.stop()
    elif how == "pause":
        await targets.pause(target_id)
    elif how == "off":
        await targets.update(target_id, replace(found.draft(), active=False))
    elif how == "in order":
        await targets.update(target_id, replace(found.draft(), parallel=None))
    else:
        await targets.delete(target_id)


async def test_pauses_and_changes_lose_nothing_and_send_nothing_twice(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url, {"parallel": 8})
        (first,) = endpoint.targets
        await stage.capture_many(endpoint, 300)
        await stage.forwarder.start()
        for parallel in (8, None, 1, None, 3, 1, 8):
            await stage.store.targets.pause(first.id)
            await stage.store.targets.resume(first.id)
            await change_parallel(stage, first.id, parallel)
            await place.arrival(len(place.received) + 1)
        await stage.outcomes(300)
    assert paths(place) == once(300)
    assert begun(stage) == 0


async def change_parallel(stage: Stage, target_id: int, parallel: int | None) -> None:
    found = stage.store.targets.by_id(target_id)
    assert found is not None
    await stage.store.targets.update(target_id, replace(found.draft(), parallel=parallel))


async def test_while_the_disk_is_full_nothing_more_begins_and_no_result_is_lost(
    stage: Stage, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_sender, "FIRST_WAIT_S", 0.01)
    refused = 0

    async def full(_: Ended) -> None:
        nonlocal refused
        if len(place.received) >= 30 and refused < 5:
            refused += 1
            raise StorageUnavailableError("full")

    async with target() as place:
        queue.before = full
        endpoint = await stage.endpoint(place.url, {"parallel": 8})
        await stage.capture_many(endpoint, 100)
        await stage.forwarder.start()
        await stage.outcomes(100)
    assert refused == 5
    assert queue.most <= 64
    assert paths(place) == once(100)
    assert await attempts(stage, endpoint) == [("delivered", 1, 1)] * 100


async def test_a_result_that_cannot_be_stored_holds_up_no_other(
    stage: Stage, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(ended: Ended) -> None:
        if any(delivery.captured_target == "/catch/s/17" for delivery, _ in ended):
            raise ZeroDivisionError

    async with target() as place:
        queue.before = broken
        endpoint = await stage.endpoint(place.url, {"parallel": 8})
        await stage.capture_many(endpoint, 60)
        await stage.forwarder.start()
        await stage.outcomes(59)
        await stage.forwarder.stop()
    assert paths(place) == once(60)
    assert "ZeroDivisionError" in caplog.text
    assert [state for state, _, _ in await attempts(stage, endpoint)].count("delivered") == 59


async def test_retries_wait_while_the_others_go_on(stage: Stage) -> None:
    seen: Counter[str] = Counter()

    async def every_third_fails_once(received: Received, writer: asyncio.StreamWriter) -> None:
        path = received.line.split()[1]
        seen[path] += 1
        failed = int(path[1:]) % 3 == 0 and seen[path] == 1
        writer.write(b"HTTP/1.1 503 Wait\r\nContent-Length: 0\r\n\r\n" if failed else OK)

    retry = RetryRule(retries=2, first_delay_ms=100, longest_delay_ms=200, on=("5xx",))
    async with target(every_third_fails_once) as place:
        endpoint = await stage.endpoint(place.url, {"parallel": 8, "retry": retry})
        await stage.capture_many(endpoint, 60)
        await stage.forwarder.start()
        await stage.outcomes(80)
    assert {event.state for event in stage.told[-20:]} >= {DeliveryState.DELIVERED}
    assert Counter(made for _, made, _ in await attempts(stage, endpoint)) == {1: 40, 2: 20}
    assert begun(stage) == 0

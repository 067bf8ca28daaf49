"""The order of storing: positions of captures, in memory, in the file and after a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.core.events import Captured, Event
from app.core.model import PART_SIZE, Capture, Endpoint
from app.core.search.parse import parse
from app.db.capture_order import STEP, CaptureOrder
from app.db.store import Store
from tests import factories


class Recorder:
    """Positions and ids of the captures as they were published."""

    def __init__(self) -> None:
        self.captured: list[tuple[int, str]] = []

    def publish(self, event: Event) -> None:
        if isinstance(event, Captured):
            ids = [summary.id for summary in event.summaries]
            self.captured += zip(event.positions, ids, strict=True)


async def add(store: Store, endpoint: Endpoint, seq: int | None = None) -> Capture:
    number = store.captures.new_seq() if seq is None else seq
    capture = factories.capture(b"{}", seq=number, endpoint_id=endpoint.id)
    await store.captures.add(capture, b"{}")
    return capture


async def stored(store: Store, after: int = 0, limit: int = 1000) -> list[tuple[int, str]]:
    rows = await store.captures.between(after, store.captures.newest_position, limit)
    return [(position, summary.id) for position, summary in rows]


def test_positions_rise_whatever_the_numbers() -> None:
    order = CaptureOrder()
    order.load(3 * STEP + 2, 5)
    assert (order.newest, order.next_number()) == (3 * STEP + 2, 6)
    positions = [order.next_position(seq) for seq in (6, 9, 7, 8, 10)]
    assert positions == [6 * STEP, 9 * STEP, 9 * STEP + 1, 9 * STEP + 2, 10 * STEP]


def test_numbers_continue_after_the_position_of_a_late_one() -> None:
    """Its position is made from a number whose own capture may never have been stored."""
    order = CaptureOrder()
    order.load(10 * STEP + 1, 9)
    seq = order.next_number()
    assert order.next_position(seq) > 10 * STEP + 1


async def test_what_is_stored_is_read_in_the_order_it_was_published(tmp_path: Path) -> None:
    recorder = Recorder()
    store = await Store.open(tmp_path, recorder.publish)
    try:
        endpoint = await store.endpoints.create(factories.draft())
        early = [store.captures.new_seq() for _ in range(3)]
        await add(store, endpoint)
        await add(store, endpoint, early[2])
        await asyncio.gather(*(add(store, endpoint) for _ in range(5)), add(store, endpoint, early[0]))
        await add(store, endpoint, early[1])
        published = recorder.captured
        assert [position for position, _ in published] == sorted({position for position, _ in published})
        assert store.captures.newest_position == published[-1][0]
        assert await stored(store) == published
        for at, (position, capture_id) in enumerate(published):
            assert await store.captures.position(capture_id) == position
            assert await stored(store, position, 2) == published[at + 1 : at + 3]
        assert await store.captures.position(factories.capture(b"").id) is None
    finally:
        await store.close()


async def test_positions_go_on_after_a_restart(tmp_path: Path) -> None:
    """Also if the newest requests, among them late ones, were deleted, and a body was left incomplete."""
    recorder = Recorder()
    store = await Store.open(tmp_path, recorder.publish)
    endpoint = await store.endpoints.create(factories.draft())
    early = store.captures.new_seq()
    await add(store, endpoint)
    late = await add(store, endpoint, early)
    before = store.captures.newest_position
    await store.captures.delete([late.id])
    await store.captures.add_part(store.captures.new_seq(), 0, bytes(PART_SIZE))
    await store.close()

    store = await Store.open(tmp_path, recorder.publish)
    try:
        assert store.captures.newest_position == before
        made = [await add(store, endpoint) for _ in range(3)]
        assert [capture_id for _, capture_id in await stored(store, before)] == [capture.id for capture in made]
    finally:
        await store.close()


async def test_which_of_some_requests_match(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    try:
        endpoint = await store.endpoints.create(factories.draft())
        made = [await add(store, endpoint) for _ in range(4)]
        await store.captures.star([made[1].id, made[2].id])
        ids = [capture.id for capture in made[:2]]
        assert await store.captures.matching(parse("is:starred"), ids) == {made[1].id}
        assert await store.captures.matching(parse("method:GET"), ids) == set()
        assert await store.captures.matching(parse("-is:starred"), []) == set()
        assert await store.captures.matching(parse("method:POST"), [*ids, "unknown"]) == set(ids)
    finally:
        await store.close()

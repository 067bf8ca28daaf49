"""Storage limits: what goes or is refused at them, in all and per endpoint, and that no flood gets past them."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import msgspec
import pytest

from app.core.clock import DAY_US, now_us
from app.core.errors import StorageLimitError
from app.core.events import Event, Purged, RequestsRemoved, StorageLimitChanged
from app.core.model import PART_SIZE, Endpoint
from app.core.sizes import KIB, MIB
from app.db.storage_limits import StorageLimit
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore, Place, add, check_totals, kept_bytes, of_kind, query, recount, recount_bytes
from tests.support import until

BODY = bytes(20 * KIB)


@pytest.fixture(autouse=True)
def _slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the oldest requests take to be deleted, nobody is refused for that."""
    monkeypatch.setattr("app.db.storage_limits.PATIENCE_S", 20.0)


@pytest.mark.parametrize(("limit", "below"), [(100 * MIB, 10 * MIB), (10_240 * MIB, 64 * MIB)])
def test_capturing_stops_a_tenth_below_the_limit_at_most_64_mib(limit: int, below: int) -> None:
    own = StorageLimit(None, 0, lambda: 0, lambda _: None)
    own.set(limit, "refuse")
    assert own.stop_above == limit - below


async def limited(store: Store, limit: int | None, when_full: str = "delete_oldest") -> Endpoint:
    return await store.endpoints.create(factories.draft(storage_limit=limit, when_full=when_full))


async def change(store: Store, endpoint: Endpoint, **fields: Any) -> None:
    draft = msgspec.structs.replace(store.endpoints.by_id(endpoint.id).draft(), **fields)  # type: ignore[union-attr]
    await store.endpoints.update(endpoint.id, draft)


async def fill(store: Store, endpoint: Endpoint, number: int, body: bytes = BODY) -> list[str]:
    """Store so many one after the other; their ids."""
    return [(await add(store, endpoint.id, body)).id for _ in range(number)]


async def left(store: Store, endpoint: Endpoint) -> list[str]:
    """Ids, oldest first."""
    return [summary.id for summary in await store.captures.page(endpoint.id, limit=500)][::-1]


async def calm(store: Store) -> None:
    """Wait until nothing is deleted any more."""
    await until(lambda: store._eviction._worker.is_idle)


def used(store: Store, endpoint: Endpoint) -> int:
    return store.captures.counts(endpoint.id).stored_bytes


async def upload(store: Store, endpoint_id: int, size: int, parts: int) -> str:
    """Store a body that comes in parts."""
    body = bytes(size)
    capture = factories.capture(body, endpoint_id=endpoint_id)
    key = None
    try:
        for at in range(0, parts * PART_SIZE, PART_SIZE):
            key = await store.captures.add_part(key, at, body[at : at + PART_SIZE], endpoint_id=endpoint_id)
        await store.captures.add(capture, body[parts * PART_SIZE :], key)
    except StorageLimitError:
        if key is not None:
            await store.captures.drop_parts(key)
        raise
    return capture.id


def told(events: list[Event]) -> list[tuple[int | None, bool]]:
    return [
        (event.endpoint.id if event.endpoint else None, event.use.reached)
        for event in of_kind(events, StorageLimitChanged)
    ]


async def check(store: Store, place: Place) -> None:
    """All that is counted is what is in the file, now and at the next start."""
    await store._cleanup.run()
    expected = recount_bytes(place)
    assert kept_bytes(place) == expected
    check_totals(store, place)
    for endpoint in store.endpoints.all():
        assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]
        assert store.limits.use_of(endpoint.id).used == expected[endpoint.id]


# -- one endpoint ---------------------------------------------------------------------------------------------------


async def test_a_limit_is_not_reached_where_one_large_request_made_room(store: Store) -> None:
    made = await limited(store, MIB)
    await fill(store, made, 1, bytes(1_000 * KIB))
    await fill(store, made, 1, bytes(100 * KIB))
    await calm(store)
    assert used(store, made) < MIB // 2
    assert store.limits.reached() == []


async def test_at_an_endpoints_limit_its_oldest_go_and_nobody_elses(
    store: Store, events: list[Event], place: Place
) -> None:
    other = await limited(store, None)
    before = await fill(store, other, 3)
    made = await limited(store, MIB)
    ids = await fill(store, made, 80)
    await calm(store)
    kept = await left(store, made)
    assert kept == ids[-len(kept) :]
    assert MIB * 0.9 < used(store, made) <= MIB
    assert await left(store, other) == before
    assert sum(event.report.deleted[made.id] for event in of_kind(events, Purged)) == 80 - len(kept)
    assert of_kind(events, RequestsRemoved) == []
    assert told(events) == [(made.id, True)]
    await check(store, place)


async def test_at_an_endpoints_limit_capturing_stops_and_begins_again_with_room(
    store: Store, events: list[Event], place: Place
) -> None:
    made, other = await limited(store, MIB, "stop_capturing"), await limited(store, None)
    with pytest.raises(StorageLimitError, match=f"Endpoint {made.name} may store 1 MiB") as refused:
        await fill(store, made, 200, bytes(10 * KIB))
    assert refused.value.limit is None
    with pytest.raises(StorageLimitError):
        await add(store, made.id, b"")
    await fill(store, other, 1)
    assert MIB * 0.95 < used(store, made) <= MIB
    ids = await left(store, made)
    assert store.limits.use_of(made.id).capturing_stopped
    assert told(events) == [(made.id, True)]
    await store.captures.delete(ids[:5])
    with pytest.raises(StorageLimitError):  # less than a tenth of the limit is free
        await add(store, made.id, b"")
    await store.captures.delete(ids[5:10])
    await add(store, made.id, b"")
    assert told(events) == [(made.id, True), (made.id, False)]
    await check(store, place)


@pytest.mark.parametrize("deed", ["clear", "raise", "remove", "change"])
async def test_each_way_out_lets_capturing_begin_again(store: Store, events: list[Event], deed: str) -> None:
    made = await limited(store, MIB, "stop_capturing")
    with pytest.raises(StorageLimitError):
        await fill(store, made, 80)
    if deed == "clear":
        await store.captures.clear(made.id)
    elif deed == "raise":
        await change(store, made, storage_limit=2 * MIB)
    elif deed == "remove":
        await change(store, made, storage_limit=None)
    else:
        await change(store, made, when_full="delete_oldest")
    await add(store, made.id, BODY)
    await calm(store)
    assert told(events)[:2] == [(made.id, True), (made.id, False)]
    assert not store.limits.use_of(made.id).capturing_stopped


async def test_a_limit_below_what_is_stored_deletes_down_to_it_or_stops(store: Store, place: Place) -> None:
    deleting, stopping = await limited(store, None), await limited(store, None)
    ids = await fill(store, deleting, 120)
    await fill(store, stopping, 120)
    await change(store, deleting, storage_limit=MIB)
    await change(store, stopping, storage_limit=MIB, when_full="stop_capturing")
    await calm(store)
    kept = await left(store, deleting)
    assert kept == ids[-len(kept) :]
    assert used(store, deleting) <= MIB
    assert len(await left(store, stopping)) == 120
    with pytest.raises(StorageLimitError):
        await add(store, stopping.id, b"")
    await check(store, place)


async def test_what_is_larger_than_the_limit_itself_is_never_stored(store: Store, place: Place) -> None:
    made = await limited(store, 2 * MIB)
    ids = await fill(store, made, 10)
    with pytest.raises(StorageLimitError) as declared:
        store.captures.check_room(made.id, 3 * MIB)
    with pytest.raises(StorageLimitError) as with_headers:
        await upload(store, made.id, 2 * MIB, 1)
    await calm(store)
    assert await left(store, made) == ids
    with pytest.raises(StorageLimitError) as undeclared:
        await upload(store, made.id, 3 * MIB, 2)
    assert [error.value.limit for error in (declared, with_headers, undeclared)] == [2 * MIB] * 3
    await check(store, place)


async def test_stars_do_not_keep_a_request_and_the_clock_does_not_decide(store: Store) -> None:
    made = await limited(store, MIB)
    first = await add(store, made.id, BODY, received_at=now_us() + 3650 * DAY_US)
    await store.captures.star([first.id])
    ids = await fill(store, made, 60)
    await calm(store)
    kept = await left(store, made)
    assert first.id not in kept
    assert kept == ids[-len(kept) :]


# -- all together ---------------------------------------------------------------------------------------------------


async def test_at_the_limit_of_all_the_oldest_of_all_go(store: Store, events: list[Event], place: Place) -> None:
    one, two = await limited(store, None), await limited(store, None)
    store.limits.set_limit(2 * MIB, "delete_oldest")
    ids = [await fill(store, endpoint, 40) for endpoint in (one, two, one)]
    await calm(store)
    kept = [*await left(store, one), *await left(store, two)]
    everything = [name for some in ids for name in some]
    assert sorted(kept) == sorted(everything[-len(kept) :])
    assert 1.9 * MIB < store.limits.use().used <= 2 * MIB
    assert told(events) == [(None, True)]
    await check(store, place)


async def test_at_the_limit_of_all_capturing_stops_everywhere(store: Store, events: list[Event], place: Place) -> None:
    one, two = await limited(store, None), await limited(store, None)
    store.limits.set_limit(MIB, "stop_capturing")
    with pytest.raises(StorageLimitError, match="All endpoints together may store 1 MiB"):
        await fill(store, one, 80)
    with pytest.raises(StorageLimitError):
        await add(store, two.id, b"")
    assert store.limits.use().capturing_stopped
    assert 0.9 * MIB < store.limits.use().used <= MIB
    store.limits.set_limit(None, "stop_capturing")
    await add(store, two.id, b"")
    assert told(events) == [(None, True), (None, False)]
    await check(store, place)


async def test_bodies_still_arriving_count(store: Store, place: Place) -> None:
    made = await limited(store, None)
    store.limits.set_limit(4 * MIB, "stop_capturing")
    part, keys = bytes(PART_SIZE), set[int]()

    async def send() -> int:
        key = None
        for number in range(3):
            try:
                key = await store.captures.add_part(key, number * PART_SIZE, part, endpoint_id=made.id)
                keys.add(key)
            except StorageLimitError:
                return number
        return 3

    assert sum(await asyncio.gather(*(send() for _ in range(4)))) == 4
    with pytest.raises(StorageLimitError):
        await add(store, made.id, b"")
    assert store.limits.use().used == 4 * MIB == kept_bytes(place)[0]
    for key in keys:
        await store.captures.drop_parts(key)
    await store._cleanup.run()
    await add(store, made.id, b"")
    await check(store, place)


@pytest.mark.parametrize("stored", [False, True])
async def test_what_arrives_while_its_endpoint_is_deleted_and_restored_counts(store: Store, stored: bool) -> None:
    endpoint = await limited(store, 4 * MIB, "stop_capturing")
    body = bytes(2 * PART_SIZE)
    key = None
    for offset in range(0, len(body), PART_SIZE):
        key = await store.captures.add_part(key, offset, body[:PART_SIZE], endpoint_id=endpoint.id)
    assert key is not None
    await store.trash.undo(await store.trash.delete_endpoint(endpoint.id))
    with pytest.raises(StorageLimitError):
        store.captures.check_room(endpoint.id, 3 * MIB)
    if stored:
        await store.captures.add(factories.capture(body, endpoint_id=endpoint.id), b"", key)
    else:
        await store.captures.drop_parts(key)
        store.captures.check_room(endpoint.id, 3 * MIB)
    with pytest.raises(StorageLimitError):
        store.captures.check_room(endpoint.id, (3 if stored else 5) * MIB)


@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_being_written_while_its_endpoint_is_restored_counts(store: Store, whole: bool) -> None:
    endpoint, go = await limited(store, 4 * MIB, "stop_capturing"), threading.Event()
    part = bytes(PART_SIZE)
    deletion = await store.trash.delete_endpoint(endpoint.id)
    writing = [asyncio.ensure_future(store._writer.run(lambda _: go.wait(20)))]
    writing.append(asyncio.ensure_future(store.trash.undo(deletion)))
    await asyncio.sleep(0.05)
    if whole:
        writing.append(asyncio.ensure_future(add(store, endpoint.id, part)))
    else:
        writing.append(asyncio.ensure_future(store.captures.add_part(None, 0, part, endpoint_id=endpoint.id)))
    await asyncio.sleep(0.05)
    go.set()
    *_, stored = await asyncio.gather(*writing)
    await add(store, endpoint.id, b"")
    with pytest.raises(StorageLimitError):
        store.captures.check_room(endpoint.id, 3 * MIB)
    if not whole:
        await store.captures.drop_parts(stored)
        store.captures.check_room(endpoint.id, 3 * MIB)
        with pytest.raises(StorageLimitError):
            store.captures.check_room(endpoint.id, 4 * MIB)


async def test_big_bodies_push_out_big_bodies(store: Store, place: Place) -> None:
    made = await limited(store, 8 * MIB)
    ids = [await upload(store, made.id, 2 * MIB + 5, 2) for _ in range(6)]
    await calm(store)
    kept = await left(store, made)
    assert 2 <= len(kept) <= 3
    assert kept == ids[-len(kept) :]
    await check(store, place)
    assert query(place, "SELECT count(*) FROM capture_body") == [(3 * len(kept),)]


# -- a flood --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when_full", ["delete_oldest", "stop_capturing"])
@pytest.mark.parametrize("own", [True, False])
async def test_a_flood_never_gets_past_the_bound(
    open_store: OpenStore, place: Place, when_full: str, own: bool
) -> None:
    limit = 4 * MIB
    store = await open_store()
    made = await limited(store, limit if own else None, when_full)
    store.limits.set_limit(None if own else limit, when_full)  # type: ignore[arg-type]
    most, stored, refused = 0, set(), 0
    bound = limit + (512 * KIB + PART_SIZE if when_full == "delete_oldest" else 0)

    async def sender(number: int) -> None:
        nonlocal most, refused
        for turn in range(8):
            try:
                if number % 8:
                    stored.add((await add(store, made.id, os.urandom(50 * KIB))).id)
                else:
                    stored.add(await upload(store, made.id, PART_SIZE + 7 * turn, 1))
            except StorageLimitError:
                refused += 1
            now = store.limits.use_of(made.id).used if own else store.limits.use().used
            most = max(most, now)

    await asyncio.gather(*map(sender, range(16)))
    await calm(store)
    assert most <= bound
    assert most > limit * 0.9
    kept = set(await left(store, made))
    assert kept <= stored
    if when_full == "stop_capturing":
        assert kept == stored
        assert refused
    await check(store, place)
    await store.close()
    again = await open_store()
    await check(again, place)
    await again.close()


async def test_what_is_acknowledged_while_an_endpoint_goes_counts_until_it_is_deleted(
    store: Store, place: Place
) -> None:
    made = await limited(store, MIB)
    await fill(store, made, 20)
    before = store.limits.use().used
    await store.endpoints.delete(made.id)
    assert 0 < store.limits.use().used <= before
    await store._cleanup.run()
    assert store.limits.use().used == 0
    assert kept_bytes(place) == {-1: 0, 0: 0}


async def test_limits_stand_again_after_a_restart(open_store: OpenStore) -> None:
    store = await open_store()
    made = await limited(store, MIB, "stop_capturing")
    with pytest.raises(StorageLimitError):
        await fill(store, made, 80)
    await store.close()
    again = await open_store()
    assert again.endpoints.by_id(made.id) == made
    assert again.limits.use_of(made.id).limit == MIB
    with pytest.raises(StorageLimitError):
        await add(again, made.id, BODY)
    await again.close()

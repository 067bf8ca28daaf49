"""Captured requests: bodies in parts, pages by key, marks and deletions."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from peewee import Database

from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.events import Captured, EndpointRead, Event, RequestsRemoved, RequestsUpdated
from app.core.model import PART_SIZE, Capture, Endpoint, PageKey
from app.db.store import Store
from tests import factories
from tests.db.helpers import BODY, INTEGRITY_ERRORS, OpenStore, Place, add, add_many, check_totals, of_kind, query
from tests.stored import store_request
from tests.support import until


def key(capture: Capture) -> PageKey:
    return PageKey(received_at=capture.received_at, id=capture.id)


async def test_a_description_has_what_the_body_says_without_its_secrets(store: Store, endpoint: Endpoint) -> None:
    body = b'{"type":"order.paid","password":"hunter2hunter2"}'
    capture = factories.capture(body, endpoint_id=endpoint.id, content_type="application/json")
    await store_request(store.captures, capture, body)
    (described,) = (await store.captures.descriptions([capture.id], {})).values()
    assert "order.paid" in described.gist
    assert "hunter2" not in described.gist


async def test_a_body_of_any_size_comes_back_byte_for_byte(store: Store, endpoint: Endpoint) -> None:
    for size in (0, 1, PART_SIZE - 1, PART_SIZE, PART_SIZE + 1, 2 * PART_SIZE, 3 * PART_SIZE + 7):
        body = random.Random(size).randbytes(size)
        capture = await store_request(store.captures, factories.capture(body, endpoint_id=endpoint.id), body)
        assert await store.captures.body(capture.id) == body
        for offset in {0, 1, PART_SIZE - 1, PART_SIZE, size - 1, size, size + 10}:
            if offset >= 0:
                for length in (0, 1, 2, PART_SIZE, None):
                    end = None if length is None else offset + length
                    assert await store.captures.body(capture.id, offset, length) == body[offset:end], (offset, length)


async def test_a_tail_that_ends_on_a_part_adds_no_empty_one(store: Store, endpoint: Endpoint, place: Place) -> None:
    body = os.urandom(PART_SIZE)
    capture = factories.capture(body, endpoint_id=endpoint.id)
    key = await store.captures.add_part(None, 0, body)
    await store.captures.add(capture, b"", key)
    assert await store.captures.body(capture.id) == body
    assert query(place, "SELECT count(*) FROM capture_body") == [(1,)]
    assert query(place, "SELECT count(*) FROM loose_body") == [(0,)]


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(1, PART_SIZE // 3) | st.just(PART_SIZE), min_size=1, max_size=9),
    tail=st.integers(0, 9_000),
)
async def test_a_body_that_came_in_short_parts_is_as_any_other(
    store: Store, endpoint: Endpoint, place: Place, sizes: list[int], tail: int
) -> None:
    captures, reads = store.captures, random.Random(tail)
    body = reads.randbytes(sum(sizes) + tail)
    key, at = None, 0
    for size in sizes:
        key = await captures.add_part(key, at, body[at : at + size], endpoint_id=endpoint.id)
        at += size
    capture = factories.capture(body, endpoint_id=endpoint.id)
    await captures.add(capture, body[at:], key)
    lengths = [length for (length,) in query(place, "SELECT length(data) FROM capture_body ORDER BY key")]
    assert (lengths[0], sum(lengths)) == (min(PART_SIZE, len(body)), len(body))
    assert max(lengths) <= PART_SIZE
    assert query(place, "SELECT count(*) FROM loose_body") == [(0,)]
    assert await captures.body(capture.id) == body
    for _ in range(9):
        offset, length = reads.randrange(len(body) + 5), reads.randrange(PART_SIZE)
        assert await captures.body(capture.id, offset, length) == body[offset : offset + length]
    check_totals(store, place)
    await captures.delete([capture.id])
    await store._cleanup.run()
    assert query(place, "SELECT count(*) FROM capture_body") == [(0,)]
    assert query(place, "SELECT count(*) FROM loose_body") == [(0,)]
    check_totals(store, place)


async def test_parts_of_a_request_that_is_not_kept_are_deleted(store: Store, endpoint: Endpoint, place: Place) -> None:
    key = await store.captures.add_part(None, 0, bytes(PART_SIZE))
    for at in (PART_SIZE, 2 * PART_SIZE):
        assert await store.captures.add_part(key, at, bytes(99_999)) == key
    await store.captures.drop_parts(key)
    await until(lambda: query(place, "SELECT count(*) FROM loose_body") == [(0,)])
    assert query(place, "SELECT count(*) FROM capture_body") == [(0,)]


async def test_parts_still_arriving_survive_a_sweep(store: Store, endpoint: Endpoint) -> None:
    body = os.urandom(PART_SIZE + 5)
    capture = factories.capture(body, endpoint_id=endpoint.id)
    key = await store.captures.add_part(None, 0, body[:PART_SIZE])
    await store.retention.purge()
    await store.captures.add(capture, body[PART_SIZE:], key)
    assert await store.captures.body(capture.id) == body


async def test_what_is_not_stored_is_none_or_not_found(store: Store) -> None:
    assert await store.captures.get("nothing") is None
    with pytest.raises(NotFoundError):
        await store.captures.body("nothing")


async def test_all_that_one_commit_held_is_one_event(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    captures = await add_many(store, endpoint.id, 100)
    told = of_kind(events, Captured)
    assert [summary for event in told for summary in event.summaries] == [capture.summary() for capture in captures]
    assert len(told) < 10
    counts = store.captures.counts(endpoint.id)
    assert (counts.total, counts.unread) == (100, 100)
    assert counts.last_received_at == max(capture.received_at for capture in captures)


async def test_a_request_that_fails_fails_alone(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    first = await add(store, endpoint.id)
    wrong = factories.capture(BODY, endpoint_id=endpoint.id, size=-1)
    others = [factories.capture(BODY, endpoint_id=endpoint.id) for _ in range(20)]
    adding = [store.captures.add(capture, BODY) for capture in (*others[:10], wrong, *others[10:])]
    results = await asyncio.gather(*adding, return_exceptions=True)
    (failed,) = [result for result in results if not isinstance(result, int)]
    assert isinstance(failed, INTEGRITY_ERRORS)
    assert store.captures.counts(endpoint.id).total == 21
    stored = [summary.id for event in of_kind(events, Captured) for summary in event.summaries]
    assert sorted(stored) == sorted([first.id, *(capture.id for capture in others)])
    assert await store.captures.body(others[15].id) == BODY


async def test_an_abandoned_wait_does_not_lose_the_request(store: Store, endpoint: Endpoint) -> None:
    capture = factories.capture(BODY, endpoint_id=endpoint.id)
    adding = asyncio.ensure_future(store.captures.add(capture, BODY))
    await asyncio.sleep(0)
    adding.cancel()
    await add(store, endpoint.id)
    assert await store.captures.get(capture.id) == replace(capture, seq=1)
    assert store.captures.counts(endpoint.id).total == 2


async def test_answer_times_come_with_a_later_commit(
    store: Store, endpoint: Endpoint, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.captures._response_times, "delay_s", 0.05)
    captures = await add_many(store, endpoint.id, 300)
    for capture in captures:
        store.captures.responded(capture.seq, 0.25)
    await until(lambda: query(place, "SELECT count(*) FROM capture_response") == [(300,)])
    page = await store.captures.page(endpoint.id, limit=400)
    assert {summary.response_ms for summary in page} == {0.25}


async def test_the_answer_time_of_a_deleted_request_is_passed_over(store: Store, endpoint: Endpoint) -> None:
    gone, kept = await add_many(store, endpoint.id, 2)
    await store.captures.delete([gone.id])
    for capture in (gone, kept):
        store.captures.responded(capture.seq, 1.0)
    await store.captures.close()
    assert [summary.response_ms for summary in await store.captures.page(None)] == [1.0]


MOMENTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1_795_000_000_000_000, 1_795_000_000_000_005)), min_size=1, max_size=30
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moments=MOMENTS, limit=st.integers(1, 7), pick=st.integers(0, 29))
async def test_pages_in_both_directions_are_slices_of_the_whole_list(
    store: Store, moments: list[tuple[int, int]], limit: int, pick: int
) -> None:
    for one in store.endpoints.all():
        await store.endpoints.delete(one.id)
    await store._cleanup.run()  # Hypothesis makes the same ids again
    made = [(await store.endpoints.create(factories.draft())).id for _ in range(2)]
    captures = await asyncio.gather(*(add(store, made[which], received_at=at) for which, at in moments))
    for endpoint_id in (*made, None):
        whole = [c for c in captures if endpoint_id in (None, c.endpoint_id)]
        whole.sort(key=lambda capture: (capture.received_at, capture.id), reverse=True)
        ids = [capture.id for capture in whole]
        assert [s.id for s in await store.captures.page(endpoint_id, limit=limit)] == ids[:limit]
        if whole:
            at = pick % len(whole)
            older = await store.captures.page(endpoint_id, before=key(whole[at]), limit=limit)
            newer = await store.captures.page(endpoint_id, after=key(whole[at]), limit=limit)
            assert [s.id for s in older] == ids[at + 1 : at + 1 + limit]
            assert [s.id for s in newer] == ids[max(0, at - limit) : at]


async def test_marking_tells_what_changed_and_counts_it(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    first, second, third = await add_many(store, endpoint.id, 3)
    await store.captures.mark_read([first.id, second.id, "unknown"])
    await store.captures.mark_read([second.id, third.id])
    assert store.captures.counts(endpoint.id).unread == 0
    await store.captures.mark_read([first.id], False)
    assert store.captures.counts(endpoint.id).unread == 1
    read, unread = {"read": True}, {"read": False}
    assert [event.changes for event in of_kind(events, RequestsUpdated)] == [
        {first.id: read, second.id: read},
        {third.id: read},
        {first.id: unread},
    ]
    assert {summary.id for summary in await store.captures.page(None) if not summary.read} == {first.id}


async def test_marking_all_read_leaves_later_and_other_requests_unread(store: Store, events: list[Event]) -> None:
    one, other = [await store.endpoints.create(factories.draft()) for _ in range(2)]
    await add_many(store, one.id, 1000)
    await add_many(store, other.id, 3)
    upto = store.captures.newest_seq
    await store.captures.mark_all_read(one.id)
    await add(store, one.id)
    assert (store.captures.counts(one.id).unread, store.captures.counts(other.id).unread) == (1, 3)
    assert of_kind(events, EndpointRead) == [EndpointRead(endpoint_id=one.id, upto=upto)]


async def test_what_was_marked_before_marking_all_read_failed_is_told(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who counts whenever requests were marked knows how many are unread."""
    told: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, RequestsUpdated | EndpointRead):
            told.append(store.captures.counts(endpoint.id).unread)

    store = await open_store(listen)
    endpoint = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, 300)
    between = store._writer.between

    async def fails_later(*args: Any) -> Any:
        if store.captures.counts(endpoint.id).unread < 300:
            raise StorageUnavailableError("The disk is full.")
        return await between(*args)

    monkeypatch.setattr(store._writer, "between", fails_later)
    with pytest.raises(StorageUnavailableError):
        await store.captures.mark_all_read(endpoint.id)
    assert told == [300 - 256] == [store.captures.counts(endpoint.id).unread]


async def test_deleting_requests_takes_bodies_and_tells_each_endpoint(
    store: Store, events: list[Event], place: Place
) -> None:
    one, other = [await store.endpoints.create(factories.draft()) for _ in range(2)]
    first = await add_many(store, one.id, 250)
    second = await add_many(store, other.id, 2)
    body = bytes(2 * PART_SIZE + 1)
    big = await store_request(store.captures, factories.capture(body, endpoint_id=one.id), body)
    await store.captures.delete([*(capture.id for capture in first[1:]), second[0].id, big.id, "unknown"])
    removed: dict[int, set[str]] = {}
    for event in of_kind(events, RequestsRemoved):
        removed.setdefault(event.endpoint_id, set()).update(event.ids)
    assert removed == {one.id: {*(capture.id for capture in first[1:]), big.id}, other.id: {second[0].id}}
    assert store.captures.counts(one.id).last_received_at == first[0].received_at
    await until(lambda: query(place, "SELECT count(*) FROM capture_body") == [(2,)])


async def test_clearing_empties_one_endpoint_and_keeps_what_comes_after(store: Store, events: list[Event]) -> None:
    one, other = [await store.endpoints.create(factories.draft()) for _ in range(2)]
    await add_many(store, one.id, 700)
    await add_many(store, other.id, 2)
    clearing = asyncio.ensure_future(store.captures.clear(one.id))
    await asyncio.sleep(0)
    late = await add(store, one.id)
    await clearing
    assert [summary.id for summary in await store.captures.page(one.id)] == [late.id]
    counts = store.captures.counts(one.id)
    assert (counts.total, counts.unread, counts.last_received_at) == (1, 1, late.received_at)
    assert store.captures.counts(other.id).total == 2
    (removed,) = of_kind(events, RequestsRemoved)
    assert (removed.endpoint_id, removed.ids, removed.has(one.id, late.id)) == (one.id, None, False)


async def test_a_long_read_holds_up_neither_captures_nor_a_page(store: Store, endpoint: Endpoint) -> None:
    await add_many(store, endpoint.id, 10)
    begun, released = threading.Event(), threading.Event()

    def slow(database: Database) -> tuple[int, int]:
        def count() -> int:
            return int(database.execute_sql("SELECT count(*) FROM capture").fetchone()[0])

        with database.atomic():
            before = count()
            begun.set()
            released.wait(30)
            return before, count()

    reading = asyncio.ensure_future(store._readers.run(slow))
    assert await asyncio.to_thread(begun.wait, 30)
    await add_many(store, endpoint.id, 10)
    assert len(await store.captures.page(endpoint.id)) == 20
    assert not reading.done()
    released.set()
    assert await reading == (10, 10)


async def test_trailers_are_kept_with_the_few_that_have_any(store: Store, endpoint: Endpoint, place: Place) -> None:
    trailers = (("X-Sum", "1"), ("x-sum", "\xe9"), ("Host", ""))
    made = [factories.capture(BODY, endpoint_id=endpoint.id, trailers=trailers * (number == 7)) for number in range(20)]
    for capture in await asyncio.gather(*(store_request(store.captures, capture, BODY) for capture in made)):
        assert await store.captures.get(capture.id) == capture
    assert query(place, "SELECT count(*) FROM capture WHERE trailers IS NOT NULL") == [(1,)]

"""Retention: to the second, at start and by the timer, bodies and deliveries too, while captures go on."""

from __future__ import annotations

import asyncio
import time
from statistics import median

import msgspec
import pytest
from peewee import Database

from app.core.clock import DAY_US, now_us
from app.core.events import Event, Purged
from app.core.model import PART_SIZE, Counts, Endpoint
from app.db import deleting
from app.db.raw_sql import execute, is_sqlite
from app.db.store import Store
from tests import factories
from tests.db.helpers import BODY, OpenStore, Place, add, add_many, kept_bytes, of_kind, query, recount, recount_bytes
from tests.stored import store_request
from tests.support import until

NOW = 1_795_000_000_000_000
SECOND = 1_000_000


FILL = """
INSERT INTO capture (seq, id, endpoint_id, received_at, method, target, http_version, headers, content_type, size,
    sha256, source_address, source_port, scheme, complete, response_status, delivery, is_read, provider, gist)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :number - 1)
SELECT :seq + i, CAST(:at + i AS TEXT) || '-filled', :endpoint, :at + i, 'POST', '/catch/x', '1.1', :headers,
    'text/plain', 17, '', '127.0.0.1', 50000, 'http', 1, 200, 'n', 0, '', 'text · hello' FROM n
"""


async def fill(store: Store, endpoint_id: int, number: int, received_at: int) -> None:
    """Put many requests into the database, a microsecond apart, every tenth with a delivery; quicker than one by
    one."""
    seq = store.captures.newest_seq + 1
    values = {"number": number, "seq": seq, "at": received_at, "endpoint": endpoint_id, "headers": b"\x90"}

    def job(database: Database) -> int:
        execute(database, FILL, values)
        execute(database, "INSERT INTO capture_body SELECT seq, ? FROM capture WHERE seq >= ?", (BODY, seq))
        execute(
            database,
            "INSERT INTO delivery (id, capture_seq, endpoint_id, url, state, queued_at) SELECT id, seq, endpoint_id,"
            " 'http://127.0.0.1:9/', 'queued', received_at FROM capture WHERE seq % 10 = 0",
        )
        taken = (
            "(SELECT sum(1000 + size + length(headers) + length(target)) FROM capture) + 400 * count(*) FROM delivery"
        )
        change = f"UPDATE storage_use SET bytes = (SELECT {taken}) WHERE owner = 1 RETURNING bytes"
        if not is_sqlite(database):
            execute(database, "SELECT setval('capture_seq_seq', ?)", (seq + number - 1,))
        return int(execute(database, change).fetchone()[0])

    def after(size: int) -> None:
        newest = received_at + number - 1
        store._request_counts.start(
            endpoint_id, Counts(total=number, unread=number, last_received_at=newest, stored_bytes=size)
        )

    await store._writer.run(job, after)


async def two_around_the_limit(store: Store, days: int) -> tuple[Endpoint, str]:
    """An endpoint with one request a second past its days and one a second short of them; the latter's id."""
    made = await store.endpoints.create(factories.draft(retention_days=days))
    await add(store, made.id, received_at=NOW - days * DAY_US - SECOND)
    short = await add(store, made.id, received_at=NOW - days * DAY_US + SECOND)
    return made, short.id


async def left(store: Store, endpoint: Endpoint) -> list[str]:
    return [summary.id for summary in await store.captures.page(endpoint.id)]


async def test_at_start_what_is_a_second_past_goes_and_a_second_short_stays(
    open_store: OpenStore, place: Place, events: list[Event]
) -> None:
    store = await open_store(clock=lambda: NOW)
    week, day = await two_around_the_limit(store, 7), await two_around_the_limit(store, 1)
    await store.endpoints.update(week[0].id, msgspec.structs.replace(week[0].draft(), active=False))
    await store.close()
    again = await open_store(clock=lambda: NOW)
    assert len(await left(again, week[0])) == 2
    again.retention.start()
    await until(lambda: of_kind(events, Purged))
    (purged,) = of_kind(events, Purged)
    assert purged.report.deleted == {week[0].id: 1, day[0].id: 1}
    assert await left(again, week[0]) == [week[1]]
    assert await left(again, day[0]) == [day[1]]
    assert again.retention.last_report == purged.report
    await until(lambda: again.retention.next_run_at == NOW + 900 * SECOND)
    assert again.captures.counts(day[0].id) == recount(place)[day[0].id]
    await again.close()


async def test_by_the_timer_as_time_passes(
    open_store: OpenStore, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "PURGE_INTERVAL_S", 0.05)
    now = NOW
    store = await open_store(clock=lambda: now)
    made, short = await two_around_the_limit(store, 1)
    store.retention.start()
    await until(lambda: len(of_kind(events, Purged)) >= 3)
    assert await left(store, made) == [short]
    now += 3 * SECOND
    await until(lambda: store.captures.counts(made.id).total == 0)
    assert await left(store, made) == []
    await store.close()


async def test_soon_after_an_endpoints_days_were_changed(open_store: OpenStore, events: list[Event]) -> None:
    store = await open_store(clock=lambda: NOW)
    made, _ = await two_around_the_limit(store, 7)
    store.retention.start()
    await until(lambda: store.captures.counts(made.id).total == 1)
    await store.endpoints.update(made.id, msgspec.structs.replace(made.draft(), retention_days=6))
    await until(lambda: store.captures.counts(made.id).total == 0)
    await until(lambda: len(of_kind(events, Purged)) >= 2)
    await store.close()
    assert len(of_kind(events, Purged)) == 2


async def test_closing_right_after_an_endpoints_days_were_changed_returns(open_store: OpenStore) -> None:
    store = await open_store()
    made = await store.endpoints.create(factories.draft())
    store.retention.start()
    await until(lambda: store.retention.next_run_at is not None)
    await store.endpoints.update(made.id, msgspec.structs.replace(made.draft(), retention_days=6))
    async with asyncio.timeout(10):
        await store.close()
    assert store.retention.next_run_at is None


async def test_bodies_answers_and_deliveries_go_too(open_store: OpenStore, place: Place) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 1_000, NOW - 2 * DAY_US)
    body = bytes(3 * PART_SIZE)
    big = factories.capture(body, endpoint_id=made.id, received_at=NOW - 2 * DAY_US)
    big = await store_request(store.captures, big, body)
    store.captures.responded(big.seq, 1.0)
    kept = await add(store, made.id, received_at=NOW)
    before = await store.retention.size()
    assert before.expired == 1_001
    assert before.free_bytes > 3 * PART_SIZE
    assert before.file_bytes > 3 * PART_SIZE
    report = await store.retention.purge()
    assert report.deleted == {made.id: 1_001}
    after = await store.retention.size()
    assert (after.expired, after.free_bytes) == (0, 0)
    for table, rows in {"capture": 1, "capture_body": 1, "capture_response": 0, "delivery": 0, "loose_body": 0}.items():
        assert query(place, f"SELECT count(*) FROM {table}") == [(rows,)], table
    assert await left(store, made) == [kept.id]
    assert kept_bytes(place) == recount_bytes(place)


@pytest.mark.slow
async def test_captures_keep_their_pace_while_many_expired_go(open_store: OpenStore) -> None:
    store = await open_store()
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 30_000, now_us() - 2 * DAY_US)
    waits: list[float] = []
    meanwhile = 0
    purging = asyncio.ensure_future(store.retention.purge())
    began = time.perf_counter()
    adds: list[asyncio.Task[None]] = []

    async def timed_add() -> None:
        nonlocal meanwhile
        started = time.perf_counter()
        await add(store, made.id)
        waits.append(time.perf_counter() - started)
        meanwhile += not purging.done()

    while not purging.done():
        adds.append(asyncio.create_task(timed_add(), name="add"))
        if len(adds) % 20 == 0:
            await store.captures.page(made.id)
        await asyncio.sleep(max(0.0, began + len(adds) / 200 - time.perf_counter()))
    took = time.perf_counter() - began
    await asyncio.gather(*adds)
    report = await purging
    assert median(waits) < took / 10  # half of it where the purge is one step
    assert report.deleted == {made.id: 30_000}
    assert store.captures.counts(made.id).total == len(waits)
    assert (await store.captures.page(made.id, limit=1))[0].received_at > now_us() - DAY_US
    assert meanwhile > len(waits) * 0.9  # what had to wait for the purge would all come after it
    await store.close()


@pytest.mark.slow
async def test_stopping_in_the_middle_keeps_the_numbers_right(open_store: OpenStore, place: Place) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 5_000, NOW - 2 * DAY_US)
    store.retention.start()
    await until(lambda: store.captures.counts(made.id).total < 5_000)
    await store.close()
    again = await open_store(clock=lambda: NOW)
    assert again.captures.counts(made.id).total == recount(place)[made.id].total
    await again.retention.purge()
    assert again.captures.counts(made.id) == Counts()
    await again.close()


async def test_more_days_keep_what_is_left_of_a_purge_that_has_begun(open_store: OpenStore) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 2_000, NOW - 2 * DAY_US)
    purging = asyncio.create_task(store.retention.purge(), name="purge")
    await until(lambda: store.captures.counts(made.id).total < 2_000)
    await store.endpoints.update(made.id, msgspec.structs.replace(made.draft(), retention_days=3))
    kept = store.captures.counts(made.id).total
    report = await purging
    assert 0 < kept == store.captures.counts(made.id).total == 2_000 - report.deleted[made.id]


async def test_an_endpoint_that_is_deleted_meanwhile_ends_no_purge(open_store: OpenStore) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    other, _ = await two_around_the_limit(store, 1)
    await fill(store, made.id, 2_000, NOW - 2 * DAY_US)
    purging = asyncio.create_task(store.retention.purge(), name="purge")
    await until(lambda: store.captures.counts(made.id).total < 2_000)
    await store.endpoints.delete(made.id)
    await store._cleanup.run()
    assert (await purging).deleted[other.id] == 1


async def test_nothing_to_do_is_said_too(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    await add_many(store, endpoint.id, 3)
    report = await store.retention.purge()
    assert report.deleted == {}
    assert of_kind(events, Purged) == [Purged(report=report)]
    assert store.captures.counts(endpoint.id).total == 3

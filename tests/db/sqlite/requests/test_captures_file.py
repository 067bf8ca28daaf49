"""Captured requests in SQLite's file, where PostgreSQL differs:

- two requests with one id: no key over partitions prevents them, and each id is made by the node that captures;
- a request that fails leaves its number unused: a sequence is not rolled back;
- parts of bodies that no request has yet: another node may be receiving them, so a start deletes none;
- the plans, and a function of SQLite's that holds a read up.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from app.core.events import Captured, Event
from app.core.model import PART_SIZE, Endpoint
from app.db.store import Store
from tests import factories
from tests.db.helpers import BODY, OpenStore, add, add_many, of_kind, query
from tests.db.requests.test_captures import key
from tests.stored import store_request
from tests.support import until


async def test_parts_left_by_a_crash_are_deleted_at_start_and_others_are_not(
    open_store: OpenStore, tmp_path: Path
) -> None:
    store = await open_store()
    made = await store.endpoints.create(factories.draft())
    body = os.urandom(2 * PART_SIZE + 5)
    kept = await store_request(store.captures, factories.capture(body, endpoint_id=made.id), body)
    lost = await store.captures.add_part(None, 0, bytes(PART_SIZE))
    await store.captures.add_part(lost, PART_SIZE, bytes(99_999))
    await store.close()
    again = await open_store()
    await until(lambda: query(tmp_path, "SELECT count(*) FROM capture_body") == [(3,)])
    assert await again.captures.body(kept.id) == body
    # What is still to be read under a key may be another's only if no key comes twice.
    assert await again.captures.add_part(None, 0, b"x") < lost
    await again.close()


async def test_a_request_that_fails_fails_alone(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    twin = await add(store, endpoint.id)
    same = factories.capture(BODY, endpoint_id=endpoint.id, id=twin.id)
    others = [factories.capture(BODY, endpoint_id=endpoint.id) for _ in range(20)]
    adding = [store.captures.add(capture, BODY) for capture in (*others[:10], same, *others[10:])]
    results = await asyncio.gather(*adding, return_exceptions=True)
    assert [type(result) for result in results if not isinstance(result, int)] == [sqlite3.IntegrityError]
    assert store.captures.counts(endpoint.id).total == 21
    stored = [summary.id for event in of_kind(events, Captured) for summary in event.summaries]
    assert sorted(stored) == sorted([twin.id, *(capture.id for capture in others)])
    assert await store.captures.body(others[15].id) == BODY


async def test_lists_use_indexes_and_never_touch_bodies(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (capture,) = await add_many(store, endpoint.id, 1)
    statements: list[str] = []

    def traced(database: object) -> None:
        database.connection().set_trace_callback(statements.append)
        time.sleep(0.05)  # long enough for each of the two readers to take one

    await asyncio.gather(*(store._readers.run(traced) for _ in range(2)))
    for number in (None, endpoint.id):
        for place in ({}, {"before": key(capture)}, {"after": key(capture)}):
            await store.captures.page(number, **place)
    lists = [statement for statement in statements if statement.startswith("SELECT")]
    assert len(lists) >= 6
    for statement in lists:
        plan = await store._readers.run(
            lambda database, statement=statement: [
                row[3] for row in database.connection().execute(f"EXPLAIN QUERY PLAN {statement}")
            ]
        )
        text = "; ".join(plan)
        assert "capture_body" not in text
        assert "TEMP B-TREE" not in text, text
        assert "OFFSET" not in statement
        assert "USING INDEX capture_list" in text or "USING INDEX sqlite_autoindex_capture_1" in text, text
    count = "SELECT endpoint_id, count(*), sum(is_read), max(received_at) FROM capture GROUP BY 1"
    counting = await store._readers.run(
        lambda database: database.connection().execute(f"EXPLAIN QUERY PLAN {count}").fetchall()
    )
    assert "COVERING INDEX capture_list" in counting[0][3]


async def test_a_long_read_holds_up_neither_captures_nor_a_page(store: Store, endpoint: Endpoint) -> None:
    await add_many(store, endpoint.id, 10)
    begun, released = threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return released.wait(30)

    def slow(database: object) -> int:
        connection = database.connection()
        connection.create_function("wait", 0, wait)
        return int(connection.execute("SELECT count(*) FROM capture WHERE wait()").fetchone()[0])

    reading = asyncio.ensure_future(store._readers.run(slow))
    assert await asyncio.to_thread(begun.wait, 30)
    await add_many(store, endpoint.id, 10)
    assert len(await store.captures.page(endpoint.id)) == 20
    assert not reading.done()
    released.set()
    assert await reading == 10


async def test_a_request_that_fails_leaves_no_number_unused(store: Store, endpoint: Endpoint) -> None:
    twin = await add(store, endpoint.id)
    same = factories.capture(b"", endpoint_id=endpoint.id, id=twin.id)
    adding = [store.captures.add(factories.capture(b"", endpoint_id=endpoint.id), b"") for _ in range(4)]
    results = await asyncio.gather(*adding[:2], store.captures.add(same, b""), *adding[2:], return_exceptions=True)
    assert [result for result in results if isinstance(result, int)] == [2, 3, 4, 5]

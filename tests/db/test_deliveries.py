"""Deliveries: queued with their capture, finished with an outcome as data."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from app.core.errors import NotFoundError
from app.core.events import Captured, DeliveryChanged, Event
from app.core.model import PART_SIZE, Capture, Delivery, DeliveryState, Endpoint
from app.db.store import Store
from tests import factories
from tests.db.helpers import BODY, add, of_kind

URL = "http://127.0.0.1:3000/hook"


async def queue(store: Store, endpoint_id: int, number: int = 1) -> list[Capture]:
    captures = [factories.capture(BODY, seq=store.captures.new_seq(), endpoint_id=endpoint_id) for _ in range(number)]
    await asyncio.gather(*(store.captures.add(capture, BODY, forward_url=URL) for capture in captures))
    return captures


def outcome(delivery: Delivery, state: DeliveryState = DeliveryState.DELIVERED, **fields: object) -> Delivery:
    done = {"started_at": delivery.queued_at + 5, "ms": 12.5, "status": 200, "response_headers": (("A", "\xff"),)}
    return msgspec.structs.replace(delivery, state=state, **{**done, **fields})


async def test_a_capture_queues_its_delivery_in_the_same_commit(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    captures = await queue(store, endpoint.id, 60)
    await add(store, endpoint.id)
    pending = await store.deliveries.pending(endpoint.id)
    assert [delivery.capture_id for delivery in pending] == [capture.id for capture in captures[:50]]
    first = pending[0]
    assert (first.url, first.state, first.endpoint_id, first.status) == (URL, DeliveryState.QUEUED, endpoint.id, None)
    assert await store.deliveries.endpoints_with_pending() == {endpoint.id}
    told = [summary.mirror for event in of_kind(events, Captured) for summary in event.summaries]
    assert told == [DeliveryState.QUEUED] * 60 + [DeliveryState.NONE]
    stored = await store.captures.page(endpoint.id)
    assert [summary.mirror for summary in stored] == told[::-1]


async def test_an_outcome_is_stored_shown_and_told(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    (capture,) = await queue(store, endpoint.id)
    (queued,) = await store.deliveries.pending(endpoint.id)
    body = bytes(range(256)) * (PART_SIZE // 256)
    done = outcome(queued, response_size=len(body), response_truncated=True)
    await store.deliveries.finish(done, body)
    assert await store.deliveries.of_capture(capture.id) == [done]
    assert await store.deliveries.response_body(done.id) == body
    assert events[-1] == DeliveryChanged(delivery=done, state=DeliveryState.DELIVERED)
    assert (await store.captures.page(None))[0].mirror is DeliveryState.DELIVERED
    assert await store.deliveries.pending(endpoint.id) == []
    assert await store.deliveries.endpoints_with_pending() == set()


async def test_failure_is_data(store: Store, endpoint: Endpoint) -> None:
    (capture,) = await queue(store, endpoint.id)
    (queued,) = await store.deliveries.pending(endpoint.id)
    failed = outcome(queued, DeliveryState.FAILED, status=None, error="Nobody listens.", response_headers=())
    await store.deliveries.finish(failed, b"")
    assert await store.deliveries.of_capture(capture.id) == [failed]
    found = await store.captures.get(capture.id)
    assert found is not None
    assert found.mirror is DeliveryState.FAILED


async def test_an_outcome_for_a_deleted_request_goes_nowhere(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    (capture,) = await queue(store, endpoint.id)
    (queued,) = await store.deliveries.pending(endpoint.id)
    await store.captures.delete([capture.id])
    assert await store.deliveries.pending(endpoint.id) == []
    await store.deliveries.finish(outcome(queued), b"late")
    assert of_kind(events, DeliveryChanged) == []
    with pytest.raises(NotFoundError):
        await store.deliveries.response_body(queued.id)


async def test_a_removed_endpoint_has_nothing_pending(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint.id, 3)
    await store.endpoints.delete(endpoint.id)
    assert await store.deliveries.pending(endpoint.id) == []
    assert await store.deliveries.endpoints_with_pending() == set()


async def test_what_is_pending_is_found_by_its_index(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint.id)
    statements: list[str] = []

    def traced(database: object) -> None:
        database.connection().set_trace_callback(statements.append)
        time.sleep(0.05)  # long enough for each of the two readers to take one

    await asyncio.gather(*(store._readers.run(traced) for _ in range(2)))
    for _ in range(10):
        await store.deliveries.pending(endpoint.id)
    (statement,) = {statement for statement in statements if "delivery" in statement}
    plan = await store._readers.run(
        lambda database: database.connection().execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    )
    text = "; ".join(row[3] for row in plan)
    assert "USING INDEX delivery_queued" in text, text
    assert "TEMP B-TREE" not in text

"""SQLite finds deliveries by the indexes that are meant for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from app.core.delivery import DeliveryFilter
from app.core.model import DeliveryState, Endpoint
from app.db.raw_sql import raw
from app.db.sqlite.store import Store
from tests import deliveries, factories
from tests.db.deliveries.test_deliveries import FAILED, queue, queued


@pytest.fixture
async def endpoint(store: Store) -> Endpoint:
    return await store.endpoints.create(factories.draft(forward_url=deliveries.URL))


@pytest.mark.parametrize(
    ("which", "index"),
    [
        (DeliveryFilter(endpoint_id=1, state=DeliveryState.FAILED), "delivery_failed"),
        (DeliveryFilter(target_id=1, state=DeliveryState.QUEUED), "delivery_queued"),
        (None, "delivery_queued"),
    ],
)
async def test_failed_and_queued_deliveries_are_found_by_their_indexes(
    store: Store, which: DeliveryFilter | None, index: str
) -> None:
    await store.endpoints.create(factories.draft(forward_url=deliveries.URL))
    statements: list[str] = []

    def traced(database: Any) -> None:
        database.connection().set_trace_callback(statements.append)
        time.sleep(0.05)  # long enough for each of the two readers to take one

    await asyncio.gather(*(store._readers.run(traced) for _ in range(2)))
    await (store.deliveries.target_counts() if which is None else store.deliveries.page(which))
    asked = {one for one in statements if "delivery" in one}
    assert asked

    def plans(database: Any) -> list[str]:
        explained = [raw(database).execute(f"EXPLAIN QUERY PLAN {one}").fetchall() for one in asked]
        return ["; ".join(row[3] for row in rows) for rows in explained]

    for plan in await store._readers.run(plans):
        assert f"INDEX {index}" in plan, plan
        assert "TEMP B-TREE" not in plan


async def traced(store: Store, ask: Callable[[], Awaitable[object]]) -> str:
    """The plan of the one statement about deliveries that `ask` runs."""
    statements: list[str] = []

    def trace(database: object) -> None:
        database.connection().set_trace_callback(statements.append)  # type: ignore[attr-defined]
        time.sleep(0.05)  # long enough for each of the two readers to take one

    await asyncio.gather(*(store._readers.run(trace) for _ in range(2)))
    for _ in range(10):
        await ask()
    (statement,) = {statement for statement in statements if '"delivery"' in statement}
    return await store._readers.run(lambda database: raw_plan(database, statement))


async def test_what_is_queued_is_found_by_its_index(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint)
    plan = await traced(store, lambda: queued(store, endpoint))
    assert "USING INDEX delivery_queued" in plan, plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("state", [None, FAILED])
async def test_what_a_replay_sent_is_found_by_its_index(
    store: Store, endpoint: Endpoint, state: DeliveryState | None
) -> None:
    (capture,) = await queue(store, endpoint)
    (made,) = await store.deliveries.of_capture(capture.id)
    await store.deliveries.add_replay(msgspec.structs.replace(made, id="replayed", replay_id="r"))
    which = DeliveryFilter(replay_id="r", state=state)
    plan = await traced(store, lambda: store.deliveries.page(which))
    assert "USING INDEX delivery_replay" in plan, plan
    assert "TEMP B-TREE" not in plan


def raw_plan(database: object, statement: str) -> str:
    rows = database.connection().execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()  # type: ignore[attr-defined]
    return "; ".join(row[3] for row in rows)

"""Who sent what lately, for the filter's suggestions."""

from __future__ import annotations

import pytest

from app.core.model import SenderCount
from app.db import queries
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore


async def add(store: Store, endpoint_id: int, provider: str | None, event: str | None = None, at: int = 1) -> None:
    capture = factories.capture(
        endpoint_id=endpoint_id, provider=provider, event=event, received_at=1_700_000_000_000_000 + at
    )
    await store.captures.add(capture, b"")


async def test_the_most_frequent_come_first(open_store: OpenStore) -> None:
    store = await open_store()
    try:
        one, other = [await store.endpoints.create(factories.draft()) for _ in range(2)]
        for provider, event in [("stripe", "invoice.paid")] * 3 + [("github", "push")] * 2 + [(None, None)]:
            await add(store, one.id, provider, event)
        await add(store, other.id, "stripe", None)
        assert await store.senders.lately(one.id) == [
            SenderCount(provider="stripe", event="invoice.paid", count=3),
            SenderCount(provider="github", event="push", count=2),
        ]
        assert await store.senders.lately(other.id) == [SenderCount(provider="stripe", event=None, count=1)]
        assert len(await store.senders.lately(None)) == 3
        await store.endpoints.delete(one.id)
        assert await store.senders.lately(one.id) == []
        assert len(await store.senders.lately(None)) == 1
    finally:
        await store.close()


async def test_only_the_newest_are_looked_at(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "NEWEST", 2)
    store = await open_store()
    try:
        one = await store.endpoints.create(factories.draft())
        for at, event in enumerate(("old", "old", "new", "newest")):
            await add(store, one.id, "stripe", event, at)
        for endpoint_id in (one.id, None):
            found = await store.senders.lately(endpoint_id)
            assert sorted(str(counted.event) for counted in found) == ["new", "newest"]
    finally:
        await store.close()

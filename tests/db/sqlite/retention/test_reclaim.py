"""What retention deletes is given back to the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.clock import DAY_US
from app.core.events import Event
from app.core.model import PART_SIZE
from tests import factories
from tests.db.helpers import OpenStore, add, query
from tests.db.retention.test_retention import NOW, fill, left
from tests.stored import store_request


async def test_bodies_answers_and_deliveries_go_too_and_the_file_shrinks(
    open_store: OpenStore, tmp_path: Path, events: list[Event]
) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 5_000, NOW - 2 * DAY_US)
    body = bytes(3 * PART_SIZE)
    big = factories.capture(body, endpoint_id=made.id, received_at=NOW - 2 * DAY_US)
    big = await store_request(store.captures, big, body)
    store.captures.responded(big.seq, 1.0)
    kept = await add(store, made.id, received_at=NOW)
    before = await store.retention.size()
    assert before.expired == 5_001
    assert before.free_bytes > 3 * PART_SIZE
    report = await store.retention.purge()
    assert report.deleted == {made.id: 5_001}
    after = await store.retention.size()
    assert (after.expired, after.free_bytes) == (0, 0)
    assert after.file_bytes < before.file_bytes - report.freed_bytes / 2
    assert report.freed_bytes > 3 * PART_SIZE
    assert 0.5 < before.free_bytes / report.freed_bytes < 2
    for table, rows in {"capture": 1, "capture_body": 1, "capture_response": 0, "delivery": 0, "loose_body": 0}.items():
        assert query(tmp_path, f"SELECT count(*) FROM {table}") == [(rows,)], table
    assert await left(store, made) == [kept.id]
    await store.close()
    assert (tmp_path / "hookline.db").stat().st_size < 220_000


async def test_what_the_background_gives_back_during_a_purge_is_told_too(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(clock=lambda: NOW)
    made = await store.endpoints.create(factories.draft(retention_days=1))
    await fill(store, made.id, 5_000, NOW - 2 * DAY_US)
    clean = store._cleanup.run

    async def clean_and_reclaim() -> None:
        await clean()
        before = store._reclaim.given_back
        await store._reclaim.run()
        assert store._reclaim.given_back > before

    monkeypatch.setattr(store._cleanup, "run", clean_and_reclaim)
    report = await store.retention.purge()
    assert report.freed_bytes > 5_000 * 100
    await store.close()

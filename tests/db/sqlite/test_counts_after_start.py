"""The numbers kept in memory equal a recount of the file, however the last run ended."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from app.core.ids import uuid7
from app.core.model import PART_SIZE, DeliveryState, Endpoint
from app.db.sqlite.restore import restore
from app.db.sqlite.store import Store
from tests import deliveries, factories
from tests.db.helpers import add_many, check_totals, kept_bytes, query, recount, recount_bytes
from tests.support import until

NOW = 1_795_000_000_000_000


async def nothing(store: Store, endpoint: Endpoint) -> None:
    return


async def sending(store: Store, endpoint: Endpoint) -> None:
    """Two attempts are being made, one of them the second."""
    ((first,), (second,)) = [await deliveries.queued(store, endpoint) for _ in range(2)]
    await deliveries.finish(store, first, DeliveryState.QUEUED, deliveries.attempt(first))
    await store.deliveries.begin([first.id, second.id])


async def resending(store: Store, endpoint: Endpoint) -> None:
    """One was stored before it was sent again, and is passed a second time with the other."""
    (delivery,) = await deliveries.queued(store, endpoint)
    made = [deliveries.attempt(delivery, number) for number in (1, 2)]
    await store.deliveries.add_attempt(delivery, made[0])
    await deliveries.finish(store, delivery, DeliveryState.FAILED, *made, body=b"Busy.")


async def replaying(store: Store, endpoint: Endpoint) -> None:
    (capture, *_) = await add_many(store, endpoint.id, 3)
    replay = factories.queued().delivery
    fields = {"id": uuid7(NOW), "capture_id": capture.id, "endpoint_id": endpoint.id, "replay_id": uuid7(NOW)}
    await store.deliveries.add_replay(msgspec.structs.replace(replay, **fields))


async def receiving(store: Store, endpoint: Endpoint) -> None:
    """Half of a long body."""
    key = await store.captures.add_part(None, 0, bytes(PART_SIZE), endpoint_id=endpoint.id)
    await store.captures.add_part(key, PART_SIZE, bytes(1_000), endpoint_id=endpoint.id)


async def removing(store: Store, endpoint: Endpoint) -> None:
    await store._cleanup.stop()
    await store.endpoints.delete(endpoint.id)


@pytest.mark.parametrize("end", ["closed", "killed", "restored"])
@pytest.mark.parametrize("during", [nothing, sending, resending, replaying, receiving, removing])
async def test_numbers_equal_the_tables_after_every_kind_of_start(
    tmp_path: Path, during: Callable[[Store, Endpoint], Awaitable[None]], end: str
) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    store = await Store.open(folder, lambda _: None)
    endpoints = [await store.endpoints.create(factories.draft(forward_url=deliveries.URL)) for _ in range(2)]
    for endpoint in endpoints:
        await add_many(store, endpoint.id, 20)
        (delivery,) = await deliveries.queued(store, endpoint)
        await deliveries.fail(store, delivery)
    await during(store, endpoints[1])
    check_totals(store, folder)
    if end == "killed":
        folder = tmp_path / "killed"
        folder.mkdir()
        for name in ("hookline.db", "hookline.db-wal"):  # what a kill leaves at this moment
            shutil.copyfile(tmp_path / "first" / name, folder / name)
    if end == "restored":
        await store.backups.start(tmp_path / "backup.db")
        await store.backups.wait()
        folder = tmp_path / "restored"
        restore(folder, tmp_path / "backup.db", lambda *_: None, lambda _: None)
    await store.close()
    again = await Store.open(folder, lambda _: None)
    try:
        await until(lambda: recount_bytes(folder)[0] == again.limits.pending_deletion() == 0)
        await again._cleanup.run()
        assert kept_bytes(folder) == recount_bytes(folder)
        check_totals(again, folder)
        assert {one.id: again.captures.counts(one.id) for one in again.endpoints.all()} == recount(folder)
        for one in again.endpoints.all():
            assert again.limits.use_of(one.id).used == again.limits._own[one.id].allocated
        ended = "(SELECT capture_seq FROM delivery WHERE state != 'queued')"
        assert query(folder, f"SELECT seq FROM capture WHERE delivery = 'n' AND seq IN {ended}") == []
    finally:
        await again.close()

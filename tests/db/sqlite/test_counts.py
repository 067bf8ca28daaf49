"""The numbers kept in memory equal a recount of the file, whatever was done in whatever order."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from app.core.clock import DAY_US
from app.core.errors import NotFoundError
from app.core.events import Captured, EndpointRemoved, EndpointSaved, Event, Purged, RequestsRemoved
from app.core.ids import uuid7
from app.core.model import PART_SIZE, DeliveryState, Endpoint, Plan
from app.db.sqlite.backup.restore import restore
from app.db.sqlite.store import Store
from tests import deliveries, factories
from tests.db.helpers import add_many, check_totals, kept_bytes, query, recount, recount_bytes
from tests.support import until

NOW = 1_795_000_000_000_000


class Hands:
    """Does random things to a store, several at once."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self.store, self.dice = store, dice

    def endpoint(self) -> Endpoint | None:
        endpoints = self.store.endpoints.all()
        return self.dice.choice(endpoints) if endpoints else None

    async def some_ids(self, endpoint: Endpoint) -> list[str]:
        page = await self.store.captures.page(endpoint.id, limit=60)
        return [summary.id for summary in self.dice.sample(page, min(len(page), 20))]

    async def act(self) -> None:
        captures, endpoint = self.store.captures, self.endpoint()
        if endpoint is None or self.dice.random() < 0.1:
            await self.store.endpoints.create(factories.draft(retention_days=self.dice.randint(1, 3)))
            return
        received_at = NOW - self.dice.randint(0, 4 * DAY_US)
        deed = self.dice.randint(0, 11)
        try:
            if deed <= 4:
                await add_many(self.store, endpoint.id, self.dice.randint(1, 40), received_at=received_at)
            elif deed == 5:
                await captures.mark_read(await self.some_ids(endpoint), self.dice.random() < 0.7)
            elif deed == 6:
                await captures.mark_all_read(endpoint.id)
            elif deed == 7:
                await captures.delete(await self.some_ids(endpoint))
            elif deed == 8:
                await captures.clear(endpoint.id)
            elif deed == 9:
                await self.store.endpoints.delete(endpoint.id)
            elif deed == 10:
                days = self.dice.randint(1, 4)
                draft = msgspec.structs.replace(endpoint.draft(), retention_days=days)
                await self.store.endpoints.update(endpoint.id, draft)
            else:
                await self.store.retention.purge()
        except NotFoundError:
            return  # another hand deleted the endpoint first


@pytest.mark.parametrize("seed", range(6))
async def test_numbers_equal_a_recount_after_anything(tmp_path: Path, seed: int) -> None:
    events: list[Event] = []
    store = await Store.open(tmp_path, events.append, clock=lambda: NOW)
    await store.account.set_plan(Plan.PRO)
    hands = Hands(store, random.Random(seed))
    for _ in range(12):
        await asyncio.gather(*(hands.act() for _ in range(6)))
        await store._cleanup.run()  # what goes on behind a removal would move the numbers between two looks
        in_file = recount(tmp_path)
        assert kept_bytes(tmp_path) == recount_bytes(tmp_path)
        check_totals(store, tmp_path)
        assert {endpoint.id: store.captures.counts(endpoint.id) for endpoint in store.endpoints.all()} == in_file
    assert any(isinstance(event, Captured) for event in events)
    await store.close()
    again = await Store.open(tmp_path, lambda _: None)
    assert {one.id: again.captures.counts(one.id) for one in again.endpoints.all()} == in_file
    await again.close()


async def test_one_who_only_listens_arrives_at_the_same_totals(tmp_path: Path) -> None:
    totals: dict[int, int] = {}

    def listen(event: Event) -> None:
        match event:
            case EndpointSaved(endpoint=endpoint, created=True):
                totals[endpoint.id] = 0
            case EndpointRemoved(endpoint=endpoint):
                del totals[endpoint.id]
            case Captured(summaries=summaries):
                for summary in summaries:
                    totals[summary.endpoint_id] += 1
            case RequestsRemoved(endpoint_id=number, ids=ids):
                totals[number] = totals[number] - len(ids) if ids else store.captures.counts(number).total
            case Purged(report=report):
                for number, gone in report.deleted.items():
                    totals[number] -= gone

    store = await Store.open(tmp_path, listen, clock=lambda: NOW)
    await store.account.set_plan(Plan.PRO)
    hands = Hands(store, random.Random(7))
    for _ in range(60):
        await hands.act()
    assert totals == {endpoint.id: store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all()}
    await store.close()


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
    await store.deliveries.add_replays([msgspec.structs.replace(replay, **fields)])


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

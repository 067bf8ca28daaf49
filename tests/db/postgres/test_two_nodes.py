"""Two nodes with one database: each knows what the other did, and neither undoes it."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from app.core.errors import StorageUnavailableError
from app.core.events import DeletionUndone, Event
from app.core.model import PART_SIZE, Plan
from app.db.postgres.store import Store as PostgresStore
from app.db.store import Store
from tests import factories
from tests.db.hands import NOW, Hands
from tests.db.helpers import OpenStore, Place, add, add_many, kept_bytes, of_kind, query, recount, recount_bytes
from tests.db.postgres.cut_line import CutLine
from tests.support import until


def numbers_are_right(store: Store, place: Place) -> bool:
    counts = {endpoint.id: store.captures.counts(endpoint.id) for endpoint in store.endpoints.all()}
    stored = recount_bytes(place)
    used = store.limits.use_of_responses().used, store.limits.use().used
    return (counts, used) == (recount(place), (stored.pop(-1), sum(stored.values())))


async def agreed(stores: tuple[Store, Store], place: Place) -> None:
    """Wait until both know the numbers that are in the database."""
    for store in stores:
        await store._cleanup.run()
        store._writer.follow()
        await until(lambda store=store: numbers_are_right(store, place))


@pytest.mark.parametrize("seed", range(3))
async def test_both_know_the_numbers_whatever_each_does(open_store: OpenStore, place: Place, seed: int) -> None:
    stores = await open_store(clock=lambda: NOW), await open_store(clock=lambda: NOW)
    await stores[0].account.set_plan(Plan.PRO)
    hands = [Hands(store, random.Random(f"{seed} {number}")) for number, store in enumerate(stores)]
    for _ in range(6):
        await asyncio.gather(*(hand.act() for hand in hands for _ in range(3)))
        await agreed(stores, place)
        assert kept_bytes(place) == recount_bytes(place)


@pytest.mark.parametrize("seed", range(2))
async def test_both_know_the_numbers_though_connections_are_lost_at_commits(
    open_store: OpenStore, line: CutLine, place: Place, seed: int
) -> None:
    """Of which nobody knows whether they were made."""
    dice = random.Random(seed)
    stores = (
        await PostgresStore.open(line.through(str(place)), lambda _: None, clock=lambda: NOW),
        await open_store(clock=lambda: NOW),
    )
    await stores[1].account.set_plan(Plan.PRO)
    hands = [Hands(store, random.Random(f"{seed} {number}")) for number, store in enumerate(stores)]

    async def cut() -> None:
        for _ in range(3):
            await asyncio.sleep(dice.random() / 10)
            line.cut_at_commit(dice.choice(["", "INSERT", "UPDATE", "DELETE"]), stored=dice.random() < 0.7)

    try:
        for _ in range(6):
            await asyncio.gather(cut(), *(hand.act() for hand in hands for _ in range(3)))
            line.leave_whole()
            await until(lambda: not stores[0].trash._failed)
            await until(lambda: query(place, "SELECT count(*) FROM loose_body WHERE dropped = 0") == [(0,)])
            await agreed(stores, place)
            assert kept_bytes(place) == recount_bytes(place)
            hidden = query(place, "SELECT deletion FROM trash UNION SELECT trashed FROM endpoint WHERE removed = 0")
            known = stores[0].trash._restorable.keys() | stores[1].trash._restorable.keys()
            assert {number for (number,) in hidden} <= known | {None}
            assert query(place, "SELECT count(*) FROM trash WHERE node IS NULL") == [(0,)]
        assert line.cuts
    finally:
        await stores[0].close()


async def test_no_deletion_has_the_number_of_another_nodes(open_store: OpenStore) -> None:
    stores = await open_store(), await open_store()
    endpoint = await stores[0].endpoints.create(factories.draft())
    await until(lambda: stores[1].endpoints.by_id(endpoint.id))
    first, second = [(await add(store, endpoint.id)).id for store in stores]
    hidden = [await store.trash.delete([one]) for store, one in zip(stores, (first, second), strict=True)]
    assert len({deletion.number for deletion in hidden}) == 2
    await stores[0].trash.undo(hidden[0])
    assert [one.id for one in await stores[1].captures.page(endpoint.id)] == [first]
    await stores[0].close()
    again = await open_store()
    assert [one.id for one in await again.captures.page(endpoint.id)] == [first], "the other node hides it still"
    await stores[1].trash.undo(hidden[1])
    assert len(await again.captures.page(endpoint.id)) == 2


async def test_each_hears_what_the_other_restores(open_store: OpenStore, events: list[Event]) -> None:
    one, _ = await open_store(lambda _: None), await open_store()
    endpoint = await one.endpoints.create(factories.draft())
    deletion = await one.trash.delete([(await add(one, endpoint.id)).id])
    await one.trash.undo(deletion)
    undone = DeletionUndone(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    await until(lambda: of_kind(events, DeletionUndone) == [undone])


async def test_each_hears_what_the_other_restores_at_its_end(open_store: OpenStore, events: list[Event]) -> None:
    one, _ = await open_store(lambda _: None), await open_store()
    endpoint = await one.endpoints.create(factories.draft())
    deletion = await one.trash.delete([(await add(one, endpoint.id)).id])
    await one.close()
    undone = DeletionUndone(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    await until(lambda: of_kind(events, DeletionUndone) == [undone], 5)


@pytest.mark.parametrize("failed", ["delete", "undo"])
async def test_each_hears_what_the_other_did_not_finish_before_its_end(
    open_store: OpenStore, events: list[Event], monkeypatch: pytest.MonkeyPatch, failed: str
) -> None:
    one, _ = await open_store(lambda _: None), await open_store()
    endpoint = await one.endpoints.create(factories.draft())
    made = [capture.id for capture in await add_many(one, endpoint.id, 600)]
    deletion = await one.trash.delete(made[::2]) if failed == "undo" else None
    between, steps = one._writer.between, 0

    async def fails_later(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps > 1:
            raise StorageUnavailableError("The database server cannot be reached.")
        return await between(*args)

    monkeypatch.setattr(one._writer, "between", fails_later)
    with pytest.raises(StorageUnavailableError):
        await (one.trash.delete(made) if deletion is None else one.trash.undo(deletion))
    monkeypatch.setattr(one._writer, "between", between)
    await one.close()
    await until(lambda: [event.endpoint_ids for event in of_kind(events, DeletionUndone)] == [{endpoint.id}], 5)


async def test_a_start_leaves_alone_what_another_node_receives(open_store: OpenStore, place: Place) -> None:
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    body = bytes(PART_SIZE + 5)
    key = await store.captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
    other = await open_store()
    await other._cleanup.run()
    capture = factories.capture(body, endpoint_id=endpoint.id)
    await store.captures.add(capture, body[PART_SIZE:], key)
    assert await other.captures.body(capture.id) == body
    assert query(place, "SELECT count(*) FROM loose_body") == [(0,)]


async def test_what_one_hides_and_the_other_purges_is_not_counted_again(open_store: OpenStore, place: Place) -> None:
    stores = await open_store(clock=lambda: NOW), await open_store(clock=lambda: NOW)
    endpoint = await stores[0].endpoints.create(factories.draft(retention_days=1))
    await add_many(stores[0], endpoint.id, 5, received_at=NOW - 2 * 86_400_000_000)
    fresh = await add_many(stores[0], endpoint.id, 2, received_at=NOW)
    deletion = await stores[0].trash.clear(endpoint.id)
    await until(lambda: stores[1].endpoints.by_id(endpoint.id))
    assert (await stores[1].retention.purge()).deleted == {endpoint.id: 5}
    await stores[0].trash.undo(deletion)
    assert stores[0].captures.counts(endpoint.id).total == len(fresh)
    await agreed(stores, place)

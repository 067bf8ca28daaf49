"""The numbers kept in memory equal a recount of the file, whatever was done in whatever order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from app.core.clock import DAY_US
from app.core.deletion import Deletion
from app.core.errors import NotFoundError
from app.core.events import Captured, EndpointRemoved, EndpointSaved, Event, Purged, RequestsRemoved
from app.core.model import PART_SIZE, Counts, DeliveryState, Endpoint, Plan
from app.core.store import Store
from tests import deliveries, factories
from tests.db.helpers import OpenStore, Place, add_many, check_totals, kept_bytes, query, recount, recount_bytes

NOW = 1_795_000_000_000_000


class Hands:
    """Does random things to a store, several at once."""

    def __init__(self, store: Store, dice: random.Random, *, restoring: bool) -> None:
        """`restoring`: deletes also what can be restored, which is told to those who asked for it alone."""
        self.store, self.dice, self.restoring = store, dice, restoring
        self.deletions: list[Deletion] = []

    def endpoint(self) -> Endpoint | None:
        endpoints = self.store.endpoints.all()
        return self.dice.choice(endpoints) if endpoints else None

    async def some_ids(self, endpoint: Endpoint) -> list[str]:
        page = await self.store.captures.page(endpoint.id, limit=60)
        return [summary.id for summary in self.dice.sample(page, min(len(page), 20))]

    async def capture_long(self, endpoint: Endpoint) -> None:
        """Store a body in parts, or give it up."""
        captures, body = self.store.captures, bytes(PART_SIZE + self.dice.randint(1, 9_000))
        key = await captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
        try:
            if self.dice.random() < 0.7:
                capture = factories.capture(body, endpoint_id=endpoint.id, trailers=(("X-Sum", "1"),))
                await captures.add(capture, body[PART_SIZE:], key)
                key = None
        finally:
            if key is not None:
                await captures.drop_parts(key)

    async def capture(self, endpoint: Endpoint) -> None:
        received_at = NOW - self.dice.randint(0, 4 * DAY_US)
        await add_many(self.store, endpoint.id, self.dice.randint(1, 40), received_at=received_at)

    async def deliver(self, endpoint: Endpoint) -> None:
        """Queue a delivery, and mostly fail it after an attempt or two."""
        if endpoint.targets and self.dice.random() < 0.8:
            for delivery in await deliveries.queued(self.store, endpoint):
                numbers = range(1, self.dice.randint(2, 3))
                made = [deliveries.attempt(delivery, number) for number in numbers]
                await deliveries.finish(self.store, delivery, DeliveryState.FAILED, *made, body=b"Busy.")

    async def mark(self, endpoint: Endpoint) -> None:
        captures, some = self.store.captures, await self.some_ids(endpoint)
        await self.dice.choice((captures.mark_read, captures.star))(some, self.dice.random() < 0.7)

    async def hide(self, endpoint: Endpoint) -> None:
        """Delete something that can be restored."""
        trash, kind = self.store.trash, self.dice.randint(0, 2)
        if kind == 0:
            self.deletions.append(await trash.delete(await self.some_ids(endpoint)))
        else:
            deleting = trash.clear(endpoint.id, ("starred",)) if kind == 1 else trash.delete_endpoint(endpoint.id)
            self.deletions.append(await deleting)

    async def settle(self, _: Endpoint) -> None:
        """Restore what was deleted, or delete it for good."""
        if self.deletions:
            deletion = self.deletions.pop(self.dice.randrange(len(self.deletions)))
            await self.dice.choice((self.store.trash.undo, self.store.trash.purge))(deletion)

    async def change_days(self, endpoint: Endpoint) -> None:
        draft = msgspec.structs.replace(endpoint.draft(), retention_days=self.dice.randint(1, 4))
        await self.store.endpoints.update(endpoint.id, draft)

    async def act(self) -> None:
        captures, endpoint = self.store.captures, self.endpoint()
        if endpoint is None or self.dice.random() < 0.1:
            url = self.dice.choice((None, deliveries.URL))
            await self.store.endpoints.create(factories.draft(retention_days=self.dice.randint(1, 3), forward_url=url))
            return
        deeds: list[tuple[int, Callable[[Endpoint], Awaitable[object]]]] = [
            (5, self.capture),
            (1, self.capture_long),
            (2, self.deliver),
            (2, self.mark),
            (1, lambda endpoint: captures.mark_all_read(endpoint.id)),
            (1, self.delete),
            (1, lambda endpoint: captures.clear(endpoint.id)),
            (1, lambda endpoint: self.store.endpoints.delete(endpoint.id)),
            (1, self.change_days),
            (1, lambda _: self.store.retention.purge()),
            *([(2, self.hide), (1, self.settle)] if self.restoring else []),
        ]
        (deed,) = self.dice.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])
        try:
            await deed(endpoint)
        except NotFoundError:
            return  # another hand deleted the endpoint first

    async def delete(self, endpoint: Endpoint) -> None:
        await self.store.captures.delete(await self.some_ids(endpoint))


def check_kept_counts(place: Place, counted: dict[int, Counts]) -> None:
    """PostgreSQL keeps the counts too, for all nodes."""
    if isinstance(place, str):
        kept = {number: tally for number, *tally in query(place, "SELECT owner, total, unread FROM storage_use")}
        assert {number: kept[number] for number in counted} == {
            number: [one.total, one.unread] for number, one in counted.items()
        }


@pytest.mark.parametrize("seed", range(6))
async def test_numbers_equal_a_recount_after_anything(
    open_store: OpenStore, place: Place, events: list[Event], seed: int
) -> None:
    store = await open_store(clock=lambda: NOW)
    await store.account.set_plan(Plan.PRO)
    hands = Hands(store, random.Random(seed), restoring=True)
    for _ in range(12):
        await asyncio.gather(*(hands.act() for _ in range(6)))
        await store._cleanup.run()  # what goes on behind a removal would move the numbers between two looks
        counted = recount(place)
        assert kept_bytes(place) == recount_bytes(place)
        check_totals(store, place)
        assert {endpoint.id: store.captures.counts(endpoint.id) for endpoint in store.endpoints.all()} == counted
        check_kept_counts(place, counted)
    assert any(isinstance(event, Captured) for event in events)
    for deletion in hands.deletions:
        await store.trash.undo(deletion)
    counted = recount(place)
    await store.close()
    again = await open_store()
    assert {one.id: again.captures.counts(one.id) for one in again.endpoints.all()} == counted
    await again.close()


async def test_one_who_only_listens_arrives_at_the_same_totals(open_store: OpenStore) -> None:
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

    store = await open_store(listen, clock=lambda: NOW)
    await store.account.set_plan(Plan.PRO)
    hands = Hands(store, random.Random(7), restoring=False)
    for _ in range(60):
        await hands.act()
    assert totals == {endpoint.id: store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all()}
    await store.close()

"""The numbers kept in memory equal a recount of the file, whatever was done in whatever order."""

from __future__ import annotations

import asyncio
import random

import pytest

from app.core.events import Captured, EndpointRemoved, EndpointSaved, Event, Purged, RequestsRemoved
from app.core.model import Counts, Plan
from tests.db.hands import NOW, Hands
from tests.db.helpers import OpenStore, Place, check_totals, kept_bytes, query, recount, recount_bytes, settled


def check_kept_counts(place: Place, counted: dict[int, Counts]) -> None:
    """PostgreSQL keeps the counts too, for all nodes."""
    if isinstance(place, str):
        kept = {number: tally for number, *tally in query(place, "SELECT owner, total, unread FROM storage_use")}
        assert {number: kept[number] for number in counted} == {
            number: [one.total, one.unread] for number, one in counted.items()
        }


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in (3, 4, 5))])
async def test_numbers_equal_a_recount_after_anything(
    open_store: OpenStore, place: Place, events: list[Event], seed: int
) -> None:
    store = await open_store(clock=lambda: NOW)
    await store.account.set_plan(Plan.PRO)
    hands = Hands(store, random.Random(seed))
    for _ in range(12):
        await asyncio.gather(*(hands.act() for _ in range(6)))
        await settled(store)
        counted = recount(place)
        assert kept_bytes(place) == recount_bytes(place)
        check_totals(store, place)
        assert {endpoint.id: store.captures.counts(endpoint.id) for endpoint in store.endpoints.all()} == counted
        check_kept_counts(place, counted)
    assert any(isinstance(event, Captured) for event in events)
    for deletion in hands.requests.deletions:
        await store.trash.undo(deletion)
    await store.close()
    again = await open_store()
    assert {one.id: again.captures.counts(one.id) for one in again.endpoints.all()} == recount(place)
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

"""Deleting all of an endpoint's requests later than it is asked for, and keeping those that are marked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.core.deletion import Clearing, Hidden, Mark
from app.core.events import Event, RequestsRemoved
from app.core.model import Endpoint
from app.core.search.parse import parse
from app.db.store import Store
from tests import factories
from tests.db.helpers import add_many, of_kind, query


@pytest.fixture
async def endpoint(store: Store) -> Endpoint:
    return await store.endpoints.create(factories.draft())


async def ids(store: Store, endpoint: Endpoint) -> list[str]:
    return [one.id for one in reversed(await store.captures.page(endpoint.id, limit=2_000))]


@pytest.mark.parametrize(
    ("keep", "left"), [((), []), (("starred",), [1, 2]), (("noted",), [2, 4]), (("starred", "noted"), [1, 2, 4])]
)
async def test_what_has_a_mark_can_be_kept(
    store: Store, endpoint: Endpoint, events: list[Event], keep: tuple[Mark, ...], left: list[int]
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 300)]
    await store.captures.star([made[1], made[2]])
    for number in (2, 4):
        await store.captures.set_note(made[number], "mine")
    marked = await store.captures.clearings.marked(endpoint.id)
    assert (marked.starred, marked.noted) == ({made[1], made[2]}, {made[2], made[4]})
    await store.captures.mark_read([made[1], made[7]])
    await store.captures.clear(endpoint.id, keep)
    assert await ids(store, endpoint) == [made[number] for number in left]
    counts = store.captures.counts(endpoint.id)
    assert (counts.total, counts.unread) == (len(left), len(left) - (1 in left))
    (removed,) = of_kind(events, RequestsRemoved)
    assert [number for number in range(300) if not removed.has(endpoint.id, made[number])] == left


async def test_what_is_stored_after_it_was_asked_for_stays_even_if_its_head_came_before(
    store: Store, endpoint: Endpoint, tmp_path: Path
) -> None:
    made = await add_many(store, endpoint.id, 5)
    receiving = factories.capture(b"{}", endpoint_id=endpoint.id, received_at=made[0].received_at - 1_000)
    await store.captures.mark_read([made[3].id])
    clearing = await store.captures.clearings.begin(endpoint.id, ())
    assert (clearing.total, clearing.unread) == (5, 4)
    assert all(clearing.has(endpoint.id, one.id) for one in made)
    assert await ids(store, endpoint) == [one.id for one in made], "deleted before it was finished"
    await store.captures.add(receiving, b"{}")
    late = await add_many(store, endpoint.id, 1)
    await store.captures.clearings.finish(clearing)
    assert await ids(store, endpoint) == [receiving.id, late[0].id]
    assert clearing.deleted == 5
    assert query(tmp_path, "SELECT count(*) FROM capture") == [(2,)]


async def test_deleting_all_at_once_keeps_what_is_stored_meanwhile_though_its_head_came_before(
    store: Store, endpoint: Endpoint
) -> None:
    await add_many(store, endpoint.id, 700)
    receiving = factories.capture(b"{}", endpoint_id=endpoint.id)
    clearing = asyncio.ensure_future(store.captures.clear(endpoint.id))
    await asyncio.sleep(0)
    await store.captures.add(receiving, b"{}")
    await clearing
    assert await ids(store, endpoint) == [receiving.id], "what was acknowledged is deleted"


async def test_one_that_is_given_up_deletes_nothing(store: Store, endpoint: Endpoint) -> None:
    made = await add_many(store, endpoint.id, 3)
    clearing = await store.captures.clearings.begin(endpoint.id, ())
    store.captures.clearings.give_up(clearing)
    await add_many(store, endpoint.id, 1)
    assert not clearing.kept, "it still hears of new requests"
    assert len(await ids(store, endpoint)) == len(made) + 1


@pytest.mark.parametrize("by_span", [True, False])
async def test_hidden_requests_are_in_no_page_no_search_and_no_bar(
    store: Store, endpoint: Endpoint, by_span: bool
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 400)]
    gone = set(made[50:350])
    await store.captures.star(made[340:360])
    span = Clearing(endpoint.id)
    span.limit(made[349], frozenset(made[:50]))
    hidden = Hidden(spans=(span,)) if by_span else Hidden(names=gone.__contains__)
    kept = [name for name in reversed(made) if name not in gone]
    for of in (endpoint.id, None):
        page = await store.captures.page(of, limit=80, hidden=hidden)
        assert [one.id for one in page] == kept[:80]
        found = store.captures.search(parse("method:POST"), of, limit=500, hidden=hidden)
        assert [one.id async for batch in found for one in batch] == kept
        starred = store.captures.search(parse("is:starred"), of, limit=500, hidden=hidden)
        assert [one.id async for batch in starred for one in batch] == kept[40:50]
        bars = await store.activity.bars(of, [0, 2**62], hidden=hidden)
        assert bars[0].total == 100
        assert (await store.activity.bars(of, [0, 2**62]))[0].total == 400


async def test_of_ids_those_stored_are_told_by_endpoint(store: Store, endpoint: Endpoint) -> None:
    other = await store.endpoints.create(factories.draft())
    one, two = [(await add_many(store, of.id, 1))[0].id for of in (endpoint, other)]
    await store.captures.mark_read([two])
    found = await store.captures.clearings.stored([one, two, "unknown"])
    assert {number: (some.ids, some.unread) for number, some in found.items()} == {
        endpoint.id: ((one,), 1),
        other.id: ((two,), 0),
    }

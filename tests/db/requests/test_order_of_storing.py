"""The order of storing is the order of `seq`, in events, in the file and after a restart."""

from __future__ import annotations

import asyncio
import os

import pytest

from app.core.events import Captured, Event
from app.core.model import PART_SIZE, Capture, Endpoint
from app.core.search.parse import parse
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore, add, add_many, of_kind
from tests.stored import store_request


async def stored(store: Store, after: int = 0, limit: int = 1000) -> list[tuple[int, str]]:
    return [(one.seq, one.id) for one in await store.captures.between(after, store.captures.newest_seq, limit)]


async def test_what_is_stored_is_read_in_the_order_it_was_published(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    """However long ago a body began to arrive."""
    body = os.urandom(PART_SIZE + 1)

    async def slowly() -> Capture:
        capture = factories.capture(body, endpoint_id=endpoint.id)
        key = await store.captures.add_part(None, 0, body[:PART_SIZE])
        await add_many(store, endpoint.id, 3)
        await store.captures.add(capture, body[PART_SIZE:], key)
        return capture

    await asyncio.gather(*(slowly() for _ in range(3)), add_many(store, endpoint.id, 5))
    last = await slowly()
    published = [(one.seq, one.id) for event in of_kind(events, Captured) for one in event.summaries]
    assert [seq for seq, _ in published] == list(range(1, 22))
    assert published[-1][1] == last.id
    assert store.captures.newest_seq == 21
    assert await stored(store) == published
    for at, (seq, capture_id) in enumerate(published):
        assert await store.captures.seq_of(capture_id) == seq
        assert await stored(store, seq, 2) == published[at + 1 : at + 3]
    assert await store.captures.seq_of(factories.capture(b"").id) is None


@pytest.mark.parametrize("deleted", ["newest", "all"])
async def test_no_number_is_used_twice(open_store: OpenStore, deleted: str) -> None:
    """Not even that of the newest request, deleted before a restart."""
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    made = await add_many(store, endpoint.id, 4)
    made.append(await store_request(store.captures, factories.capture(bytes(PART_SIZE + 1)), bytes(PART_SIZE + 1)))
    await store.captures.add_part(None, 0, bytes(PART_SIZE))
    if deleted == "all":
        await store.captures.clear(endpoint.id)
    else:
        await store.captures.delete([made[-1].id])
    before = store.captures.newest_seq
    assert before == made[-1].seq == 5
    await store.close()

    store = await open_store()
    try:
        assert store.captures.newest_seq == before
        later = [await add(store, endpoint.id) for _ in range(3)]
        assert [capture.seq for capture in later] == [6, 7, 8]
        assert await stored(store, before) == [(capture.seq, capture.id) for capture in later]
    finally:
        await store.close()


async def test_which_of_some_requests_match(store: Store, endpoint: Endpoint) -> None:
    made = [await add(store, endpoint.id) for _ in range(4)]
    await store.captures.star([made[1].id, made[2].id])
    ids = [capture.id for capture in made[:2]]
    assert await store.captures.matching(parse("is:starred"), ids) == {made[1].id}
    assert await store.captures.matching(parse("method:GET"), ids) == set()
    assert await store.captures.matching(parse("-is:starred"), []) == set()
    assert await store.captures.matching(parse("method:POST"), [*ids, "unknown"]) == set(ids)

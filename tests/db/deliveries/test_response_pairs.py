"""Pages of requests that two targets of an endpoint have responded to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.core.clock import now_us
from app.core.comparison import ComparedResponse, ResponsePairs
from app.core.delivery import Delivery, RequestEdit
from app.core.ids import uuid7
from app.core.model import Endpoint
from app.core.replay import ChosenRequests, Faults, Replay, ReplaySpec
from app.db.deliveries import response_pairs
from app.db.store import Store
from tests import deliveries

JSON = (("Content-Type", "application/json"),)


async def answered(store: Store, endpoint: Endpoint, first: bytes = b"1", second: bytes = b"1") -> str:
    """A request that both targets responded to with these bodies; its ID."""
    rows = await deliveries.queued(store, endpoint)
    await deliveries.respond(store, rows[0], body=first)
    await deliveries.respond(store, rows[1], body=second)
    return rows[0].capture_id


async def page(store: Store, endpoint: Endpoint, **more: Any) -> ResponsePairs:
    first, second = endpoint.targets
    return await store.response_pairs.page(endpoint.id, first.id, second.id, **more)


async def test_both_responses_with_what_is_needed_to_compare(store: Store) -> None:
    endpoint = await deliveries.two_targets(store)
    old, new = await deliveries.queued(store, endpoint)
    await deliveries.respond(store, old, 201, b'{"id":1}', truncated=True)
    await deliveries.fail(store, new, attempts=2)
    (pair,) = (await page(store, endpoint)).pairs
    assert (pair.request.id, pair.first_delivery, pair.second_delivery) == (old.capture_id, old.id, new.id)
    assert pair.first == ComparedResponse(status=201, headers=JSON, body=b'{"id":1}', complete=False, ms=2.5)
    assert pair.second == ComparedResponse(status=None, failure=deliveries.REFUSED)


async def test_requests_without_an_ended_delivery_to_both_are_left_out(store: Store) -> None:
    endpoint = await deliveries.two_targets(store)
    compared = await answered(store, endpoint)
    waiting = await deliveries.queued(store, endpoint)
    await deliveries.respond(store, waiting[0])
    await deliveries.queued(store, replace(endpoint, targets=endpoint.targets[:1]))
    other = await deliveries.two_targets(store)
    await answered(store, other)
    found = await page(store, endpoint)
    assert ([pair.request.id for pair in found.pairs], found.examined, found.next) == ([compared], 3, None)


async def test_pages_newest_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = await deliveries.two_targets(store)
    ids = [await answered(store, endpoint) for _ in range(5)]
    found, before = [], None
    while (got := await page(store, endpoint, before=before, limit=2)).next is not None:
        found.append([pair.request.id for pair in got.pairs])
        before = got.next
    assert [*found, [pair.request.id for pair in got.pairs]] == [ids[:2:-1], ids[2:0:-1], ids[:1]]
    # The same where a page has to end before its limit.
    for name, value in (("BODIES_MAX", 1), ("EXAMINED_MAX", 2)):
        monkeypatch.setattr(response_pairs, name, value)
        some: list[str] = []
        before = None
        while True:
            got = await page(store, endpoint, before=before)
            some += [pair.request.id for pair in got.pairs]
            if got.next is None:
                break
            before = got.next
        assert some == ids[::-1]


async def test_only_some_requests(store: Store) -> None:
    endpoint = await deliveries.two_targets(store)
    ids = [await answered(store, endpoint) for _ in range(3)]
    found = await page(store, endpoint, capture_ids=[ids[1], "unknown"])
    assert [pair.request.id for pair in found.pairs] == [ids[1]]


async def test_a_newer_replay_counts_unless_it_changed_the_request(store: Store) -> None:
    endpoint = await deliveries.two_targets(store)
    capture_id = await answered(store, endpoint, b"old", b"new")

    async def replayed(body: bytes, **spec: Any) -> None:
        source = ChosenRequests(ids=(capture_id,))
        replay = Replay(id=uuid7(now_us()), created_at=now_us(), spec=ReplaySpec(source=source, **spec))
        await store.replays.save(replay)
        row = (await store.deliveries.of_capture(capture_id))[1]
        again = Delivery(
            id=uuid7(now_us()),
            capture_id=capture_id,
            endpoint_id=endpoint.id,
            target_id=row.target_id,
            replay_id=replay.id,
            url=row.url,
            state=row.state,
            queued_at=now_us(),
        )
        await store.deliveries.add_replay(again)
        await deliveries.respond(store, again, body=body)

    async def bodies() -> tuple[bytes, bytes]:
        (pair,) = (await page(store, endpoint)).pairs
        return pair.first.body, pair.second.body

    await replayed(b"again")
    assert await bodies() == (b"old", b"again")
    await replayed(b"edited", edit=RequestEdit(body=b"else"))
    await replayed(b"cut", faults=Faults(cut_off=0.5))
    assert await bodies() == (b"old", b"again")

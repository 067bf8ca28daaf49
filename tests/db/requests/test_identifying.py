"""Who sent a request and what came is stored with it, or found out later."""

from __future__ import annotations

from typing import Any

from app.core.events import Event, RequestsUpdated
from app.core.model import PART_SIZE, Endpoint
from app.core.providers import ProviderMatch
from app.core.record import Headers
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore, Place, add, add_many, of_kind, query
from tests.stored import store_request
from tests.support import until

BY_US: Headers = (("X-Us", "order.paid"),)


def identify(headers: Headers, content_type: str, body: bytes) -> ProviderMatch | None:
    """Knows one service, whose requests are told by a header."""
    event = dict(headers).get("X-Us")
    return None if event is None else ProviderMatch(provider="us", event=event, delivery_id=body[:3].decode())


async def opened(open_store: OpenStore) -> tuple[Store, Endpoint]:
    store = await open_store(identify=identify)
    made = next(iter(store.endpoints.all()), None) or await store.endpoints.create(factories.draft())
    return store, made


def unlooked(place: Place) -> int:
    return int(query(place, "SELECT count(*) FROM capture WHERE provider IS NULL")[0][0])


def changes_of(events: list[Event]) -> dict[str, Any]:
    """What has been told of each request."""
    return {name: fields for event in of_kind(events, RequestsUpdated) for name, fields in event.changes.items()}


async def test_what_the_capture_knows_is_stored_and_listed(open_store: OpenStore, place: Place) -> None:
    store, endpoint = await opened(open_store)
    stored = await add(store, endpoint.id, provider="us", event="order.paid", delivery_id="d-1", gist="JSON · id")
    assert await store.captures.get(stored.id) == stored
    (row,) = await store.captures.page(endpoint.id)
    assert (row.provider, row.event) == ("us", "order.paid")
    assert row == stored.summary()
    await store.close()
    assert unlooked(place) == 0


async def test_what_was_stored_unlooked_at_is_found_out_and_told(
    open_store: OpenStore, place: Place, events: list[Event]
) -> None:
    store, endpoint = await opened(open_store)
    ours = await add(store, endpoint.id, b"abc" + b"x" * 9_000, headers=BY_US, identified=False)
    other = await add(store, endpoint.id, b"y" * 9_000, identified=False)
    await until(lambda: not unlooked(place))
    await until(lambda: of_kind(events, RequestsUpdated))
    found, nobody = await store.captures.get(ours.id), await store.captures.get(other.id)
    assert found is not None
    assert (found.provider, found.event, found.delivery_id, found.identified) == ("us", "order.paid", "abc", True)
    assert nobody is not None
    assert (nobody.provider, nobody.event, nobody.identified) == (None, None, True)
    told = changes_of(events)
    assert (told[ours.id]["provider"], told[ours.id]["event"]) == ("us", "order.paid")
    assert not told.get(other.id, {}).keys() & {"provider", "event"}
    assert {event.endpoint_ids for event in of_kind(events, RequestsUpdated)} == {(endpoint.id,)}
    await store.close()


async def test_a_body_in_parts_is_looked_at_from_its_beginning(open_store: OpenStore, place: Place) -> None:
    store, endpoint = await opened(open_store)
    body = b"abc" + b"x" * PART_SIZE
    capture = factories.capture(body, endpoint_id=endpoint.id, headers=BY_US, identified=False)
    await store_request(store.captures, capture, body)
    await until(lambda: not unlooked(place))
    found = await store.captures.get(capture.id)
    assert found is not None
    assert found.delivery_id == "abc"
    await store.close()


async def test_a_gist_is_stored_and_listed(open_store: OpenStore) -> None:
    store, endpoint = await opened(open_store)
    stored = await add(store, endpoint.id, gist="JSON · hello")
    (row,) = await store.captures.page(endpoint.id)
    assert (row.gist, row) == ("JSON · hello", stored.summary())
    assert await store.captures.get(stored.id) == stored
    await store.close()


async def test_a_long_bodys_gist_says_more_once_all_of_it_was_read(
    open_store: OpenStore, place: Place, events: list[Event]
) -> None:
    store, endpoint = await opened(open_store)
    body = b"[" + b",".join([b'{"id":1,"name":"x"}'] * 2_000) + b"]"
    begun = await add(store, endpoint.id, body, gist="JSON array · id, name, …", identified=False)
    told = await add(store, endpoint.id, b"hello", gist="JSON · hello", content_type="", identified=False)
    await until(lambda: not unlooked(place))
    await until(lambda: len(changes_of(events)) == 2)
    assert {row.id: row.gist for row in await store.captures.page(endpoint.id)} == {
        begun.id: "JSON array · 2,000 × id, name",
        told.id: "text · hello",
    }
    assert changes_of(events) == {
        begun.id: {"gist": "JSON array · 2,000 × id, name"},
        told.id: {"gist": "text · hello"},
    }
    await store.close()


async def test_without_a_catalogue_nothing_is_looked_at(open_store: OpenStore, place: Place) -> None:
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    await add(store, endpoint.id, identified=False)
    await store.close()
    assert unlooked(place) == 1


async def test_closing_in_the_middle_leaves_the_rest_for_the_next_start(open_store: OpenStore, place: Place) -> None:
    store, endpoint = await opened(open_store)
    await add_many(store, endpoint.id, 500, headers=BY_US, identified=False)
    await store.close()
    store, _ = await opened(open_store)
    await until(lambda: not unlooked(place))
    await store.close()

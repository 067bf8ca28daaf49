"""Stars and notes: kept beside the requests, told when they change, gone with them."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.events import Event, RequestsUpdated
from app.core.model import Capture, Endpoint
from app.core.rules import NOTE_MAX
from app.db.captures import IDS_PER_STEP
from app.db.store import Store
from tests import factories
from tests.db.helpers import OpenStore, Place, add, add_many, of_kind, query

MARKS = "SELECT (SELECT count(*) FROM capture_star), (SELECT count(*) FROM capture_note)"


async def kept(store: Store, capture: Capture) -> Capture:
    found = await store.captures.get(capture.id)
    assert found is not None
    return found


async def test_a_new_request_has_neither(store: Store, endpoint: Endpoint) -> None:
    capture = await add(store, endpoint.id)
    (row,) = await store.captures.page(endpoint.id)
    assert (row.starred, row.note) == (False, None)
    assert await kept(store, capture) == capture


async def test_a_star_is_listed_and_kept_over_a_restart(open_store: OpenStore) -> None:
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    plain, starred = await add_many(store, endpoint.id, 2)
    await store.captures.star([starred.id])
    await store.captures.set_note(starred.id, "look here")
    await store.close()
    store = await open_store()
    rows = {row.id: row for row in await store.captures.page(endpoint.id)}
    assert (rows[starred.id].starred, rows[starred.id].note) == (True, "look here")
    assert (rows[plain.id].starred, rows[plain.id].note) == (False, None)
    assert rows == {row.id: row for row in await store.captures.page(None)}
    assert (await kept(store, starred)).summary() == rows[starred.id]
    await store.close()


async def test_only_what_changed_is_told(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    other = await store.endpoints.create(factories.draft())
    first, second = await add(store, endpoint.id), await add(store, other.id)
    await store.captures.star([first.id])
    await store.captures.star([first.id, second.id, second.id, "unknown"])
    await store.captures.star([first.id, second.id])
    await store.captures.star([first.id], False)
    await store.captures.star(["unknown"], False)
    assert [
        (event.endpoint_ids, {name: fields["starred"] for name, fields in event.changes.items()})
        for event in of_kind(events, RequestsUpdated)
    ] == [
        ((endpoint.id,), {first.id: True}),
        ((other.id,), {second.id: True}),
        ((endpoint.id,), {first.id: False}),
    ]
    assert not (await kept(store, first)).starred
    assert (await kept(store, second)).starred


async def test_many_are_starred_in_steps(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    captures = await add_many(store, endpoint.id, IDS_PER_STEP + 20)
    await store.captures.star([capture.id for capture in captures])
    told = of_kind(events, RequestsUpdated)
    assert [len(event.changes) for event in told] == [IDS_PER_STEP, 20]
    assert all(row.starred for row in await store.captures.page(endpoint.id, limit=500))


async def test_a_note_is_trimmed_changed_and_removed(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    capture = await add(store, endpoint.id)
    for text in ("  paid twice?\n", "paid twice?", "ünïcode\n\U0001f600 on two lines", " \n\t", ""):
        await store.captures.set_note(capture.id, text)
    told = of_kind(events, RequestsUpdated)
    assert [event.changes[capture.id]["note"] for event in told] == [
        "paid twice?",
        "ünïcode\n\U0001f600 on two lines",
        None,
    ]
    assert {(*event.changes, *event.endpoint_ids) for event in told} == {(capture.id, endpoint.id)}
    assert (await kept(store, capture)).note is None


async def test_a_note_that_breaks_a_rule_leaves_the_old_one(store: Store, endpoint: Endpoint) -> None:
    capture = await add(store, endpoint.id)
    longest = "\U0001f600" * NOTE_MAX
    await store.captures.set_note(capture.id, longest)
    for wrong in ("n" * (NOTE_MAX + 1), "half \ud83d", "nul \0"):
        with pytest.raises(InvalidFieldsError) as raised:
            await store.captures.set_note(capture.id, wrong)
        assert [error.field for error in raised.value.errors] == ["note"]
    assert (await kept(store, capture)).note == longest


async def test_a_request_that_is_gone_takes_no_note(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    gone, hidden = await add_many(store, endpoint.id, 2)
    await store.captures.delete([gone.id])
    await store.endpoints.delete(endpoint.id)
    for capture in (gone, hidden):
        with pytest.raises(NotFoundError):
            await store.captures.set_note(capture.id, "too late")
    assert of_kind(events, RequestsUpdated) == []


async def test_marks_go_with_their_requests_whatever_deletes_them(
    store: Store, endpoint: Endpoint, place: Place
) -> None:
    expired = await add(store, endpoint.id, received_at=1)
    deleted, cleared = await add_many(store, endpoint.id, 2)
    ids = [deleted.id, expired.id, cleared.id]
    await store.captures.star(ids)
    for one in ids:
        await store.captures.set_note(one, "kept?")
    for delete, left in (
        (store.captures.delete([deleted.id]), 2),
        (store.retention.purge(), 1),
        (store.captures.clear(endpoint.id), 0),
    ):
        await delete
        assert query(place, MARKS) == [(left, left)]


async def test_marking_leaves_counts_and_read_marks_alone(store: Store, endpoint: Endpoint) -> None:
    captures = await add_many(store, endpoint.id, 3)
    before = store.captures.counts(endpoint.id)
    await store.captures.star([capture.id for capture in captures])
    await store.captures.set_note(captures[0].id, "note")
    assert store.captures.counts(endpoint.id) == before
    assert not (await kept(store, captures[0])).read

"""Endpoints: rules, the plan's limit however it is tried, and a directory that is always right."""

from __future__ import annotations

import asyncio
import threading

import msgspec
import pytest

from app.core.errors import InvalidFieldsError, NotFoundError, PlanLimitError
from app.core.events import EndpointRemoved, EndpointSaved, EndpointsReordered, Event, PlanChanged
from app.core.model import Counts, Endpoint, EndpointDraft, Plan
from app.core.rules import create_refusal, plan_refusal
from app.db.store import Store
from tests import factories
from tests.db.helpers import INTEGRITY_ERRORS, OpenStore, Place, add, add_many, of_kind, query, write
from tests.support import until

INSERT = (
    "INSERT INTO endpoint (slug, name, description, retention_days, active, response, auth, created_at)"
    " VALUES (?, 'n', '', ?, 1, '{}', '{}', 0)"
)


async def test_a_new_endpoint_is_in_the_directory_and_announced(store: Store, events: list[Event]) -> None:
    made = await store.endpoints.create(factories.draft(slug="abc"))
    assert store.endpoints.by_slug("abc") == store.endpoints.by_id(made.id) == made
    assert events == [EndpointSaved(endpoint=made, created=True)]
    assert store.captures.counts(made.id) == Counts()


async def test_a_slug_is_made_when_none_is_given(store: Store) -> None:
    slugs = {(await store.endpoints.create(factories.draft())).slug for _ in range(3)}
    assert len(slugs) == 3
    assert all(len(slug) == 24 for slug in slugs)


async def test_a_broken_rule_names_its_field(store: Store, events: list[Event]) -> None:
    for draft, field in (
        (EndpointDraft(name=" "), "name"),
        (EndpointDraft(name="n", retention_days=0), "retention_days"),
        (EndpointDraft(name="n", retention_days=91), "retention_days"),
        (EndpointDraft(name="n", slug="-a-"), "slug"),
        (EndpointDraft(name="n", forward_url="ftp://x"), "forward_url"),
    ):
        with pytest.raises(InvalidFieldsError) as caught:
            await store.endpoints.create(draft)
        assert [error.field for error in caught.value.errors] == [field]
        assert store.endpoints.all() == ()
        assert events == []


async def test_forwarding_to_oneself_is_refused(open_store: OpenStore) -> None:
    store = await open_store(own_bases=lambda: ("http://127.0.0.1:8787",))
    with pytest.raises(InvalidFieldsError):
        await store.endpoints.create(factories.draft(forward_url="http://localhost:8787/catch/abc"))
    await store.close()


async def test_a_slug_is_taken_once_even_at_the_same_moment(store: Store) -> None:
    drafts = [factories.draft(slug="same") for _ in range(5)]
    results = await asyncio.gather(*map(store.endpoints.create, drafts), return_exceptions=True)
    refused = [result for result in results if isinstance(result, InvalidFieldsError)]
    assert len(refused) == 4
    assert {error.field for one in refused for error in one.errors} == {"slug"}
    assert len(store.endpoints.all()) == 1


async def test_a_deleted_endpoints_slug_is_free_at_once(store: Store) -> None:
    made = await store.endpoints.create(factories.draft(slug="again"))
    await add_many(store, made.id, 50)
    await store.endpoints.delete(made.id)
    other = await store.endpoints.create(factories.draft(slug="again"))
    assert other.id != made.id
    assert store.captures.counts(other.id) == Counts()


async def test_of_eleven_creations_at_nine_exactly_one_succeeds(store: Store, place: Place) -> None:
    for _ in range(9):
        await store.endpoints.create(factories.draft())
    creations = [store.endpoints.create(factories.draft()) for _ in range(11)]
    results = await asyncio.gather(*creations, return_exceptions=True)
    assert sum(isinstance(result, Endpoint) for result in results) == 1
    refused = [result for result in results if isinstance(result, PlanLimitError)]
    assert {str(error) for error in refused} == {create_refusal(Plan.FREE, 10)}
    assert len(refused) == 10
    assert len(store.endpoints.all()) == 10
    assert query(place, "SELECT count(*) FROM endpoint") == [(10,)]


async def test_the_database_guards_the_limit_whoever_writes(store: Store, place: Place) -> None:
    for _ in range(9):
        await store.endpoints.create(factories.draft())
    barrier, outcomes = threading.Barrier(11), []

    def insert(number: int) -> None:
        barrier.wait()
        try:
            write(place, INSERT, f"raw-{number}", 7)
            outcomes.append("stored")
        except INTEGRITY_ERRORS as error:
            outcomes.append(str(error).splitlines()[0])

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(11)]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    assert sorted(outcomes) == ["plan limit"] * 10 + ["stored"]


@pytest.mark.parametrize("days", [0, 91, -1])
async def test_the_database_guards_retention(store: Store, place: Place, days: int) -> None:
    with pytest.raises(INTEGRITY_ERRORS, match=r"(?i)check"):
        write(place, INSERT, "raw", days)


async def test_a_deleted_endpoint_gives_its_place_back(store: Store) -> None:
    made = [await store.endpoints.create(factories.draft()) for _ in range(10)]
    with pytest.raises(PlanLimitError):
        await store.endpoints.create(factories.draft())
    await store.endpoints.delete(made[0].id)
    await store.endpoints.create(factories.draft())


async def test_pro_holds_more_and_cannot_go_back_while_it_does(store: Store, events: list[Event], place: Place) -> None:
    await store.account.set_plan(Plan.PRO)
    made = [await store.endpoints.create(factories.draft()) for _ in range(11)]
    with pytest.raises(PlanLimitError) as caught:
        await store.account.set_plan(Plan.FREE)
    assert str(caught.value) == plan_refusal(Plan.FREE, 11)
    with pytest.raises(INTEGRITY_ERRORS, match="plan limit"):
        write(place, "UPDATE account SET plan = 'free'")
    assert store.account.plan is Plan.PRO
    await store.endpoints.delete(made[0].id)
    await store.account.set_plan(Plan.FREE)
    assert store.account.plan is Plan.FREE
    assert of_kind(events, PlanChanged) == [PlanChanged(), PlanChanged()]


async def test_an_update_changes_everything_but_the_slug(store: Store, events: list[Event]) -> None:
    made = await store.endpoints.create(factories.draft())
    changed = await store.endpoints.update(
        made.id, msgspec.structs.replace(made.draft(), slug=None, name="Other", active=False)
    )
    assert (changed.slug, changed.name, changed.active, changed.created_at) == (
        made.slug,
        "Other",
        False,
        made.created_at,
    )
    assert store.endpoints.by_slug(made.slug) == changed
    assert events[-1] == EndpointSaved(endpoint=changed, created=False)
    with pytest.raises(InvalidFieldsError, match="Slug cannot be changed"):
        await store.endpoints.update(made.id, msgspec.structs.replace(made.draft(), slug="another"))


async def test_order_of_creation_survives_updates(store: Store) -> None:
    first, second = [await store.endpoints.create(factories.draft()) for _ in range(2)]
    await store.endpoints.update(first.id, factories.draft())
    assert [endpoint.id for endpoint in store.endpoints.all()] == [first.id, second.id]


async def test_what_is_not_there_cannot_be_changed_or_deleted(store: Store, endpoint: Endpoint) -> None:
    await store.endpoints.delete(endpoint.id)
    with pytest.raises(NotFoundError):
        await store.endpoints.update(endpoint.id, factories.draft())
    with pytest.raises(NotFoundError):
        await store.endpoints.delete(endpoint.id)
    with pytest.raises(NotFoundError):
        await add(store, endpoint.id)


async def test_two_deletions_at_once_are_one(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    results = await asyncio.gather(*(store.endpoints.delete(endpoint.id) for _ in range(2)), return_exceptions=True)
    assert sum(isinstance(result, NotFoundError) for result in results) == 1
    assert of_kind(events, EndpointRemoved) == [EndpointRemoved(endpoint=endpoint)]


async def test_deleting_hides_at_once_and_deletes_in_the_background(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    captures = await add_many(store, endpoint.id, 500)
    await store.endpoints.delete(endpoint.id)
    assert of_kind(events, EndpointRemoved) == [EndpointRemoved(endpoint=endpoint)]
    assert store.endpoints.all() == ()
    assert store.captures.counts(endpoint.id) == Counts()
    assert await store.captures.page(None) == []
    assert await store.captures.page(endpoint.id) == []
    assert await store.captures.get(captures[0].id) is None
    with pytest.raises(NotFoundError):
        await store.captures.body(captures[0].id)
    await until(lambda: query(place, "SELECT count(*) FROM endpoint") == [(0,)])
    assert query(place, "SELECT count(*) FROM capture") == [(0,)]
    assert query(place, "SELECT count(*) FROM capture_body") == [(0,)]


async def test_an_interrupted_deletion_goes_on_at_the_next_start(open_store: OpenStore, place: Place) -> None:
    store = await open_store()
    made = await store.endpoints.create(factories.draft())
    await add_many(store, made.id, 200)
    await store.close()
    write(place, "UPDATE endpoint SET trashed = 1, removed = 1")  # as a kill right after the commit leaves it
    again = await open_store()
    assert again.endpoints.all() == ()
    await until(lambda: query(place, "SELECT count(*) FROM endpoint") == [(0,)])
    assert query(place, "SELECT count(*) FROM capture") == [(0,)]
    await again.close()


async def test_a_moved_endpoint_keeps_its_place_and_new_ones_come_last(
    store: Store, events: list[Event], open_store: OpenStore
) -> None:
    a, b, c = [(await store.endpoints.create(factories.draft())).id for _ in range(3)]
    events.clear()
    await store.endpoints.move(c, 1)
    await store.endpoints.move(a, 3)
    assert [endpoint.id for endpoint in store.endpoints.all()] == [c, b, a]
    assert [event.endpoint_ids for event in of_kind(events, EndpointsReordered)] == [(c, a, b), (c, b, a)]
    d = (await store.endpoints.create(factories.draft())).id
    await store.endpoints.update(b, factories.draft(name="changed"))
    assert [endpoint.id for endpoint in store.endpoints.all()] == [c, b, a, d]
    await store.endpoints.delete(c)
    await store.endpoints.move(d, 2)
    await store.close()
    again = await open_store()
    assert [endpoint.id for endpoint in again.endpoints.all()] == [b, d, a]
    await again.close()


async def test_a_position_beyond_the_list_is_refused(store: Store, events: list[Event]) -> None:
    made = [(await store.endpoints.create(factories.draft())).id for _ in range(2)]
    events.clear()
    for position in (0, -1, 3, 2**70):
        with pytest.raises(InvalidFieldsError) as caught:
            await store.endpoints.move(made[0], position)
        assert [error.field for error in caught.value.errors] == ["position"], position
        assert "from 1 to 2" in caught.value.errors[0].message
        with pytest.raises(NotFoundError):
            await store.endpoints.move(99, 1)
        assert ([endpoint.id for endpoint in store.endpoints.all()], events) == (made, [])

"""Several nodes on one store: each sees what the others do, in one order, and one does what only one may."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from peewee import Database

from app.core.delivery import Attempt, Delivery
from app.core.errors import EndpointChangedError, NotFoundError, PlanLimitError
from app.core.events import (
    Captured,
    DeletionUndone,
    EndpointRemoved,
    EndpointSaved,
    Event,
    RequestsRemoved,
    RequestsUpdated,
)
from app.core.model import DeliveryState, Endpoint
from app.core.rules import FREE_ENDPOINTS
from app.core.sizes import KIB, MIB
from app.db.postgres import nodes
from app.db.postgres.follow import write_notice
from app.db.postgres.store import Store
from tests import factories
from tests.db.conftest import OpenStore
from tests.deliveries import NO_CONNECTION, URL, attempt, deliver, finish, queued
from tests.support import until

BODY = b'{"a":1}'


@pytest.fixture
def others() -> list[Event]:
    """What the other node publishes."""
    return []


@pytest.fixture
async def other(open_store: OpenStore, store: Store, others: list[Event]) -> Store:
    opened: Store = await open_store(others.append)
    return opened


async def add(store: Store, endpoint: Endpoint, **fields: Any) -> str:
    capture = factories.capture(BODY, endpoint_id=endpoint.id, **fields)
    await store.captures.add(capture, BODY)
    return capture.id


def ids(events: list[Event]) -> list[str]:
    return [row.id for event in events if isinstance(event, Captured) for row in event.summaries]


async def test_what_one_captures_the_other_lists_and_counts(
    store: Store, other: Store, endpoint: Endpoint, others: list[Event]
) -> None:
    first = await add(store, endpoint)
    await until(lambda: ids(others) == [first])
    assert [row.id for row in await other.captures.page(endpoint.id)] == [first]
    assert other.captures.counts(endpoint.id) == store.captures.counts(endpoint.id)
    assert await other.captures.body(first) == BODY


async def test_a_node_hears_others_also_after_much_that_it_told_itself(
    store: Store, other: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    """It reads a limited number of notices at once, and skips its own."""
    own, theirs = (RequestsUpdated(endpoint_ids=(endpoint.id,), changes={name: {}}) for name in ("own", "theirs"))

    def tell_much(database: Database) -> None:
        for _ in range(501):
            write_notice(database, [own])

    await store.nodes.catch_up()
    await store._writer.run(tell_much)
    await store.nodes.catch_up()
    await other._writer.run(lambda database: write_notice(database, [theirs]))
    await store.nodes.catch_up()
    assert theirs in events
    assert own not in events


@pytest.mark.slow
async def test_all_see_every_request_once_in_the_order_of_their_numbers(
    store: Store, other: Store, endpoint: Endpoint, events: list[Event], others: list[Event]
) -> None:
    await other.endpoints.look_again(endpoint.slug)

    async def many(node: Store) -> list[str]:
        return [await add(node, endpoint) for _ in range(100)]

    made = await asyncio.gather(*(many(node) for node in (store, other) for _ in range(4)))
    expected = {name for names in made for name in names}
    await until(lambda: len(ids(events)) == len(ids(others)) == 800)
    assert ids(events) == ids(others)
    assert set(ids(events)) == expected
    numbers = [row.seq for event in events if isinstance(event, Captured) for row in event.summaries]
    assert numbers == sorted(numbers)
    between = await store.captures.between(0, store.captures.newest_seq, 1_000)
    assert [row.id for row in between] == ids(events)


async def test_changes_of_an_endpoint_hold_on_every_node(
    store: Store, other: Store, endpoint: Endpoint, others: list[Event]
) -> None:
    await other.endpoints.look_again(endpoint.slug)
    known = other.endpoints.by_slug(endpoint.slug)
    assert known is not None
    await store.endpoints.update(endpoint.id, replace(endpoint.draft(), active=False))
    capture = factories.capture(BODY, endpoint_id=endpoint.id)
    with pytest.raises(EndpointChangedError):
        await other.captures.add(capture, BODY, version=known.version)
    await other.endpoints.look_again(endpoint.slug)
    changed = other.endpoints.by_slug(endpoint.slug)
    assert changed is not None
    assert not changed.active
    assert await other.captures.page(endpoint.id) == []
    await store.endpoints.delete(endpoint.id)
    with pytest.raises(NotFoundError):
        await other.captures.add(factories.capture(BODY, endpoint_id=endpoint.id), BODY, version=changed.version)
    await until(lambda: any(isinstance(event, EndpointRemoved) for event in others))
    assert other.endpoints.all() == ()


async def test_a_new_endpoint_is_found_at_once(store: Store, other: Store) -> None:
    made = await store.endpoints.create(factories.draft())
    await other.endpoints.look_again(made.slug)
    assert other.endpoints.by_slug(made.slug) == store.endpoints.by_slug(made.slug)
    assert await other.endpoints.look_again("unknown") is False


async def test_what_no_table_shows_is_told(store: Store, other: Store, endpoint: Endpoint, others: list[Event]) -> None:
    names = [await add(store, endpoint) for _ in range(3)]
    await store.captures.star(names[:1])
    await store.captures.mark_read(names)
    deletion = await store.trash.delete(names[1:])
    await until(lambda: any(isinstance(event, RequestsRemoved) for event in others))
    told = [event.changes for event in others if isinstance(event, RequestsUpdated)]
    assert [list(changes) for changes in told if "starred" in changes[names[0]]] == [[names[0]]]
    assert [event.ids for event in others if isinstance(event, RequestsRemoved)] == [tuple(names[1:])]
    await until(lambda: other.captures.counts(endpoint.id) == store.captures.counts(endpoint.id))
    assert other.captures.counts(endpoint.id).total == 1
    await store.trash.undo(deletion)
    await until(lambda: other.captures.counts(endpoint.id).total == 3)
    assert other.captures.counts(endpoint.id).unread == 0


async def test_the_free_plan_holds_under_creates_from_all_nodes(store: Store, other: Store) -> None:
    creates = [node.endpoints.create(factories.draft()) for node in (store, other) for _ in range(FREE_ENDPOINTS)]
    results = await asyncio.gather(*creates, return_exceptions=True)
    assert len([one for one in results if isinstance(one, Endpoint)]) == FREE_ENDPOINTS
    assert all(isinstance(one, Endpoint | PlanLimitError) for one in results)


async def test_own_changes_are_published_once(store: Store, other: Store, events: list[Event]) -> None:
    made = await store.endpoints.create(factories.draft())
    await store.endpoints.update(made.id, replace(made.draft(), name="Other"))
    await other.endpoints.look_again(made.slug)
    await other.endpoints.create(factories.draft())
    await until(lambda: len(store.endpoints.all()) == 2)
    assert [event.created for event in events if isinstance(event, EndpointSaved)] == [True, False, True]


async def test_a_job_has_one_owner_and_another_when_that_one_dies(
    store: Store,
    other: Store,
    endpoint: Endpoint,
    others: list[Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.05)
    monkeypatch.setattr(nodes, "DEAD_S", 0.5)
    assert await store.nodes.claim("retention") is True
    assert await store.nodes.claim("retention") is None
    assert await other.nodes.claim("retention") is False
    name = await add(store, endpoint)
    deletion = await store.trash.delete([name])
    key = await store.captures.add_part(None, 0, b"x" * 1_000, endpoint_id=endpoint.id)
    await stop_living(store)
    await until(lambda: other.nodes._denied == {})
    assert await other.nodes.claim("retention") is True
    await until(lambda: other.captures.counts(endpoint.id).total == 1)
    # What the dead one had deleted and not purged is back, and what it was receiving goes.
    assert [row.id for row in await other.captures.page(endpoint.id)] == [name]
    assert await loose_bodies(other) in ([], [(-key >> 32, 1)])
    # It only hung: it hears so, begins anew, and owns nothing.
    undone = DeletionUndone(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    await until(lambda: undone in others and not store.trash.can_undo(deletion), 5)
    store.nodes._task = asyncio.create_task(store.nodes._live())
    await until(lambda: not store.nodes._owned)
    assert await store.nodes.claim("retention") is False


async def test_a_node_makes_room_when_the_one_that_did_so_dies(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "BEAT_S", 0.05)
    monkeypatch.setattr(nodes, "DEAD_S", 0.5)
    draft = factories.draft(storage_limit=MIB, when_full="delete_oldest")
    endpoint = await store.endpoints.create(draft)
    await other.endpoints.look_again(endpoint.slug)
    await stop_living(store)
    await store._eviction.stop()  # it hangs
    body = b"x" * (400 * KIB)
    for _ in range(3):
        await other.captures.add(factories.capture(body, endpoint_id=endpoint.id), body)
    assert other.limits.exceeded() == [endpoint.id]
    await until(lambda: not other.limits.exceeded(), 5)
    assert "storage limits" in other.nodes._owned


async def test_what_is_claimed_while_the_role_is_taken_away_and_given_back_has_one_owner(
    store: Store, other: Store
) -> None:
    claiming = asyncio.create_task(store.nodes.claim("retention"), name="claim")
    await asyncio.sleep(0)
    store.nodes._is_refused = True  # as the beat has found before it in the writer's queue
    assert await claiming is False
    await store._writer.run(partial(store.nodes._beat, number=store.nodes.number, trim=False, frees=True))
    assert await other.nodes.claim("retention")
    assert "retention" not in store.nodes._owned


@pytest.mark.parametrize("deed", ["purge", "undo"])
async def test_an_endpoint_that_others_restored_outlives_the_deletion_of_a_node_that_hung(
    store: Store, other: Store, endpoint: Endpoint, deed: str
) -> None:
    deletion = await store.trash.delete_endpoint(endpoint.id)
    await take_for_dead(other, store)
    name = await add(other, endpoint)
    await getattr(store.trash, deed)(deletion)
    assert not store.trash.can_undo(deletion)
    for node in (store, other):
        await node._cleanup.run()
        await node.endpoints.look_again(endpoint.slug)
        assert node.endpoints.by_id(endpoint.id) is not None
        assert [row.id for row in await node.captures.page(endpoint.id)] == [name]


@pytest.mark.parametrize("meanwhile", ["begun", "ended", "ended by one that left", "tried by one that left"])
async def test_what_a_node_that_hung_had_sent_changes_nothing_that_others_did_with_it(
    store: Store, other: Store, meanwhile: str
) -> None:
    """It would be sent a third time, or shown as failed although it was delivered."""
    endpoint = await store.endpoints.create(factories.draft(forward_url=URL))
    (target,) = endpoint.targets
    (delivery,) = await queued(store, endpoint)
    assert await store.deliveries.claim(target.id)
    assert await store.deliveries.begin([delivery.id])
    await take_for_dead(other, store)
    assert await other.deliveries.claim(target.id)
    (again,) = await other.deliveries.queued(target.id, 1)
    assert await other.deliveries.begin([delivery.id])
    if meanwhile.startswith("ended"):
        await deliver(other, again.delivery)
    elif meanwhile.startswith("tried"):
        await finish(other, again.delivery, DeliveryState.QUEUED, attempt(again.delivery))
    if meanwhile.endswith("left"):
        await other.close()
    before = await state_of(store, delivery)
    late = attempt(delivery, 1, **NO_CONNECTION)
    for state in (DeliveryState.QUEUED, DeliveryState.FAILED):
        await store.deliveries.finish(factories.after(delivery, late, state), [(late, b"")])
        assert await state_of(store, delivery) == before


async def state_of(node: Store, delivery: Delivery) -> tuple[Delivery, list[Attempt]]:
    (found,) = await node.deliveries.of_capture(delivery.capture_id)
    return found, await node.deliveries.attempts(delivery.id)


async def take_for_dead(judge: Store, node: Store) -> None:
    ((_, seen_at),) = [one[:2] for one in await judge._readers.run(nodes._seen) if one.number == node.nodes.number]
    dead = await judge._writer.run(partial(nodes._bury, silent=[(node.nodes.number, seen_at)]))
    assert dead == 1
    await judge.nodes.catch_up()


async def stop_living(node: Store) -> None:
    assert node.nodes._task is not None
    node.nodes._task.cancel()
    await asyncio.gather(node.nodes._task, return_exceptions=True)


async def loose_bodies(node: Store) -> list[tuple[int, int]]:
    from app.db.raw_sql import execute

    query = "SELECT number, dropped FROM loose_body"
    found: list[tuple[int, int]] = await node._readers.run(lambda database: execute(database, query).fetchall())
    return found


async def test_a_server_that_goes_away_and_comes_back(
    store: Store, endpoint: Endpoint, events: list[Event], postgres_url: str
) -> None:
    """The connections are cut, as a restart of the server cuts them."""
    with psycopg.connect(postgres_url, autocommit=True) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        name = await add(store, endpoint)
        assert [row.id for row in await store.captures.page(endpoint.id)] == [name]
    await until(lambda: ids(events) == [name])


async def test_each_lists_all_that_live_with_their_jobs(store: Store, other: Store) -> None:
    assert await store.nodes.claim("target 3")
    assert await store.nodes.claim("retention")
    for asked in (store, other):
        found = await asked.nodes.all()
        assert [node.number for node in found] == [store.nodes.number, other.nodes.number]
        assert [set(node.jobs) for node in found] == [{"retention", "storage limits", "target 3"}, set()]
        assert [node.current for node in found] == [asked is store, asked is other]
    await store.close()
    assert [node.number for node in await other.nodes.all()] == [other.nodes.number]


async def test_each_node_has_a_tunnel_of_its_own(store: Store, other: Store) -> None:
    await store.tunnels.opened("https://one.example", "bore", 1)
    await other.tunnels.opened("https://two.example", "bore", 2)
    await other.tunnels.opened("https://three.example", "bore", 3)
    assert [(one.url, one.until) for one in await store.tunnels.history()] == [
        ("https://three.example", None),
        ("https://two.example", 3),
        ("https://one.example", None),
    ]
    await other.close()
    assert [one.until is None for one in await store.tunnels.history()] == [False, False, True]

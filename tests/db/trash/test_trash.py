"""What is deleted is hidden at once, restored by an undo or a start, and deleted for good by a purge."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace

from app.core.delivery import DeliveryFilter
from app.core.errors import NotFoundError, PlanLimitError, StorageUnavailableError
from app.core.events import DeletionPurged, DeletionUndone, EndpointRemoved, EndpointSaved, Event, RequestsRemoved
from app.core.model import Capture, Counts, Deletion, Endpoint, Mark, Plan
from app.core.search.parse import parse
from app.db import trash
from app.db.readers import THREADS
from app.db.store import Store
from app.db.trash import IDS_MAX
from tests import factories
from tests.db.helpers import OpenStore, Place, add, add_many, of_kind, query, recount
from tests.support import until

KINDS = ("ids", "all", "endpoint")


@pytest.fixture
async def endpoint(store: Store) -> Endpoint:
    return await store.endpoints.create(factories.draft())


def unversioned(endpoints: Iterable[Endpoint | None]) -> list[Endpoint | None]:
    """To be deleted and restored gives an endpoint another version where there are several nodes."""
    return [None if one is None else replace(one, version=0) for one in endpoints]


async def ids(store: Store, endpoint: Endpoint) -> list[str]:
    return [one.id for one in reversed(await store.captures.page(endpoint.id, limit=2_000))]


async def delete(store: Store, endpoint: Endpoint, kind: str, some: list[str]) -> Deletion:
    """These requests of the endpoint, which has no others, or the endpoint."""
    if kind == "ids":
        return await store.trash.delete(some)
    return await (store.trash.clear(endpoint.id) if kind == "all" else store.trash.delete_endpoint(endpoint.id))


async def found(store: Store, endpoint_id: int | None, text: str) -> list[str]:
    results = store.captures.search(parse(text), endpoint_id, limit=500)
    return [one.id async for batch in results for one in batch]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_deleted_is_nowhere_and_is_back_as_it_was(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place, kind: str
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 40)]
    other = await store.endpoints.create(factories.draft())
    kept = (await add_many(store, other.id, 1))[0].id
    await store.captures.mark_read(made[:4])
    await store.captures.star(made[:2])
    before = store.captures.counts(endpoint.id)
    listed = await store.captures.page(None, limit=100)
    deletion = await delete(store, endpoint, kind, made)
    assert (deletion.requests, deletion.endpoint_ids) == (40, {endpoint.id})
    for of in (endpoint.id, None):
        left = [] if of is not None else [kept]
        assert [one.id for one in await store.captures.page(of, limit=100)] == left
        assert await found(store, of, "method:POST") == left
        assert (await store.activity.bars(of, [0, 2**62]))[0].total == len(left)
    assert await found(store, None, "is:starred") == []
    assert (await store.captures.marked(None)).any == frozenset()
    assert await store.captures.get(made[0]) is None
    assert await store.captures.stored([made[0], kept]) == {kept}
    assert await store.captures.matching(parse("method:POST"), [made[0], kept]) == {kept}
    with pytest.raises(NotFoundError):
        await store.captures.body(made[0])
    with pytest.raises(NotFoundError):
        await store.captures.set_note(made[0], "too late")
    await store.captures.mark_read(made)
    await store.captures.star(made[4:6])
    if kind != "endpoint":
        assert store.captures.counts(endpoint.id) == Counts(stored_bytes=before.stored_bytes)
    assert query(place, "SELECT count(*) FROM capture") == [(41,)]
    events.clear()
    await store.trash.undo(deletion)
    assert [type(event) for event in events] == [EndpointSaved if kind == "endpoint" else DeletionUndone]
    assert await store.captures.page(None, limit=100) == listed
    assert store.captures.counts(endpoint.id) == before == recount(place)[endpoint.id]
    assert unversioned(store.endpoints.all()) == unversioned((endpoint, other))
    assert (await store.captures.marked(None)).starred == set(made[:2])


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_purged_is_gone(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place, kind: str
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 300)]
    deletion = await delete(store, endpoint, kind, made)
    assert {type(event) for event in events[-1:]} == {EndpointRemoved if kind == "endpoint" else RequestsRemoved}
    used = store.limits.use().used
    await store.trash.purge(deletion)
    assert events[-1] == DeletionPurged(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    await until(lambda: query(place, "SELECT count(*) FROM capture") == [(0,)])
    await until(lambda: store.limits.use().used == 0 < used)
    assert query(place, "SELECT count(*) FROM trash") == [(0,)]
    events.clear()
    await store.trash.purge(deletion)
    await store.trash.undo(deletion)
    assert (events, await store.captures.page(None)) == ([], [])


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_hidden_at_the_end_of_a_run_is_back_at_the_next_start(open_store: OpenStore, kind: str) -> None:
    store = await open_store()
    endpoint = await store.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    await delete(store, endpoint, kind, made)
    await store.close()
    again = await open_store()
    assert unversioned(again.endpoints.all()) == unversioned((endpoint,))
    assert await ids(again, endpoint) == made
    assert again.captures.counts(endpoint.id).total == 5
    assert unversioned([again.endpoints.capturing(endpoint.slug)]) == unversioned([endpoint])


async def test_several_are_undone_each_by_itself(store: Store, endpoint: Endpoint, place: Place) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 9)]
    first = await store.trash.delete([made[1], made[3], made[4]])
    second = await store.trash.clear(endpoint.id)
    assert (first.requests, second.requests) == (3, 6)
    late = [one.id for one in await add_many(store, endpoint.id, 2)]
    third = await store.trash.delete([made[3], late[0]])
    assert third.requests == 1, "what is hidden already is not counted again"
    fourth = await store.trash.delete_endpoint(endpoint.id)
    await store.trash.undo(fourth)
    assert await ids(store, endpoint) == [late[1]]
    await store.trash.undo(second)
    assert await ids(store, endpoint) == [made[0], made[2], *made[5:], late[1]]
    await store.trash.purge(third)
    await store.trash.undo(first)
    assert await ids(store, endpoint) == [*made, late[1]]
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


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
    marked = await store.captures.marked(endpoint.id)
    assert (marked.starred, marked.noted) == ({made[1], made[2]}, {made[2], made[4]})
    await store.captures.mark_read([made[1], made[7]])
    await store.captures.clear(endpoint.id, keep)
    assert await ids(store, endpoint) == [made[number] for number in left]
    counts = store.captures.counts(endpoint.id)
    assert (counts.total, counts.unread) == (len(left), len(left) - (1 in left))
    (removed,) = of_kind(events, RequestsRemoved)
    assert [number for number in range(300) if not removed.has(endpoint.id, made[number])] == left


async def test_a_kept_request_that_loses_its_mark_stays(store: Store, endpoint: Endpoint) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    await store.captures.star([made[2]])
    deletion = await store.trash.clear(endpoint.id, ("starred",))
    assert (deletion.requests, deletion.kept) == (4, 1)
    await store.captures.star([made[2]], starred=False)
    await store.trash.purge(deletion)
    assert await ids(store, endpoint) == [made[2]]


async def test_what_is_stored_after_it_was_asked_for_stays_even_if_its_head_came_before(
    store: Store, endpoint: Endpoint, place: Place
) -> None:
    made = await add_many(store, endpoint.id, 5)
    receiving = factories.capture(b"{}", endpoint_id=endpoint.id, received_at=made[0].received_at - 1_000)
    await store.captures.mark_read([made[3].id])
    deletion = await store.trash.clear(endpoint.id)
    await store.captures.add(receiving, b"{}")
    late = await add_many(store, endpoint.id, 1)
    assert await ids(store, endpoint) == [receiving.id, late[0].id]
    await store.trash.purge(deletion)
    assert await ids(store, endpoint) == [receiving.id, late[0].id]
    assert query(place, "SELECT count(*) FROM capture") == [(2,)]
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


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


async def test_a_deleted_endpoint_answers_as_one_that_is_off_and_nobody_else_finds_it(
    store: Store, endpoint: Endpoint
) -> None:
    deleting = asyncio.ensure_future(store.trash.delete_endpoint(endpoint.id))
    await asyncio.sleep(0)
    off = store.endpoints.capturing(endpoint.slug)
    assert off is not None
    assert not off.active, "it acknowledges what is about to be deleted"
    deletion = await deleting
    assert store.endpoints.capturing(endpoint.slug) == off
    assert (store.endpoints.by_slug(endpoint.slug), store.endpoints.by_id(endpoint.id)) == (None, None)
    for change in (store.endpoints.delete(endpoint.id), store.endpoints.move(endpoint.id, 1)):
        with pytest.raises(NotFoundError):
            await change
    await store.trash.undo(deletion)
    found = store.endpoints.capturing(endpoint.slug)
    assert found == store.endpoints.by_slug(endpoint.slug)
    assert unversioned([found]) == unversioned([endpoint])
    await store.endpoints.delete(endpoint.id)
    assert store.endpoints.capturing(endpoint.slug) is None


async def test_a_restored_endpoint_is_in_its_place(store: Store) -> None:
    a, b, c, d = [await store.endpoints.create(factories.draft()) for _ in range(4)]
    deletion = await store.trash.delete_endpoint(b.id)
    await store.endpoints.move(d.id, 2)
    assert [one.id for one in store.endpoints.all()] == [a.id, d.id, c.id]
    await store.trash.undo(deletion)
    assert [one.id for one in store.endpoints.all()] == [a.id, b.id, d.id, c.id]


async def test_deleted_endpoints_make_room_for_others(store: Store, events: list[Event]) -> None:
    made = [await store.endpoints.create(factories.draft()) for _ in range(10)]
    with pytest.raises(PlanLimitError):
        await store.endpoints.create(factories.draft())
    first, second = [await store.trash.delete_endpoint(one.id) for one in made[:2]]
    await store.endpoints.create(factories.draft())
    assert [one.number for one in of_kind(events, DeletionPurged)] == [first.number]
    await store.endpoints.delete(made[2].id)
    await store.endpoints.create(factories.draft(slug=made[1].slug))
    assert of_kind(events, DeletionPurged)[-1].number == second.number
    await store.account.set_plan(Plan.PRO)
    for _ in range(2):
        await store.endpoints.create(factories.draft())
    third = await store.trash.delete_endpoint(made[3].id)
    await store.account.set_plan(Plan.FREE)
    assert of_kind(events, DeletionPurged)[-1].number == third.number
    assert len(store.endpoints.all()) == 10


@pytest.mark.parametrize("kind", KINDS[:2])
async def test_what_expires_in_the_trash_is_not_restored_and_is_counted_once(
    store: Store, endpoint: Endpoint, place: Place, kind: str
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 4, received_at=1_000_000_000)]
    fresh = [one.id for one in await add_many(store, endpoint.id, 3)]
    deletion = await delete(store, endpoint, kind, [*made, fresh[0], fresh[1]])
    report = await store.retention.purge()
    assert report.deleted == {endpoint.id: 4}
    left = fresh[2:] if kind == "ids" else []
    assert await ids(store, endpoint) == left
    assert store.captures.counts(endpoint.id).total == len(left)
    await store.trash.undo(deletion)
    assert await ids(store, endpoint) == fresh
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_storage_limit_takes_what_is_deleted_too(
    store: Store, endpoint: Endpoint, place: Place, kind: str
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 30)]
    deletion = await delete(store, endpoint, kind, made[:20])
    store.limits.set_limit(store.limits.use().used // 2, "delete_oldest")
    await until(lambda: query(place, "SELECT count(*) FROM capture")[0][0] < 16)
    store.limits.set_limit(None, "delete_oldest")
    await store.trash.undo(deletion)
    left = await ids(store, endpoint)
    assert left == made[30 - len(left) :]
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


async def test_deliveries_of_deleted_requests_are_listed_nowhere(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    captures: list[Capture] = []
    for _ in range(2):
        capture = factories.capture(b"{}", endpoint_id=endpoint.id)
        await store.captures.add(capture, b"{}", targets=endpoint.targets)
        captures.append(capture)
    deletion = await store.trash.delete([captures[0].id])
    for of in (None, endpoint.id):
        page = await store.deliveries.page(DeliveryFilter(endpoint_id=of))
        assert [one.capture_id for one in page] == [captures[1].id]
        assert await store.deliveries.count(DeliveryFilter(endpoint_id=of)) == 1
    assert await store.deliveries.of_capture(captures[0].id) == []
    queued = await store.deliveries.queued(endpoint.targets[0].id, 10)
    assert [one.capture.id for one in queued] == [one.id for one in captures], "it may be restored"
    await store.trash.undo(deletion)
    assert len(await store.deliveries.page(DeliveryFilter())) == 2
    await store.trash.purge(await store.trash.delete([captures[0].id]))
    assert len(await store.deliveries.queued(endpoint.targets[0].id, 10)) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_what_cannot_be_purged_is_restored(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    deletion = await delete(store, endpoint, kind, made)
    step = "_purge_endpoint" if kind == "endpoint" else "_purge_requests"
    monkeypatch.setattr(store.trash, step, AsyncMock(side_effect=StorageUnavailableError("The disk is full.")))
    with pytest.raises(StorageUnavailableError):
        await store.trash.purge(deletion)
    assert await ids(store, endpoint) == made
    assert store.captures.counts(endpoint.id).total == 5


@pytest.mark.parametrize("at_once", [False, True])
async def test_what_a_deletion_hides_that_fails_is_back_as_soon_as_that_can_be_stored(
    store: Store, endpoint: Endpoint, place: Place, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    """Also one whose requests were to be deleted at once, and that nobody can restore."""
    monkeypatch.setattr(trash, "RETRY_S", 0.01)
    made = [one.id for one in await add_many(store, endpoint.id, 200 if at_once else 300)]
    between, steps = store._writer.between, 0

    async def fails(*args: Any, **options: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps > 1:
            raise StorageUnavailableError("The disk is full.")
        return await between(*args, **options)

    monkeypatch.setattr(store._writer, "between", fails)
    with pytest.raises(StorageUnavailableError):
        await (store.captures if at_once else store.trash).delete(made)
    assert len(await ids(store, endpoint)) == (0 if at_once else 300 - 256)
    monkeypatch.setattr(store._writer, "between", between)
    await until(lambda: store.captures.counts(endpoint.id).total == len(made))
    assert await ids(store, endpoint) == made
    await until(lambda: store.captures.counts(endpoint.id) == recount(place)[endpoint.id])


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_hidden_without_the_callers_knowledge_is_back(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, kind: str, cancelled: bool
) -> None:
    """The caller was cancelled, or the connection lost while that was committed."""
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    before = store.captures.counts(endpoint.id)
    name = "between" if kind == "ids" else "run"
    real = getattr(store._writer, name)

    async def lost(*args: Any) -> None:
        monkeypatch.undo()
        await real(*args[:-1])
        raise StorageUnavailableError("The connection was lost.")

    if not cancelled:
        monkeypatch.setattr(store._writer, name, lost)
    deleting = asyncio.create_task(delete(store, endpoint, kind, made), name="deletion")
    if cancelled:
        await asyncio.sleep(0)
        deleting.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else StorageUnavailableError):
        await deleting
    await until(lambda: store.trash._worker.is_idle, 5)
    assert await ids(store, endpoint) == made
    assert unversioned(store.endpoints.all()) == unversioned([endpoint])
    assert unversioned([store.endpoints.capturing(endpoint.slug)]) == unversioned([endpoint])
    assert store.captures.counts(endpoint.id) == before


async def test_what_a_step_hides_that_nobody_waits_for_is_told_when_it_is_back(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    deleting = asyncio.create_task(store.trash.delete(made), name="deletion")
    await asyncio.sleep(0)
    deleting.cancel()
    await until(lambda: of_kind(events, DeletionUndone), 5)
    assert of_kind(events, DeletionUndone)[-1].endpoint_ids == {endpoint.id}


@pytest.mark.parametrize("engine", ["sqlite"])  # the other one counts in the database
async def test_what_a_deletion_hides_that_is_cancelled_is_back_and_counted(open_store: OpenStore, place: Place) -> None:
    removed, undone = asyncio.Event(), asyncio.Event()

    def listen(event: Event) -> None:
        if isinstance(event, RequestsRemoved):
            removed.set()
        if isinstance(event, DeletionUndone):
            undone.set()

    store = await open_store(listen)
    endpoint = await store.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(store, endpoint.id, 1_500)]
    deleting = asyncio.create_task(store.trash.delete(made), name="deletion")
    await removed.wait()
    await asyncio.sleep(0)  # until its next step waits for the writer
    deleting.cancel()
    await undone.wait()
    await store.trash.undo(await store.trash.delete(made[:1]))
    assert await ids(store, endpoint) == made
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


async def test_an_endpoint_whose_purge_was_stored_unknown_to_the_caller_is_gone(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_many(store, endpoint.id, 5)
    deletion = await store.trash.delete_endpoint(endpoint.id)
    run = store._writer.run

    async def lost(job: Any, _: object) -> None:
        monkeypatch.undo()
        await run(job)
        raise StorageUnavailableError("The connection was lost.")

    monkeypatch.setattr(store._writer, "run", lost)
    await store.trash.purge(deletion)
    assert events[-1] == DeletionPurged(number=deletion.number, endpoint_ids=frozenset((endpoint.id,)))
    assert store.endpoints.capturing(endpoint.slug) is None
    await until(
        lambda: query(place, "SELECT (SELECT count(*) FROM capture), (SELECT count(*) FROM endpoint)") == [(0, 0)], 5
    )


async def test_what_a_deletion_that_fails_has_subtracted_is_told(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who counts whenever requests were removed knows how many are left, until they are restored."""
    told: list[Counts] = []

    def listen(event: Event) -> None:
        if isinstance(event, RequestsRemoved):
            told.append(store.captures.counts(endpoint.id))

    store = await open_store(listen)
    endpoint = await store.endpoints.create(factories.draft())
    made = [one.id for one in await add_many(store, endpoint.id, 600)]
    between = store._writer.between

    async def fails_later(*args: Any) -> Any:
        if told:
            raise StorageUnavailableError("The disk is full.")
        return await between(*args)

    monkeypatch.setattr(store._writer, "between", fails_later)
    with pytest.raises(StorageUnavailableError):
        await store.trash.delete(made)
    assert told[-1].total == store.captures.counts(endpoint.id).total == 600 - 256


@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_undo_that_has_begun_is_finished(
    store: Store, endpoint: Endpoint, events: list[Event], monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    """What it has restored would be listed and not counted, or left over by a purge and not listed."""
    monkeypatch.setattr(trash, "RETRY_S", 0.01)
    made = [one.id for one in await add_many(store, endpoint.id, 600)]
    before, between, steps = store.captures.counts(endpoint.id), store._writer.between, 0
    deletion = await store.trash.delete(made[::2])

    async def fails_later(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 1:
            return await between(*args)
        if cancelled:
            undoing.cancel()
            await asyncio.sleep(0)
        raise StorageUnavailableError("The disk is full.")

    monkeypatch.setattr(store._writer, "between", fails_later)
    undoing = asyncio.create_task(store.trash.undo(deletion), name="undo")
    with pytest.raises(asyncio.CancelledError if cancelled else StorageUnavailableError):
        await undoing
    assert not store.trash.can_undo(deletion)
    monkeypatch.setattr(store._writer, "between", between)
    await until(lambda: of_kind(events, DeletionUndone), 5)
    assert await ids(store, endpoint) == made
    assert store.captures.counts(endpoint.id) == before


@pytest.mark.parametrize("first", ["undo", "purge"])
@pytest.mark.parametrize("kind", KINDS[1:])
async def test_one_that_is_restored_while_it_is_purged_is_there_or_gone(
    store: Store, endpoint: Endpoint, kind: str, first: str
) -> None:
    """An endpoint is purged as soon as another one needs its slug or its place in the plan."""
    made = [one.id for one in await add_many(store, endpoint.id, 5)]
    deletion = await delete(store, endpoint, kind, made)
    both = [store.trash.undo(deletion), store.trash.purge(deletion)]
    await asyncio.gather(*(both if first == "undo" else reversed(both)))
    await store._cleanup.run()
    left = made if first == "undo" else []
    assert await ids(store, endpoint) == left
    assert store.captures.counts(endpoint.id).total == len(left)
    assert bool(left) <= (store.endpoints.by_id(endpoint.id) is not None) <= (bool(left) or kind == "all")
    assert not store.trash.can_undo(deletion)


async def test_an_endpoint_that_cannot_be_deleted_goes_on_capturing(store: Store, endpoint: Endpoint) -> None:
    await store._writer.close()
    with pytest.raises(StorageUnavailableError):
        await store.trash.delete_endpoint(endpoint.id)
    assert unversioned([store.endpoints.capturing(endpoint.slug)]) == unversioned([endpoint])


async def test_the_newest_request_left_is_found_although_others_arrive_meanwhile(
    store: Store, endpoint: Endpoint, place: Place
) -> None:
    await add(store, endpoint.id, received_at=1_000_000)
    hidden = await add(store, endpoint.id, received_at=3_000_000)
    free = threading.Event()
    reading = [asyncio.create_task(store._readers.run(lambda _: free.wait()), name="reader") for _ in range(THREADS)]
    deleting = asyncio.create_task(store.trash.delete([hidden.id]), name="deletion")
    await until(lambda: store.captures.counts(endpoint.id).total == 1)
    await add(store, endpoint.id, received_at=2_000_000)
    free.set()
    await asyncio.gather(deleting, *reading)
    assert store.captures.counts(endpoint.id) == recount(place)[endpoint.id]


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_many_deleted_requests_are_subtracted_once(open_store: OpenStore) -> None:
    told: list[tuple[int, ...]] = []

    def listen(event: Event) -> None:
        if isinstance(event, RequestsRemoved):
            told.append(tuple(store.captures.counts(number).total for number in (few.id, many.id)))

    store = await open_store(listen)
    few, many = [await store.endpoints.create(factories.draft()) for _ in range(2)]
    made = [one.id for number, count in ((few, 30), (many, 700)) for one in await add_many(store, number.id, count)]
    nowhere = [factories.capture(endpoint_id=few.id).id for _ in range(IDS_MAX)]
    deletion = await store.trash.delete(made + nowhere)
    assert len(told) > 3
    assert dict.fromkeys(told) == {(30, 700): None, (0, 0): None}
    await store.trash.undo(deletion)
    assert [store.captures.counts(number).total for number in (few.id, many.id)] == [30, 700]
    told.clear()
    deleting = asyncio.create_task(store.trash.delete(made), name="deletion")
    await until(lambda: bool(told))
    await asyncio.gather(deleting, store.trash.clear(many.id))
    assert [store.captures.counts(number).total for number in (few.id, many.id)] == [0, 0]
    await store.close()

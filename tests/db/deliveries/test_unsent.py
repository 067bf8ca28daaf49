"""Requests that wait for a target go last; when they must go, it is said how many and which."""

from __future__ import annotations

import asyncio
import logging

import pytest

from app.core.clock import DAY_US, now_us
from app.core.delivery import DeliveryFilter, FailureKind
from app.core.events import Event, Purged
from app.core.model import DeliveryState, Endpoint
from app.core.sizes import KIB, MIB
from app.core.target import TargetDraft
from app.db.store import Store
from tests import deliveries, factories
from tests.db.helpers import OpenStore, Place, add, of_kind, query, write
from tests.db.retention.test_storage_limits import calm, check, left, used

BODY = bytes(20 * KIB)
NOT_SENT = DeliveryFilter(state=DeliveryState.NOT_SENT)


@pytest.fixture(autouse=True)
def _slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the oldest requests take to be deleted, nobody is refused for that."""
    monkeypatch.setattr("app.db.storage_limits.PATIENCE_S", 20.0)


async def forwarding(store: Store, limit: int | None = None) -> Endpoint:
    made = await store.endpoints.create(factories.draft(storage_limit=limit))
    await store.targets.create(made.id, TargetDraft(url=deliveries.URL))
    found = store.endpoints.by_id(made.id)
    assert found is not None
    return found


async def wait_for_target(
    store: Store, endpoint: Endpoint, number: int, body: bytes = BODY, **fields: object
) -> list[str]:
    """Store so many requests that are queued for the endpoint's target; their ids."""
    ids = []
    for _ in range(number):
        capture = factories.capture(body, endpoint_id=endpoint.id, delivery=DeliveryState.QUEUED, **fields)
        await store.captures.add(capture, body, targets=endpoint.targets)
        ids.append(capture.id)
    return ids


@pytest.mark.parametrize("of_all", [False, True])
async def test_requests_that_wait_for_a_target_go_last(store: Store, place: Place, of_all: bool) -> None:
    """However old they are, while there are others."""
    endpoint = await forwarding(store, None if of_all else MIB)
    owed = await wait_for_target(store, endpoint, 5)
    if of_all:
        store.limits.set_limit(16 * MIB, "delete_oldest")
        others = [(await add(store, endpoint.id, bytes(MIB // 2))).id for _ in range(40)]
    else:
        others = [(await add(store, endpoint.id, BODY)).id for _ in range(80)]
    await calm(store)
    kept = await left(store, endpoint)
    assert kept[:5] == owed
    assert 0 < len(kept) - 5 < len(others)
    assert kept[5:] == others[5 - len(kept) :]
    assert (await store.deliveries.target_counts())[endpoint.targets[0].id].queued == 5
    assert await store.deliveries.count(NOT_SENT) == 0
    await check(store, place)


async def test_when_they_must_go_it_is_said_how_many_and_which(
    store: Store, events: list[Event], open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    endpoint = await forwarding(store, MIB)
    (target,) = endpoint.targets
    ids = await wait_for_target(store, endpoint, 80)
    await calm(store)
    kept = await left(store, endpoint)
    gone = ids[: -len(kept)]
    assert kept == ids[-len(kept) :]
    assert used(store, endpoint) <= MIB
    rows = await store.deliveries.page(NOT_SENT, limit=100)
    assert [row.capture_id for row in rows] == gone[::-1]
    first = rows[-1]
    assert (first.target_id, first.url, first.deleted, first.captured_method) == (target.id, target.url, True, "POST")
    assert first.error == "Request deleted before it was sent: a storage limit was reached."
    assert await store.deliveries.count(NOT_SENT) == len(gone)
    assert await store.deliveries.attempts(first.id) == []
    counts = (await store.deliveries.target_counts())[target.id]
    assert (counts.queued, counts.deleted) == (len(kept), len(gone))
    (trouble,) = await store.deliveries.target_troubles()
    assert trouble.text == f"{len(gone)} requests were deleted before they were sent to {target.url}."
    assert sum(event.report.unsent.get(target.id, 0) for event in of_kind(events, Purged)) == len(gone)
    await store.close()
    logged = [int(one.getMessage().split()[0]) for one in caplog.records if "before being sent" in one.getMessage()]
    assert sum(logged) == len(gone)
    await check_reopened(open_store, len(gone))


async def check_reopened(open_store: OpenStore, deleted: int) -> None:
    """The next start knows it too."""
    again = await open_store()
    assert await again.deliveries.count(NOT_SENT) == deleted
    assert [one.deleted for one in await again.deliveries.target_troubles()] == [deleted]


async def test_all_pages_and_filters_of_the_list_have_them(store: Store) -> None:
    endpoint, other = await forwarding(store), await forwarding(store)
    ids = await wait_for_target(store, endpoint, 3, received_at=now_us() - 100 * DAY_US)
    await wait_for_target(store, other, 2)
    later = await wait_for_target(store, endpoint, 2)
    await store.retention.purge()
    everything = await store.deliveries.page(DeliveryFilter())
    assert [(row.capture_id, row.state.value) for row in everything if row.endpoint_id == endpoint.id] == [
        *((one, "queued") for one in later[::-1]),
        *((one, "not_sent") for one in ids[::-1]),
    ]
    assert {row.error for row in everything if row.deleted} == {
        "Request deleted before it was sent: its retention ended."
    }
    one_by_one, before = [], None
    while page := await store.deliveries.page(DeliveryFilter(endpoint_id=endpoint.id), before=before, limit=1):
        before = page[0].seq
        one_by_one.append(page[0].id)
    assert one_by_one == [row.id for row in everything if row.endpoint_id == endpoint.id]
    (target,) = endpoint.targets
    deleted = everything[-1]
    for which, number in (
        (DeliveryFilter(target_id=target.id), 5),
        (DeliveryFilter(target_id=target.id, state=DeliveryState.NOT_SENT), 3),
        (DeliveryFilter(state=DeliveryState.FAILED), 0),
        (DeliveryFilter(endpoint_id=other.id, state=DeliveryState.NOT_SENT), 0),
        (DeliveryFilter(replay=True), 0),
        (DeliveryFilter(capture_ids=(ids[0],)), 1),
        (DeliveryFilter(delivery_ids=(deleted.id,)), 1),
        (DeliveryFilter(beginning=deleted.id[:20]), 1),
    ):
        assert await store.deliveries.count(which) == len(await store.deliveries.page(which)) == number, which
    assert await store.deliveries.retry(DeliveryFilter(delivery_ids=(deleted.id,))) == 0
    await store.endpoints.delete(endpoint.id)
    assert await store.deliveries.count(NOT_SENT) == 0


async def test_what_the_user_deletes_or_what_was_sent_is_not_counted(store: Store) -> None:
    endpoint = await forwarding(store)
    ids = await wait_for_target(store, endpoint, 3)
    await store.captures.delete(ids[:1])
    await store.captures.clear(endpoint.id)
    long_ago = now_us() - 100 * DAY_US
    (sent,) = await deliveries.queued(store, endpoint, received_at=long_ago)
    await deliveries.finish(store, sent, DeliveryState.DELIVERED, deliveries.attempt(sent, status=200, failure=None))
    (begun,) = await deliveries.queued(store, endpoint, received_at=long_ago)
    await store.deliveries.begin([begun.id])
    responded = {"status": 503, "failure": FailureKind.STATUS, "error": "Busy."}
    timed_out = {"status": None, "failure": FailureKind.TIMEOUT, "error": "No response."}
    interrupted = {"status": None, "failure": FailureKind.INTERRUPTED, "error": "Stopped.", "headers": ()}
    for fields in (responded, timed_out, interrupted):  # each waits for its retry
        (tried,) = await deliveries.queued(store, endpoint, received_at=long_ago)
        again = deliveries.attempt(tried, 2, failure=FailureKind.CONNECTION, headers=())
        await deliveries.finish(store, tried, DeliveryState.QUEUED, deliveries.attempt(tried, **fields), again)
    assert sum((await store.retention.purge()).deleted.values()) == 5
    assert await store.deliveries.count(NOT_SENT) == 0
    assert await store.deliveries.target_counts() == {}


async def test_what_could_not_connect_was_never_sent(store: Store) -> None:
    endpoint = await forwarding(store)
    (tried,) = await deliveries.queued(store, endpoint, received_at=now_us() - 100 * DAY_US)
    refused = [deliveries.attempt(tried, number, headers=()) for number in (1, 2)]
    await deliveries.finish(store, tried, DeliveryState.QUEUED, *refused)
    await store.retention.purge()
    (row,) = await store.deliveries.page(NOT_SENT)
    assert (row.id, row.attempts, row.deleted) == (tried.id, 2, True)


async def test_only_the_newest_are_kept_and_the_count_ends_after_a_quiet_day(store: Store, place: Place) -> None:
    endpoint = await forwarding(store)
    (target,) = endpoint.targets
    for _ in range(2):
        await asyncio.gather(
            *(wait_for_target(store, endpoint, 1, b"", received_at=now_us() - 100 * DAY_US) for _ in range(600))
        )
        await store.retention.purge()
    assert await store.deliveries.count(NOT_SENT) == 1_000
    assert (await store.deliveries.target_counts())[target.id].deleted == 1_200
    assert query(place, "SELECT count(*) FROM delivery") == [(0,)]
    write(place, "UPDATE target SET deleted_at = deleted_at - ?", DAY_US)
    assert await store.deliveries.target_counts() == {}
    assert await store.deliveries.target_troubles() == []
    await wait_for_target(store, endpoint, 1, received_at=now_us() - 100 * DAY_US)
    await store.retention.purge()
    assert (await store.deliveries.target_counts())[target.id].deleted == 1

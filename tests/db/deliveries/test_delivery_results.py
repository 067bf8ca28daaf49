"""Results of deliveries that wait together are stored together, and fail apart."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.delivery import Attempt, Delivery
from app.core.errors import StorageUnavailableError
from app.core.events import DeliveryChanged, Event
from app.core.model import DeliveryState, Endpoint
from app.db.deliveries import delivery_results
from app.db.store import Store
from tests import factories
from tests.db.deliveries.conftest import Reopen
from tests.db.deliveries.test_deliveries import queue, queued
from tests.db.helpers import INTEGRITY_ERRORS, Place, kept_bytes, of_kind, query, recount_bytes

DELIVERED, FAILED = DeliveryState.DELIVERED, DeliveryState.FAILED


def done(delivery: Delivery, state: DeliveryState = DELIVERED) -> tuple[Delivery, list[tuple[Attempt, bytes]]]:
    attempt = factories.attempt(delivery, response_size=2)
    return factories.after(delivery, attempt, state), [(attempt, b"ok")]


@pytest.mark.parametrize("number", [1, 2, 7, 40])
async def test_any_number_is_stored(
    store: Store, endpoint: Endpoint, place: Place, events: list[Event], number: int
) -> None:
    await queue(store, endpoint, number + 1)
    due = [one.delivery for one in await queued(store, endpoint)]
    results = [done(delivery) for delivery in due[:-1]]
    finished = [store.deliveries.finish(after, made, then_begin=due[-1].id) for after, made in results]
    assert any(await asyncio.gather(*finished))
    assert [one.delivery.id for one in await queued(store, endpoint)] == [due[-1].id]
    assert query(place, "SELECT id FROM delivery WHERE sending_at IS NOT NULL") == [(due[-1].id,)]
    for after, made in results:
        assert await store.deliveries.attempts(after.id) == [attempt for attempt, _ in made]
        assert await store.deliveries.of_capture(after.capture_id) == [after]
        assert await store.deliveries.response_body(after.id, 1) == b"ok"
    assert {event.delivery.id for event in of_kind(events, DeliveryChanged)} == {one.id for one in due[:-1]}
    assert kept_bytes(place) == recount_bytes(place)


async def test_one_that_cannot_be_stored_fails_alone(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint, 5)
    results = [done(one.delivery) for one in await queued(store, endpoint)]
    bad, [(attempt, body)] = results[2]
    results[2] = bad, [(replace(attempt, url=None), body)]
    outcomes = await asyncio.gather(
        *(store.deliveries.finish(after, made) for after, made in results), return_exceptions=True
    )
    assert isinstance(outcomes.pop(2), INTEGRITY_ERRORS)
    assert [type(outcome) for outcome in outcomes] == [bool] * 4
    assert [one.delivery.id for one in await queued(store, endpoint)] == [bad.id]


async def test_two_results_of_one_delivery_are_stored_one_after_the_other(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint)
    (one,) = await queued(store, endpoint)
    after, made = done(one.delivery, FAILED)
    again = factories.attempt(after, number=2)
    last = factories.after(after, again, DELIVERED)
    await asyncio.gather(
        store.deliveries.finish(after, made),
        store.deliveries.finish(last, [(again, b"")]),
    )
    assert [attempt.number for attempt in await store.deliveries.attempts(after.id)] == [1, 2]
    assert await store.deliveries.of_capture(after.capture_id) == [last]


async def test_results_that_wait_together_share_their_statements(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    real = delivery_results.store

    def counted(database: Any, results: list[delivery_results.Result], *others: Any) -> object:
        sizes.append(len(results))
        return real(database, results, *others)

    monkeypatch.setattr(delivery_results, "store", counted)
    await queue(store, endpoint, 20)
    results = [done(one.delivery) for one in await queued(store, endpoint)]
    await asyncio.gather(*(store.deliveries.finish(after, made) for after, made in results))
    assert sum(sizes) == 20
    assert max(sizes) > 1


@pytest.mark.parametrize("number", [2, 13, 70])
async def test_results_of_one_call_are_stored_with_the_next_begun(
    store: Store, endpoint: Endpoint, place: Place, number: int
) -> None:
    captures = await queue(store, endpoint, number + 3)
    due = [one.delivery for one in await store.deliveries.queued(endpoint.targets[0].id, number + 3)]
    gone = {captures[0].id, captures[number].id}
    await store.captures.delete(sorted(gone))
    ended = [done(delivery, FAILED if at % 3 else DELIVERED) for at, delivery in enumerate(due[:number])]
    following = [one.id for one in due[number:]]
    assert await store.deliveries.finish_all(ended, then_begin=following) == set(following[1:])
    assert query(place, "SELECT count(*) FROM delivery WHERE sending_at IS NOT NULL") == [(2,)]
    assert query(place, "SELECT count(*) FROM attempt") == [(number - 1,)]
    for after, _ in ended[1:]:
        assert await store.deliveries.of_capture(after.capture_id) == [after]
    shown = query(place, "SELECT delivery, count(*) FROM capture GROUP BY delivery ORDER BY delivery")
    failed = sum(after.state is FAILED for after, _ in ended[1:])
    expected = {"d": number - 1 - failed, "f": failed, "q": 2}
    assert shown == [(code, count) for code, count in expected.items() if count]
    assert kept_bytes(place) == recount_bytes(place)
    counted = store.captures.counts(endpoint.id).stored_bytes
    assert counted == kept_bytes(place)[endpoint.id]


async def test_of_results_of_one_call_all_are_stored_or_none(store: Store, endpoint: Endpoint, place: Place) -> None:
    await queue(store, endpoint, 4)
    results = [done(one.delivery) for one in await queued(store, endpoint)]
    bad, [(attempt, body)] = results[1]
    results[1] = bad, [(replace(attempt, url=None), body)]
    with pytest.raises(INTEGRITY_ERRORS):
        await store.deliveries.finish_all(results)
    assert query(place, "SELECT count(*) FROM attempt") == [(0,)]
    assert len(await queued(store, endpoint)) == 4


async def test_after_a_restart_failures_in_a_row_are_still_forgotten_by_a_success(
    store: Store, endpoint: Endpoint, place: Place, reopen: Reopen
) -> None:
    await queue(store, endpoint, 3)
    first, second, third = (one.delivery for one in await queued(store, endpoint))
    await store.deliveries.finish(*done(first, FAILED))
    await store.deliveries.finish(*done(second, FAILED))
    await store.close()
    assert query(place, "SELECT failures FROM target") == [(2,)]
    again = await reopen(endpoint)
    await again.deliveries.finish(*done(third))
    assert query(place, "SELECT failures FROM target") == [(0,)]


async def test_a_result_that_is_stored_again_counts_once(store: Store, endpoint: Endpoint, place: Place) -> None:
    """Its commit may have succeeded although the connection was lost meanwhile."""
    (target,) = endpoint.targets
    await store.targets.update(target.id, replace(target.draft(), pause_after=2))
    await queue(store, endpoint, 2)
    first, second = (one.delivery for one in await queued(store, endpoint))
    failed = done(first, FAILED)
    for _ in range(2):
        await store.deliveries.finish(*failed)
        assert query(place, "SELECT failures, paused FROM target") == [(1, None)]
        assert await store.deliveries.attempts(first.id) == [failed[1][0][0]]
        assert kept_bytes(place) == recount_bytes(place)
    await store.deliveries.finish(*done(second, FAILED))
    assert query(place, "SELECT failures, paused FROM target") == [(2, "failures")]


async def test_nothing_is_stored_once_the_store_is_closed(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint)
    (one,) = await queued(store, endpoint)
    await store.close()
    with pytest.raises(StorageUnavailableError):
        await store.deliveries.finish(*done(one.delivery))

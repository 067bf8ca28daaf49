"""Deliveries: queued with their capture, finished by attempts whose results are data."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock

import msgspec
import pytest

from app.core.clock import now_us
from app.core.delivery import AttemptTrigger, Delivery, DeliveryFilter, FailureKind, QueuedDelivery, Timing
from app.core.errors import NotFoundError, StorageUnavailableError
from app.core.events import Captured, DeliveriesQueued, DeliveryChanged, EndpointSaved, Event, TargetChanged
from app.core.model import PART_SIZE, WORST_FIRST, Capture, DeliveryState, Endpoint
from app.core.target import PausedBy, TargetCounts, TargetDraft
from app.db.deliveries import targets as targets_module
from app.db.store import Store
from tests import factories
from tests.db.deliveries.conftest import URL, Reopen
from tests.db.helpers import BODY, OpenStore, Place, add, kept_bytes, of_kind, query, recount_bytes, write
from tests.support import until

QUEUED, DELIVERED, FAILED = DeliveryState.QUEUED, DeliveryState.DELIVERED, DeliveryState.FAILED


async def queue(store: Store, endpoint: Endpoint, number: int = 1) -> list[Capture]:
    captures = [factories.capture(BODY, endpoint_id=endpoint.id) for _ in range(number)]
    targets = endpoint.targets
    await asyncio.gather(*(store.captures.add(capture, BODY, targets=targets) for capture in captures))
    return captures


async def queued(store: Store, endpoint: Endpoint) -> list[QueuedDelivery]:
    return await store.deliveries.queued(endpoint.targets[0].id, 50)


async def of(store: Store, capture: Capture) -> Delivery:
    (delivery,) = await store.deliveries.of_capture(capture.id)
    return delivery


async def end(
    store: Store,
    delivery: Delivery,
    state: DeliveryState = DELIVERED,
    body: bytes = b"",
    due_at: int = 0,
    **fields: object,
) -> Delivery:
    """Finish a delivery with one attempt; what is stored of it."""
    if state is FAILED:
        fields = {"failure": FailureKind.CONNECTION, "error": "Nobody listens.", "status": None, **fields}
    attempt = factories.attempt(delivery, response_size=len(body), **fields)
    after = factories.after(delivery, attempt, state, due_at)
    await store.deliveries.finish(after, [(attempt, body)])
    return after


async def test_a_capture_queues_a_delivery_to_each_target_in_the_same_commit(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    second = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    captures = await queue(store, store.endpoints.all()[0], 60)
    await add(store, endpoint.id)
    for target in (endpoint.targets[0], second):
        found = await store.deliveries.queued(target.id, 50)
        assert [one.capture for one in found] == [await store.captures.get(capture.id) for capture in captures[:50]]
        assert {one.body for one in found} == {BODY}
        first = found[0].delivery
        assert (first.url, first.state, first.target_id, first.attempts) == (target.url, QUEUED, target.id, 0)
        assert first.next_trigger is AttemptTrigger.FORWARD
    assert await store.deliveries.targets_with_queued() == {endpoint.targets[0].id, second.id}
    told = [summary.delivery for event in of_kind(events, Captured) for summary in event.summaries]
    assert told == [QUEUED] * 60 + [DeliveryState.NONE]
    assert [summary.delivery for summary in await store.captures.page(endpoint.id)] == told[::-1]


async def test_those_that_are_due_come_in_the_order_of_queueing(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint, 3)
    first, second, third = (one.delivery for one in await queued(store, endpoint))
    later = now_us() + 60_000_000
    await end(store, first, QUEUED, due_at=later)
    target_id = endpoint.targets[0].id
    due = await store.deliveries.queued(target_id, 50, due_at=later - 1)
    assert [one.delivery.id for one in due] == [second.id, third.id]
    due = await store.deliveries.queued(target_id, 50, due_at=later, without=[second.id])
    assert [one.delivery.id for one in due] == [first.id, third.id]
    assert await store.deliveries.next_due_at(target_id) == 0
    assert await store.deliveries.next_due_at(target_id, without=[second.id, third.id]) == later


async def test_long_bodies_are_not_read_with_their_deliveries(store: Store, endpoint: Endpoint) -> None:
    sizes = (0, 1, 16 * 1024, 16 * 1024 + 1, 256 * 1024, 256 * 1024 + 1)
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    for body in bodies:
        capture = factories.capture(body, endpoint_id=endpoint.id)
        await store.captures.add(capture, body, targets=endpoint.targets)
    assert [one.body for one in await queued(store, endpoint)] == [*bodies[:-1], None]


async def test_an_attempt_is_stored_shown_and_announced(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    (capture,) = await queue(store, endpoint)
    delivery = await of(store, capture)
    body = bytes(range(256)) * (PART_SIZE // 256)
    attempt = factories.attempt(
        delivery,
        headers=(("Host", "127.0.0.1:3000"), ("x-dup", "\xff")),
        size=len(BODY),
        timing=Timing(lookup=0.5, connect=1.5, first_byte=3.25),
        response_headers=(("A", "\xff"),),
        response_size=len(body),
        response_truncated=True,
    )
    done = factories.after(delivery, attempt, DELIVERED)
    await store.deliveries.finish(done, [(attempt, body)])
    assert await of(store, capture) == done
    assert await store.deliveries.attempts(done.id) == [attempt]
    assert await store.deliveries.response_body(done.id, 1) == body
    assert events[-1] == DeliveryChanged(delivery=done, state=DELIVERED)
    assert (await store.captures.page(None))[0].delivery is DELIVERED
    assert await queued(store, endpoint) == []
    assert await store.deliveries.targets_with_queued() == set()
    assert kept_bytes(place) == recount_bytes(place)
    assert store.captures.counts(endpoint.id).stored_bytes == recount_bytes(place)[endpoint.id]
    with pytest.raises(NotFoundError):
        await store.deliveries.response_body(done.id, 2)


async def test_every_attempt_of_a_delivery_is_kept(store: Store, endpoint: Endpoint, place: Place) -> None:
    (capture,) = await queue(store, endpoint)
    delivery = await of(store, capture)
    waits = await end(store, delivery, QUEUED, status=500, failure=FailureKind.STATUS, body=b"one")
    assert waits.next_trigger is AttemptTrigger.RETRY
    done = await end(store, waits, trigger=AttemptTrigger.RETRY, body=b"two")
    made = await store.deliveries.attempts(done.id)
    assert [(one.number, one.trigger, one.status) for one in made] == [
        (1, AttemptTrigger.FORWARD, 500),
        (2, AttemptTrigger.RETRY, 200),
    ]
    assert [await store.deliveries.response_body(done.id, number) for number in (1, 2)] == [b"one", b"two"]
    await store.captures.delete([capture.id])
    assert query(place, "SELECT count(*) FROM attempt") == [(0,)]
    assert kept_bytes(place) == recount_bytes(place)


async def test_a_request_shows_the_worst_of_its_targets(store: Store, endpoint: Endpoint) -> None:
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    (capture,) = await queue(store, store.endpoints.all()[0])
    first, second = await store.deliveries.of_capture(capture.id)

    async def shown() -> DeliveryState:
        return (await store.captures.page(None))[0].delivery

    await end(store, first)
    assert await shown() is QUEUED
    failed = await end(store, second, FAILED)
    assert await shown() is FAILED
    await store.deliveries.retry(DeliveryFilter(delivery_ids=(failed.id,)))
    assert await shown() is QUEUED
    await end(store, (await store.deliveries.of_capture(capture.id))[1])
    assert await shown() is DELIVERED


async def test_a_retry_of_one_of_two_failed_deliveries_leaves_the_request_failed(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    captures = await queue(store, store.endpoints.all()[0], 2)
    for capture, other in zip(captures, (FAILED, DELIVERED), strict=True):
        first, second = await store.deliveries.of_capture(capture.id)
        await end(store, first, FAILED)
        await end(store, second, other)
    await store.deliveries.retry(DeliveryFilter(target_id=endpoint.targets[0].id))
    assert query(place, "SELECT delivery FROM capture ORDER BY seq") == [("f",), ("q",)]
    (event,) = of_kind(events, DeliveriesQueued)
    assert event.shown == {captures[0].id: FAILED, captures[1].id: QUEUED}


@pytest.mark.parametrize("shown", WORST_FIRST[:-1])
async def test_each_state_is_shown_before_less_bad_ones(store: Store, endpoint: Endpoint, shown: DeliveryState) -> None:
    others = WORST_FIRST[WORST_FIRST.index(shown) + 1 :]
    for number in range(len(others)):
        await store.targets.create(endpoint.id, TargetDraft(url=f"http://127.0.0.1:300{number}/"))
    (capture,) = await queue(store, store.endpoints.all()[0])
    deliveries = await store.deliveries.of_capture(capture.id)
    for delivery, state in zip(deliveries, (*others, shown), strict=True):
        await end(store, delivery, state)
    assert (await store.captures.page(None))[0].delivery is shown


async def test_an_attempt_for_a_deleted_request_is_not_stored(
    store: Store, endpoint: Endpoint, events: list[Event]
) -> None:
    (capture,) = await queue(store, endpoint)
    delivery = await of(store, capture)
    await store.captures.delete([capture.id])
    assert await queued(store, endpoint) == []
    assert await store.deliveries.begin([delivery.id]) == set()
    await end(store, delivery, body=b"late")
    assert of_kind(events, DeliveryChanged) == []
    with pytest.raises(NotFoundError):
        await store.deliveries.response_body(delivery.id, 1)


async def test_a_removed_endpoint_has_nothing_queued(store: Store, endpoint: Endpoint) -> None:
    await queue(store, endpoint, 3)
    await store.endpoints.delete(endpoint.id)
    assert await queued(store, endpoint) == []
    assert await store.deliveries.targets_with_queued() == set()


async def test_the_next_delivery_begins_with_the_commit_that_finishes_one(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    await queue(store, endpoint, 2)
    first, second = (one.delivery for one in await queued(store, endpoint))
    assert await store.deliveries.begin([first.id]) == {first.id}
    attempt = factories.attempt(first)
    done = factories.after(first, attempt, DELIVERED)
    assert await store.deliveries.finish(done, [(attempt, b"")], then_begin=second.id)
    assert query(place, "SELECT id FROM delivery WHERE sending_at IS NOT NULL") == [(second.id,)]
    await store.deliveries.release([second.id])
    assert query(place, "SELECT id FROM delivery WHERE sending_at IS NOT NULL") == []
    queued_again = DeliveriesQueued(target_ids=(endpoint.targets[0].id,), shown={second.capture_id: QUEUED})
    assert of_kind(events, DeliveriesQueued) == [queued_again]
    assert not await store.deliveries.finish(done, [], then_begin=first.id), "it has ended"


async def test_an_attempt_that_a_crash_cut_off_is_marked_and_repeated(
    store: Store, endpoint: Endpoint, place: Place, reopen: Reopen
) -> None:
    (capture,) = await queue(store, endpoint)
    delivery = await of(store, capture)
    await store.deliveries.begin([delivery.id])
    await store.close()
    again = await reopen(endpoint)
    (attempt,) = await again.deliveries.attempts(delivery.id)
    assert (attempt.number, attempt.failure, attempt.trigger) == (1, FailureKind.INTERRUPTED, AttemptTrigger.FORWARD)
    (found,) = await again.deliveries.queued(endpoint.targets[0].id, 5)
    assert (found.delivery.state, found.delivery.attempts, found.delivery.round_attempts) == (QUEUED, 1, 0)
    assert found.delivery.next_trigger is AttemptTrigger.RESTART
    ended = await end(again, found.delivery, FAILED)
    assert [one.trigger for one in await again.deliveries.attempts(delivery.id)] == [
        AttemptTrigger.FORWARD,
        AttemptTrigger.RESTART,
    ]
    assert await again.deliveries.retry(DeliveryFilter(delivery_ids=(ended.id,))) == 1
    assert (await of(again, capture)).next_trigger is AttemptTrigger.MANUAL
    assert "may have received it" in (found.delivery.error or "")
    assert found.delivery.next_step == "Sent again because Hookline stopped during the last attempt."
    assert kept_bytes(place) == recount_bytes(place)


class TestRetry:
    async def test_failed_deliveries_are_queued_again_in_their_order(
        self, store: Store, endpoint: Endpoint, events: list[Event]
    ) -> None:
        captures = await queue(store, endpoint, 4)
        ids = [one.delivery.id for one in await queued(store, endpoint)]
        for number, one in enumerate(await queued(store, endpoint)):
            await end(store, one.delivery, DELIVERED if number == 1 else FAILED)
        assert await store.deliveries.count(DeliveryFilter(state=FAILED)) == 3
        assert await store.deliveries.retry(DeliveryFilter(endpoint_id=endpoint.id)) == 3
        due = await queued(store, endpoint)
        assert [one.delivery.id for one in due] == [ids[0], ids[2], ids[3]]
        assert {one.delivery.next_trigger for one in due} == {AttemptTrigger.MANUAL}
        event = of_kind(events, DeliveriesQueued)[-1]
        assert event.target_ids == (endpoint.targets[0].id,)
        assert list(event.shown) == [captures[number].id for number in (0, 2, 3)]
        assert await store.deliveries.retry(DeliveryFilter()) == 0

    async def test_what_was_not_sent_is_queued_again_only_by_its_id(self, store: Store, endpoint: Endpoint) -> None:
        (capture,) = await queue(store, endpoint)
        unsent = await end(store, await of(store, capture), DeliveryState.NOT_SENT)
        assert await store.deliveries.retry(DeliveryFilter(endpoint_id=endpoint.id)) == 0
        assert await store.deliveries.retry(DeliveryFilter(delivery_ids=(unsent.id,))) == 1
        assert (await of(store, capture)).state is QUEUED

    async def test_one_of_a_target_that_is_gone_stays_failed(self, store: Store, endpoint: Endpoint) -> None:
        (capture,) = await queue(store, endpoint)
        await end(store, await of(store, capture), FAILED)
        await store.targets.delete(endpoint.targets[0].id)
        assert await store.deliveries.retry(DeliveryFilter()) == 0
        assert (await of(store, capture)).state is FAILED


class TestPausing:
    async def test_failures_in_a_row_pause_a_target(
        self, store: Store, endpoint: Endpoint, events: list[Event]
    ) -> None:
        target = await store.targets.update(
            endpoint.targets[0].id, msgspec.structs.replace(endpoint.targets[0].draft(), pause_after=2)
        )
        await queue(store, endpoint, 4)
        first, second, third, fourth = (one.delivery for one in await queued(store, endpoint))
        await end(store, first, FAILED)
        await end(store, second)
        await end(store, third, FAILED)
        found = store.targets.by_id(target.id)
        assert found is not None
        assert found.paused is None, "a success came between"
        await end(store, fourth, FAILED)
        paused = store.targets.by_id(target.id)
        assert paused is not None
        assert paused.paused is PausedBy.FAILURES
        assert events[-1] == TargetChanged(target=paused)
        assert store.endpoints.all()[0].targets == (paused,)
        assert (await store.targets.resume(target.id)).paused is None

    async def test_resuming_forgets_the_waits(self, store: Store, endpoint: Endpoint) -> None:
        (capture,) = await queue(store, endpoint)
        await end(store, await of(store, capture), QUEUED, due_at=2**60)
        target_id = endpoint.targets[0].id
        assert (await store.targets.pause(target_id)).paused is PausedBy.USER
        assert await store.deliveries.next_due_at(target_id) == 2**60
        await store.targets.resume(target_id)
        assert await store.deliveries.next_due_at(target_id) == 0


async def test_a_replay_to_a_target_is_neither_queued_for_it_nor_counted(
    store: Store, endpoint: Endpoint, place: Place
) -> None:
    (capture,) = await queue(store, endpoint)
    failed = await end(store, await of(store, capture), FAILED)
    for replay_id, state in (("one", FAILED), ("two", DELIVERED)):
        replay = msgspec.structs.replace(failed, id=f"of {replay_id}", replay_id=replay_id, attempts=0)
        await store.deliveries.add_replay(replay)
        assert await queued(store, endpoint) == []
        assert await store.deliveries.targets_with_queued() == set()
        await end(store, replay, state)
    assert query(place, "SELECT failures FROM target") == [(1,)]
    await store.targets.pause(endpoint.targets[0].id)
    await store.deliveries.add_replay(msgspec.structs.replace(failed, id="of three", replay_id="three"))
    assert [trouble.waiting for trouble in await store.deliveries.target_troubles()] == [0]


async def test_a_target_has_its_last_error_until_a_delivery_succeeds(store: Store, endpoint: Endpoint) -> None:
    number = endpoint.targets[0].id

    async def last_error() -> str | None:
        return (await store.deliveries.target_counts()).get(number, TargetCounts()).last_error

    first, second = await queue(store, endpoint, 2)
    assert await last_error() is None
    retried = await end(store, await of(store, first), QUEUED, due_at=2**60, failure=FailureKind.TIMEOUT, error="Late.")
    assert await last_error() == "Late."
    await end(store, retried, FAILED, error="Gone.")
    assert await last_error() == "Gone."
    await end(store, await of(store, second))
    assert await last_error() is None


async def test_what_was_not_sent_lately_is_told_of_its_target(store: Store, endpoint: Endpoint) -> None:
    for capture, error in zip(await queue(store, endpoint, 2), ("One.", "Another."), strict=True):
        await end(store, await of(store, capture), DeliveryState.NOT_SENT, failure=FailureKind.NOT_SENT, error=error)
    (trouble,) = await store.deliveries.target_troubles()
    assert trouble.text == f"2 requests of the last day were not sent to {URL}: Another."
    assert trouble.advice == f"To see them: hookline deliveries {endpoint.slug} --not-sent"
    await store.targets.update(endpoint.targets[0].id, TargetDraft(url=URL, active=False))
    assert await store.deliveries.target_troubles() == []


async def test_deliveries_are_listed_by_what_they_are(store: Store, endpoint: Endpoint) -> None:
    captures = await queue(store, endpoint, 3)
    for capture, state in zip(captures, (FAILED, DELIVERED), strict=False):
        await end(store, await of(store, capture), state)
    replay = msgspec.structs.replace(await of(store, captures[0]), id="replayed", replay_id="r", target_id=None)
    assert await store.deliveries.add_replay(replay)

    async def listed(**fields: object) -> list[str]:
        return [one.capture_id for one in await store.deliveries.page(DeliveryFilter(**fields))]  # type: ignore[arg-type]

    ids = [capture.id for capture in captures]
    assert await listed() == [ids[0], ids[2], ids[1], ids[0]]
    assert await listed(state=FAILED) == [ids[0]]
    assert await listed(replay=True) == [ids[0]]
    assert await listed(replay=False, state=QUEUED) == [ids[2]]
    assert await listed(target_id=endpoint.targets[0].id, capture_ids=(ids[1], ids[2])) == [ids[2], ids[1]]
    assert await listed(endpoint_id=endpoint.id + 1) == []
    newest, *_ = await store.deliveries.page(DeliveryFilter(), limit=1)
    assert len(await store.deliveries.page(DeliveryFilter(), before=newest.seq)) == 3
    assert await store.deliveries.retry(DeliveryFilter()) == 1, "a replay is not retried"


async def test_a_target_that_changes_is_announced(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    made = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    assert events[-1] == TargetChanged(target=made)
    assert events[-2] == EndpointSaved(endpoint=store.endpoints.all()[0], created=False)
    await store.targets.move(made.id, 1)
    assert store.endpoints.all()[0].forward_url == made.url
    await store.targets.delete(made.id)
    assert store.endpoints.all()[0].targets == endpoint.targets


async def test_the_forms_url_is_the_first_target(store: Store, endpoint: Endpoint) -> None:
    second = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/", parallel=4))
    (capture,) = await queue(store, store.endpoints.all()[0])
    changed = await store.endpoints.update(
        endpoint.id, msgspec.structs.replace(endpoint.draft(), forward_url="http://a/")
    )
    assert [target.url for target in changed.targets] == ["http://a/", second.url]
    assert changed.targets[0].id == endpoint.targets[0].id
    removed = await store.endpoints.update(endpoint.id, msgspec.structs.replace(changed.draft(), forward_url=None))
    assert removed.targets == (second,)
    first, other = await store.deliveries.of_capture(capture.id)
    assert (first.state, first.error) == (DeliveryState.NOT_SENT, "Not sent: the target was removed.")
    assert other.state is QUEUED


async def removed(store: Store, endpoint: Endpoint, place: Place) -> None:
    """Delete the endpoint's first target; then nothing is queued."""
    await store.targets.delete(endpoint.targets[0].id)
    assert query(place, "SELECT state FROM delivery WHERE state = 'queued' AND sending_at IS NULL") == []


async def test_what_is_queued_for_a_deleted_target_is_not_sent_or_has_failed(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    tried, *others = await queue(store, endpoint, 700)
    retried = await end(
        store, await of(store, tried), QUEUED, due_at=2**60, status=503, failure=FailureKind.STATUS, error="Busy."
    )
    waiting = msgspec.structs.replace(retried, next_step="Retry 1 of 4, within 10 min.")
    await store.deliveries.finish(waiting, [])
    replay = msgspec.structs.replace(retried, id="replayed", replay_id="r")
    await store.deliveries.add_replay(replay)
    events.clear()
    await removed(store, endpoint, place)
    first, other = await store.deliveries.of_capture(tried.id)
    assert (first.state, first.error, first.next_step) == (FAILED, "Busy.", "Not retried: the target was removed.")
    assert (first.due_at, other.state) == (0, QUEUED), "the replay is still being sent"
    for capture in (others[0], others[-1]):
        one = await of(store, capture)
        assert (one.state, one.error) == (DeliveryState.NOT_SENT, "Not sent: the target was removed.")
        assert (one.next_step, one.due_at) == (None, 0)
    assert query(place, "SELECT delivery, count(*) FROM capture GROUP BY 1 ORDER BY 1") == [("f", 1), ("u", 699)]
    told = {one.delivery.id: (one.delivery, one.state, one.failure) for one in of_kind(events, DeliveryChanged)}
    assert told.pop(first.id) == (first, FAILED, FailureKind.STATUS)
    assert {(one.state, *shown) for one, *shown in told.values()} == {(*[DeliveryState.NOT_SENT] * 2, None)}
    assert len(told) == len(others)
    assert isinstance(events[0], EndpointSaved)


async def test_deliveries_that_a_crash_left_to_a_deleted_target_are_ended_at_the_next_start(
    store: Store, endpoint: Endpoint, place: Place, open_store: OpenStore
) -> None:
    (capture,) = await queue(store, endpoint)
    await store.close()
    write(place, "DELETE FROM target")
    again = await open_store()
    await until(lambda: query(place, "SELECT count(*) FROM delivery WHERE state = 'queued'") == [(0,)])
    one = await of(again, capture)
    assert (one.state, one.error) == (DeliveryState.NOT_SENT, "Not sent: the target was removed.")


async def test_a_row_shows_the_worst_of_the_targets_that_are_left(
    store: Store, endpoint: Endpoint, place: Place
) -> None:
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    failed, works = await queue(store, store.endpoints.all()[0], 2)
    for capture, state in ((failed, FAILED), (works, DELIVERED)):
        await end(store, (await store.deliveries.of_capture(capture.id))[1], state)
    await removed(store, endpoint, place)
    assert query(place, "SELECT delivery FROM capture ORDER BY seq") == [("f",), ("u",)]


@pytest.mark.parametrize("state", [QUEUED, FAILED, DELIVERED, None])
async def test_an_attempt_to_a_target_that_was_deleted_meanwhile_ends_its_delivery(
    store: Store, endpoint: Endpoint, place: Place, state: DeliveryState | None
) -> None:
    (capture,) = await queue(store, endpoint)
    delivery = await of(store, capture)
    await store.deliveries.begin([delivery.id])
    await removed(store, endpoint, place)
    assert (await of(store, capture)).state is QUEUED, "it is being sent"
    if state is None:
        await store.deliveries.release([delivery.id])
    else:
        await end(store, delivery, state, due_at=2**60)
    await store._removed_targets.run()
    expected = {QUEUED: FAILED, None: DeliveryState.NOT_SENT}.get(state, state)
    assert (await of(store, capture)).state is expected
    assert (await store.captures.page(None))[0].delivery is expected


async def test_a_request_that_arrives_while_its_target_is_deleted_is_not_queued_for_ever(
    store: Store, endpoint: Endpoint
) -> None:
    await store.targets.delete(endpoint.targets[0].id)
    (capture,) = await queue(store, endpoint)
    await store._removed_targets.run()
    assert (await of(store, capture)).state is DeliveryState.NOT_SENT


async def test_the_next_start_ends_what_is_queued_for_deleted_targets(
    store: Store, endpoint: Endpoint, place: Place, reopen: Reopen
) -> None:
    captures = await queue(store, endpoint, 2)
    await store.deliveries.begin([(await of(store, captures[0])).id])
    await store.close()
    write(place, "DELETE FROM target")
    again = await reopen(endpoint)
    await again._removed_targets.run()
    assert [(await of(again, capture)).state for capture in captures] == [FAILED, DeliveryState.NOT_SENT]
    assert "may have received it" in ((await of(again, captures[0])).error or "")


async def test_what_was_queued_for_a_removed_target_ends_as_soon_as_that_can_be_stored(
    store: Store, endpoint: Endpoint, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets_module, "RETRY_S", 0.01)
    (capture,) = await queue(store, endpoint)
    with monkeypatch.context() as disk:
        full = AsyncMock(side_effect=StorageUnavailableError("The disk is full."))
        disk.setattr(store._writer, "between", full)
        await store.targets.delete(endpoint.targets[0].id)
        await until(lambda: full.await_count > 1)
        assert (await of(store, capture)).state is QUEUED
    await until(lambda: of_kind(events, DeliveryChanged))
    one = await of(store, capture)
    assert (one.state, one.error) == (DeliveryState.NOT_SENT, "Not sent: the target was removed.")

"""Replays: stored with what changes of them, and what came of their deliveries."""

from __future__ import annotations

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import AttemptTrigger, Delivery, FailureKind
from app.core.ids import uuid7
from app.core.model import DeliveryState, Endpoint
from app.core.replay import ChosenRequests, EarlierResults, Replay, ReplayProgress, ReplaySpec, ReplayState
from app.db.store import Store
from tests import factories
from tests.db.deliveries.test_deliveries import end, queue
from tests.db.helpers import Place, kept_bytes, query, recount_bytes


def started(number: int = 1, *ids: str) -> Replay:
    return Replay(id=f"{number:04}", created_at=number, spec=ReplaySpec(source=ChosenRequests(ids=ids), seed=number))


async def test_what_changes_of_a_replay_is_stored(store: Store) -> None:
    first, second = started(1, "a", "b"), started(2)
    await store.replays.save(first)
    await store.replays.save(second)
    ended = replace(
        first, state=ReplayState.DONE, progress=ReplayProgress(total=2, sent=2), ended_at=9, summary="Done."
    )
    await store.replays.save(ended)
    assert await store.replays.latest() == [second, ended]
    assert await store.replays.latest(1) == [second]
    assert await store.replays.get(first.id) == ended
    assert await store.replays.get("unknown") is None


async def test_only_the_newest_replays_are_kept(store: Store) -> None:
    for number in range(1, 203):
        await store.replays.save(started(number))
    assert [one.id for one in await store.replays.latest(500)] == [f"{number:04}" for number in range(202, 2, -1)]


async def test_what_came_of_the_deliveries_of_a_replay(store: Store, endpoint: Endpoint) -> None:
    first, second = await queue(store, endpoint, 2)

    async def sent(capture_id: str, *, restart: bool = False) -> Delivery:
        made = Delivery(
            id=uuid7(now_us()),
            capture_id=capture_id,
            endpoint_id=endpoint.id,
            target_id=None,
            replay_id="r",
            url="http://127.0.0.1:9/",
            state=DeliveryState.QUEUED,
            queued_at=now_us(),
            interrupted=restart,
        )
        assert await store.deliveries.add_replay(made)
        return made

    await end(store, await sent(first.id))
    await end(store, await sent(first.id), DeliveryState.FAILED)
    await end(store, await sent(first.id), DeliveryState.NOT_SENT)
    cut_off = await sent(second.id)
    attempt = factories.attempt(cut_off, failure=FailureKind.INTERRUPTED, error="Cut off.", status=None)
    await store.deliveries.finish(factories.after(cut_off, attempt, DeliveryState.FAILED), [(attempt, b"")])
    place = second.id, None
    ended = {(first.id, None): [DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.NOT_SENT]}
    assert await store.replays.results("r") == EarlierResults(ended=ended, interrupted={place: 1})
    await end(store, await sent(second.id, restart=True), trigger=AttemptTrigger.RESTART)
    ended[place] = [DeliveryState.DELIVERED]
    assert await store.replays.results("r") == EarlierResults(ended=ended, repeated=1)
    assert await store.replays.results("unknown") == EarlierResults()


async def test_a_send_that_is_stored_already_is_stored_once(store: Store, endpoint: Endpoint, place: Place) -> None:
    """A server's answer may get lost after a commit; who sends tries again then."""
    first, second = await queue(store, endpoint, 2)
    (delivery,) = await store.deliveries.of_capture(first.id)
    sends = [replace(delivery, id=name, replay_id="r", target_id=None) for name in ("one", "two")]
    sends.append(replace(sends[0], id="three", capture_id=second.id))
    assert await store.deliveries.add_replay(sends[0])
    await store.captures.delete([second.id])
    assert [await store.deliveries.add_replay(one) for one in sends] == [True, True, False]
    assert query(place, "SELECT id FROM delivery WHERE replay_id = 'r' ORDER BY id") == [("one",), ("two",)]
    assert kept_bytes(place) == recount_bytes(place)
    assert store.captures.counts(endpoint.id).stored_bytes == kept_bytes(place)[endpoint.id]

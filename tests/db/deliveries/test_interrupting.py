"""A target is taken over from what sent to it until that ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.core.delivery import FailureKind
from app.core.errors import StorageUnavailableError
from app.core.events import DeliveryChanged, Event
from app.core.model import Endpoint
from app.core.replay import ChosenRequests, EarlierResults, Replay, ReplaySpec, ReplayState
from app.core.target import TargetDraft
from app.db.store import Store
from tests.db.deliveries.test_deliveries import FAILED, QUEUED, end, queue
from tests.db.helpers import OpenStore, Place, kept_bytes, of_kind, query, recount_bytes

SENDING = "SELECT id FROM delivery WHERE sending_at IS NOT NULL ORDER BY id"


@pytest.fixture
async def endpoint(store: Store, endpoint: Endpoint) -> Endpoint:
    """With two targets."""
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:3001/"))
    return store.endpoints.all()[0]


async def test_only_attempts_to_this_target_were_interrupted(
    store: Store, endpoint: Endpoint, events: list[Event], place: Place
) -> None:
    captures = await queue(store, endpoint, 3)
    (one, other), (second, _), (waiting, _) = [await store.deliveries.of_capture(capture.id) for capture in captures]
    replayed = replace(one, id="replayed", replay_id="r")
    await store.deliveries.add_replay(replayed)
    await store.deliveries.begin([one.id, other.id, second.id])
    await store.deliveries.interrupt(endpoint.targets[0].id)
    assert {name for (name,) in query(place, SENDING)} == {other.id, "replayed"}
    for delivery in (one, second):
        (attempt,) = await store.deliveries.attempts(delivery.id)
        assert attempt.failure is FailureKind.INTERRUPTED
    assert await store.deliveries.attempts(waiting.id) == []
    told = of_kind(events, DeliveryChanged)
    assert [(event.delivery.id, event.state, event.failure) for event in told] == [
        (delivery.id, QUEUED, FailureKind.INTERRUPTED) for delivery in (one, second)
    ]
    assert kept_bytes(place) == recount_bytes(place)
    assert store.captures.counts(endpoint.id).stored_bytes == kept_bytes(place)[endpoint.id]
    await store.deliveries.interrupt(endpoint.targets[0].id)
    assert len(of_kind(events, DeliveryChanged)) == len(told), "there is nothing more"


@pytest.mark.parametrize("engine", ["postgres"])  # a file has one store
async def test_failures_that_another_counted_are_forgotten_by_a_success(
    store: Store, endpoint: Endpoint, open_store: OpenStore, place: Place
) -> None:
    first, second = await queue(store, endpoint, 2)
    other = await open_store()
    await end(store, (await store.deliveries.of_capture(first.id))[0], FAILED)
    assert query(place, "SELECT failures FROM target ORDER BY id") == [(1,), (0,)]
    await other.deliveries.interrupt(endpoint.targets[0].id)
    await end(other, (await other.deliveries.of_capture(second.id))[0])
    assert query(place, "SELECT failures FROM target ORDER BY id") == [(0,), (0,)]


@pytest.mark.parametrize("engine", ["postgres"])
async def test_what_a_replay_was_sending_when_its_node_ended_can_be_repeated(
    store: Store, endpoint: Endpoint, open_store: OpenStore, place: Place
) -> None:
    one, two = await open_store(), await open_store()
    (capture,) = await queue(store, endpoint)
    (queued, _) = await store.deliveries.of_capture(capture.id)
    for number, node in enumerate((one, two), 1):
        replay = Replay(
            id=f"r{number}",
            created_at=number,
            spec=ReplaySpec(source=ChosenRequests(ids=(capture.id,))),
            state=ReplayState.RUNNING,
        )
        await node.replays.save(replay)
        await node.deliveries.add_replay(replace(queued, id=f"d{number}", replay_id=replay.id))
    await one.close()
    repeated = EarlierResults(interrupted={(capture.id, queued.target_id): 1})
    assert query(place, SENDING) == [("d2",)], "the other node goes on with its own"
    assert await store.replays.results("r1") == repeated
    (attempt,) = await store.deliveries.attempts("d1")
    assert attempt.failure is FailureKind.INTERRUPTED
    assert kept_bytes(place) == recount_bytes(place)

    await store.replays.save(replace(replay, id="r1"))
    await two.close()
    states = {replay.id: replay.state for replay in await store.replays.latest()}
    assert states == {"r1": ReplayState.RUNNING, "r2": ReplayState.INTERRUPTED}, "another node has resumed the first"
    assert await store.replays.results("r2") == repeated


@pytest.mark.parametrize("engine", ["postgres"])
async def test_a_takeover_that_cannot_be_stored_at_first_marks_what_was_being_sent(
    store: Store, endpoint: Endpoint, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, target = await open_store(), endpoint.targets[0]
    (capture,) = await queue(other, endpoint)
    assert await other.deliveries.claim(target.id)
    (delivery, _) = await other.deliveries.of_capture(capture.id)
    await other.deliveries.begin([delivery.id])
    await other.close()
    run, outcomes = store._writer.run, iter(["unknown", "stored", "refused"])

    async def fails(*args: Any, **options: Any) -> Any:
        outcome = next(outcomes)
        done = await run(*args, **options) if outcome != "refused" else None
        if outcome != "stored":
            raise StorageUnavailableError("The database server does not respond.")
        return done

    with monkeypatch.context() as server:
        server.setattr(store._writer, "run", fails)
        for _ in range(2):
            with pytest.raises(StorageUnavailableError):
                await store.deliveries.claim(target.id)
    assert next(outcomes, None) is None
    assert await store.deliveries.claim(target.id)
    (attempt,) = await store.deliveries.attempts(delivery.id)
    assert attempt.failure is FailureKind.INTERRUPTED

"""Replays one request and waits for its result."""

from __future__ import annotations

import asyncio

from app.core.delivery import Attempt, Delivery
from app.core.events import ReplayChanged
from app.core.record import Record
from app.core.replay.spec import ChosenRequests, Replay, ReplaySpec
from app.ui.services import Services


class SendResult(Record, frozen=True):
    """A delivery of the replay, with its last attempt."""

    delivery: Delivery
    attempt: Attempt


class ReplayResult(Record, frozen=True):
    """An ended replay of one request: `sends` has one result for each target."""

    replay: Replay
    sends: tuple[SendResult, ...]


async def replay_and_wait(spec: ReplaySpec, services: Services) -> ReplayResult:
    """`spec` must be of one request. Raises InvalidFieldsError or StorageUnavailableError."""
    assert isinstance(spec.source, ChosenRequests)
    ended: dict[str, Replay] = {}
    changed = asyncio.Event()

    def follow(event: ReplayChanged) -> None:
        if event.replay.ended:
            ended[event.replay.id] = event.replay
            changed.set()

    subscription = services.bus.subscribe(ReplayChanged, follow)
    try:
        replay = await services.replays.start(spec)
        while replay.id not in ended:
            await changed.wait()
            changed.clear()
    finally:
        subscription.end()
    deliveries = await services.store.deliveries.of_capture(spec.source.ids[0])
    own = [delivery for delivery in deliveries if delivery.replay_id == replay.id]
    attempts = await services.store.deliveries.last_attempts([delivery.id for delivery in own])
    sends = tuple(SendResult(delivery=one, attempt=attempts[one.id]) for one in own if one.id in attempts)
    return ReplayResult(replay=ended[replay.id], sends=sends)

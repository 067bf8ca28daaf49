"""Counts over time equal those made one by one."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from msgspec.structs import replace

from app.core.activity import Bar
from app.core.delivery import Delivery
from app.core.model import Capture, DeliveryState, Endpoint
from app.db.store import Store
from tests import factories
from tests.db.helpers import add

NOW = 1_795_000_000_000_000


def counted(captures: list[Capture], start: int, end: int) -> Bar:
    mine = [one for one in captures if start <= one.received_at < end]
    whole = [one for one in mine if one.complete]
    return Bar(
        plain=sum(one.delivery in (DeliveryState.NONE, DeliveryState.QUEUED) for one in whole),
        delivered=sum(one.delivery is DeliveryState.DELIVERED for one in whole),
        not_sent=sum(one.delivery is DeliveryState.NOT_SENT for one in whole),
        failed=sum(one.delivery is DeliveryState.FAILED for one in whole),
        incomplete=sum(not one.complete for one in mine),
    )


@pytest.mark.parametrize("seed", range(5))
async def test_bars_equal_a_count_one_by_one(store: Store, seed: int) -> None:
    dice = random.Random(seed)
    endpoints = [await store.endpoints.create(factories.draft()) for _ in range(3)]
    kept = [
        add(
            store,
            dice.choice(endpoints[: 3 if seed else 1]).id,
            received_at=NOW + dice.randint(-50, 50) * 1_000_000 + dice.choice((0, 0, 1, 999_999)),
            delivery=dice.choice(list(DeliveryState)),
            complete=dice.random() < 0.9,
        )
        for _ in range(300)
    ]
    captures = list(await asyncio.gather(*kept))
    edges = sorted({NOW + dice.randint(-60, 60) * 1_000_000 for _ in range(dice.choice((2, 17, 60)))})
    pairs = list(pairwise(edges))
    assert await store.activity.bars(None, edges) == [counted(captures, *pair) for pair in pairs]
    for endpoint in endpoints:
        mine = [one for one in captures if one.endpoint_id == endpoint.id]
        assert await store.activity.bars(endpoint.id, edges) == [counted(mine, *pair) for pair in pairs]
        first = min((one.received_at for one in mine), default=None)
        assert await store.activity.oldest(endpoint.id) == first
    assert await store.activity.oldest(None) == min(one.received_at for one in captures)


async def test_a_delivery_that_ends_moves_its_request(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    captures = [factories.capture(b"x", endpoint_id=endpoint.id, received_at=NOW + number) for number in range(2)]
    for capture in captures:
        await store.captures.add(capture, b"x", targets=endpoint.targets)
    assert await store.activity.bars(endpoint.id, [NOW, NOW + 2]) == [Bar(plain=2)]
    assert await store.activity.last_outcomes() == {}
    for capture, state in zip(captures, (DeliveryState.DELIVERED, DeliveryState.FAILED), strict=True):
        (delivery,) = await store.deliveries.of_capture(capture.id)
        await finish(store, delivery, state)
    assert await store.activity.bars(endpoint.id, [NOW, NOW + 1, NOW + 2]) == [Bar(delivered=1), Bar(failed=1)]
    assert await store.activity.last_outcomes() == {endpoint.id: DeliveryState.FAILED}


async def test_a_replay_is_no_outcome_of_its_endpoint(store: Store) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    forwarded = factories.capture(b"x", endpoint_id=endpoint.id, received_at=NOW)
    await store.captures.add(forwarded, b"x", targets=endpoint.targets)
    (delivery,) = await store.deliveries.of_capture(forwarded.id)
    alone = await add(store, endpoint.id, received_at=NOW + 1)
    replayed = replace(delivery, id="replayed", capture_id=alone.id, replay_id="r")
    await store.deliveries.add_replay(replayed)
    await finish(store, replayed, DeliveryState.FAILED)
    assert await store.activity.last_outcomes() == {}
    await finish(store, delivery, DeliveryState.DELIVERED)
    assert await store.activity.last_outcomes() == {endpoint.id: DeliveryState.DELIVERED}


async def finish(store: Store, delivery: Delivery, state: DeliveryState) -> None:
    made = factories.attempt(delivery)
    await store.deliveries.finish(factories.after(delivery, made, state), [(made, b"")])


async def test_nothing_is_counted_of_what_is_not_there(store: Store, endpoint: Endpoint) -> None:
    assert await store.activity.oldest(None) is None
    assert await store.activity.bars(99, [NOW, NOW + 1]) == [Bar()]
    assert await store.activity.bars(endpoint.id, [NOW]) == []
    await add(store, endpoint.id, received_at=NOW)
    await store.endpoints.delete(endpoint.id)
    assert await store.activity.bars(None, [NOW, NOW + 1]) == [Bar()]

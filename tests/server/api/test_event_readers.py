"""Ten readers of events and two that wait, one writer, and connections that break: every reader gets every request
once, in the order of storing. `benchmarks/event_readers.py` does it with the whole program for a minute."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import httpx
import pytest

from app.core.events import Bus, Captured
from app.core.model import PART_SIZE, Endpoint
from tests import factories
from tests.server.api.conftest import Desk
from tests.server.api.event_stream import events

pytestmark = pytest.mark.slow

READERS, WAITERS = 10, 2
REQUESTS, LATE = 300, 6
TIMEOUT_S = 120.0


async def test_none_is_missed_doubled_or_out_of_order(desk: Desk, bus: Bus) -> None:
    endpoint = await desk.endpoint()
    stored: list[str] = []
    bus.subscribe(Captured, lambda event: stored.extend(summary.id for summary in event.summaries))
    start = (await desk.client.get("/requests/wait?timeout=0")).headers["Hookline-Position"]
    chance = random.Random(20261123)
    async with asyncio.timeout(TIMEOUT_S), asyncio.TaskGroup() as group:
        reading = [group.create_task(read(desk, start, random.Random(number))) for number in range(READERS)]
        waiting = [group.create_task(wait(desk, start)) for _ in range(WAITERS)]
        await write(desk, endpoint, chance)
    assert len(set(stored)) == REQUESTS + LATE
    for task in (*reading, *waiting):
        assert task.result() == stored


async def write(desk: Desk, endpoint: Endpoint, chance: random.Random) -> None:
    """Many requests in groups, and some whose bodies begin long before they are stored."""
    late: list[asyncio.Task[None]] = []
    for number in range(REQUESTS):
        if number % (REQUESTS // LATE) == 0:
            late.append(asyncio.create_task(write_late(desk, endpoint, chance.random() * 0.3)))
        await desk.capture(endpoint)
        if number % 10 == 0:
            await asyncio.sleep(chance.random() * 0.03)
    await asyncio.gather(*late)


async def write_late(desk: Desk, endpoint: Endpoint, pause_s: float) -> None:
    body = bytes(PART_SIZE + 1)
    capture = factories.capture(body, endpoint_id=endpoint.id)
    key = await desk.store.captures.add_part(None, 0, body[:PART_SIZE])
    await asyncio.sleep(pause_s)
    await desk.store.captures.add(capture, body[PART_SIZE:], key)


async def read(desk: Desk, start: str, chance: random.Random) -> list[str]:
    """Read on connections that end after a few events, or a while."""
    got: list[str] = []
    positions: list[int] = []
    last = start
    while len(got) < REQUESTS + LATE:
        count = chance.randrange(1, 60)
        async with events(desk.client, last, types="captured") as reader:
            for _ in range(min(count, REQUESTS + LATE - len(got))):
                event = await reader.next()
                assert event.type == "captured"
                got.append(event.data["id"])
                last = event.id
                positions.append(int(event.id.split("-")[2]))
    assert all(one < other for one, other in pairwise(positions))
    return got


async def wait(desk: Desk, start: str) -> list[str]:
    """One request at a time, now and then with a call that is given up."""
    got: list[str] = []
    after = start
    while len(got) < REQUESTS + LATE:
        if len(got) % 50 == 25:
            try:
                async with asyncio.timeout(0.001):
                    await desk.client.get("/requests/wait", params={"after": after})
            except (TimeoutError, httpx.TransportError):
                pass
        response = await desk.client.get("/requests/wait", params={"after": after}, timeout=60)
        if response.status_code == 200:
            got.append(response.json()["id"])
        after = response.headers["Hookline-Position"]
    return got

"""How fast a target gets its requests."""

from __future__ import annotations

import asyncio

import pytest

from app.core.model import DeliveryState
from app.server.forward.target_worker import RateLimit
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Received, answering, target
from tests.server.forward.test_retrying import failing, rule


def test_requests_leave_one_by_one_and_a_late_one_delays_none() -> None:
    now = 100.0
    limit = RateLimit(lambda: now)
    assert limit.wait_us(None) == limit.wait_us(4) == 0
    limit.use(4)
    assert limit.wait_us(4) == 250_000
    assert limit.wait_us(100) == 10_000, "the rate was lower when it left"
    now += 0.35  # 0.1 s late
    assert limit.wait_us(4) == 0
    limit.use(4)
    assert limit.wait_us(4) == 150_000
    now += 60
    sent = 0
    while limit.wait_us(4) == 0:
        limit.use(4)
        sent += 1
    assert sent == 1, "what was not sent is not made up for"


@pytest.mark.parametrize("parallel", [None, 4])
async def test_a_target_gets_no_more_requests_a_second_than_it_allows(stage: Stage, parallel: int | None) -> None:
    times: list[float] = []

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        times.append(asyncio.get_running_loop().time())
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url, {"rate_limit": 50.0, "parallel": parallel})
        for number in range(8):
            await stage.capture(endpoint, target=f"/catch/s/{number}")
        began = asyncio.get_running_loop().time()
        await stage.forwarder.start()
        assert {one.state for one in await stage.outcomes(8)} == {DeliveryState.DELIVERED}
    assert all(at - began > number * 0.02 - 0.001 for number, at in enumerate(times))
    assert parallel or [received.line.split()[1] for received in place.received] == [f"/{one}" for one in range(8)]


async def test_a_retry_keeps_the_rate_limit(stage: Stage) -> None:
    async with target(failing(3)) as place:
        endpoint = await stage.endpoint(place.url, {"rate_limit": 20.0, "retry": rule()})
        await stage.forwarder.start()
        began = asyncio.get_running_loop().time()
        await stage.capture(endpoint)
        assert (await stage.outcomes(4))[-1].state is DeliveryState.DELIVERED
        assert asyncio.get_running_loop().time() - began > 3 * 0.05 - 0.001


async def test_a_pause_ends_the_wait_for_the_rate_limit(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url, {"rate_limit": 0.01})
        await stage.forwarder.start()
        for _ in range(2):
            await stage.capture(endpoint)
        await stage.outcomes(1)
        (paused,) = endpoint.targets
        await stage.store.targets.pause(paused.id)
        await stage.forwarder.stop()
        assert len(await stage.queued(endpoint)) == 1

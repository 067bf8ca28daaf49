"""What becomes of deliveries that wait for their retry when the computer's clock is corrected."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

import pytest

from app.core.model import DeliveryState
from app.core.target import RetryRule
from tests.server.capture.support import Clock
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import answering, target
from tests.server.forward.test_retrying import ERROR, failing

DAYS = 3 * 86_400
RULE = RetryRule(on=("5xx",), first_delay_ms=20, longest_delay_ms=20, total_ms=10_000)
LONG = RetryRule(on=("5xx",), first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=2 * 3_600_000)
SetClock = Callable[[float], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set the clock to so many seconds from the real time."""
    real = time.time_ns

    def set_to(seconds: float) -> None:
        monkeypatch.setattr("app.core.clock.time.time_ns", lambda: real() + round(seconds * 1e9))

    return set_to


@pytest.mark.parametrize("seconds", [-DAYS, DAYS], ids=["back", "forward"])
@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_clock_set_during_the_wait_delays_no_retry_and_ends_no_round(
    stage: Stage, set_clock: SetClock, seconds: int, parallel: int | None
) -> None:
    async with target(failing(2)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": RULE, "parallel": parallel})
        set_clock(0)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        set_clock(seconds)
        last = (await stage.outcomes(3))[-1]
    assert (last.state, last.attempts) == (DeliveryState.DELIVERED, 3)


async def test_a_clock_set_back_during_a_long_wait_does_not_prolong_it(
    stage: Stage, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "random", lambda: 1.0)  # the longest wait
    rule = RetryRule(on=("5xx",), first_delay_ms=60_000, longest_delay_ms=60_000, total_ms=600_000)
    async with target(failing(1)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule})
        clock, ran_s = Clock(asyncio.get_running_loop()), 0
        set_clock(0)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        while len(place.received) == 1:
            ran_s += 1
            set_clock(ran_s / 10)
            await clock.move_on(1)
            await asyncio.sleep(0.005)
        assert 50 < ran_s < 90
        await stage.outcomes(2)


@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_clock_set_back_before_a_start_delays_no_retry(
    stage: Stage, set_clock: SetClock, parallel: int | None
) -> None:
    async with target(failing(1)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": LONG, "parallel": parallel})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        await stage.close()
        set_clock(-DAYS)
        await stage.open()
        await stage.forwarder.start()
        last = (await stage.outcomes(2))[-1]
    assert (last.state, last.attempts) == (DeliveryState.DELIVERED, 2)


async def test_a_clock_set_back_during_a_round_does_not_prolong_it(stage: Stage, set_clock: SetClock) -> None:
    async with target(answering(ERROR)) as place:
        rule = RetryRule(retries=50, on=("5xx",), first_delay_ms=20, longest_delay_ms=20, total_ms=60)
        endpoint = await stage.endpoint(place.url, {"retry": rule})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        set_clock(-DAYS)
        while stage.told[-1].state is not DeliveryState.FAILED:
            last = (await stage.outcomes(len(stage.told) + 1))[-1]
    assert last.attempts < 50

"""Replays that the end of Hookline interrupted, and counting what a form is about."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.core.clock import now_us
from app.core.ids import uuid7
from app.core.replay import ChosenRequests, MatchingRequests, Replay, ReplayProgress, ReplaySpec, ReplayState
from tests.ui.desk import Desk, open_desk, shown
from tests.ui.replay.replay_desk import target
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


async def interrupted(desk: Desk, *ids: str) -> Replay:
    """A replay of these that was going on when the last run ended."""
    replay = Replay(
        id=uuid7(now_us()),
        created_at=now_us(),
        spec=ReplaySpec(source=ChosenRequests(ids=ids)),
        state=ReplayState.INTERRUPTED,
        progress=ReplayProgress(total=len(ids)),
        started_at=now_us(),
    )
    await desk.store.replays.save(replay)
    return replay


async def test_an_interrupted_replay_is_resumed_from_the_bar(tmp_path: Path) -> None:
    async with target() as received, open_desk(tmp_path) as desk:
        endpoint = await desk.endpoint(forward_url=received.url)
        await interrupted(desk, (await desk.capture(endpoint)).id, (await desk.capture(endpoint)).id)
        window = desk.window()
        window.show()
        bar = window.replays.bar
        await until(bar.isVisible)
        assert bar.title.text() == "Replay interrupted when Hookline closed: 0 of 2"
        bar.pause.click()
        await until(lambda: bar.title.text() == "Replay finished: 2 requests sent")
        assert len(received.requests) == 2
        window.close()
        await desk.tasks.cancel_all()
        window.deleteLater()


async def test_an_interrupted_replay_that_is_dismissed_is_not_offered_again(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    replay = await interrupted(desk, (await desk.capture(endpoint)).id, "0" * 8)
    window = desk.window()
    window.show()
    bar = window.replays.bar
    await until(bar.isVisible)
    bar.dismiss.click()
    await settle()
    assert not bar.isVisible()
    while (stored := await desk.store.replays.get(replay.id)) is None or not stored.ended:
        await settle()
    assert not bar.isVisible()
    window.close()
    await desk.tasks.cancel_all()
    window.deleteLater()


async def test_requests_are_counted_by_endpoint_time_and_query(tmp_path: Path) -> None:
    async with shown(tmp_path) as (desk, _):
        endpoint, other = await desk.endpoint(), await desk.endpoint()
        now = now_us()
        for ago in (40, 30, 20):
            await desk.capture(endpoint, received_at=now - ago * 1_000_000, method="PUT" if ago == 30 else "POST")
        await desk.capture(other)

        count = desk.services.replays.count
        early = now - 25 * 1_000_000
        assert await count(ChosenRequests(ids=("a", "b"))) == 2
        assert await count(MatchingRequests()) == 4
        assert await count(MatchingRequests(endpoint_id=endpoint.id)) == 3
        assert await count(MatchingRequests(endpoint_id=endpoint.id, received_before=early)) == 2
        assert await count(MatchingRequests(endpoint_id=endpoint.id, query="method:POST")) == 2
        late = MatchingRequests(endpoint_id=endpoint.id, query="method:POST", received_after=early)
        assert await count(late) == 1
        await asyncio.gather(*(desk.capture(endpoint) for _ in range(120)))  # more than a search finds at once
        assert await count(MatchingRequests(endpoint_id=endpoint.id, query="method:POST")) == 122

"""Replays that are cancelled, cut off or kept from being stored at awkward moments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.delivery import AttemptTrigger, DeliveryFilter, FailureKind, RequestEdit
from app.core.errors import NotAllowedError, NotFoundError, StorageUnavailableError
from app.core.model import DeliveryState
from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    Replay,
    ReplayProgress,
    ReplaySpec,
    ReplayState,
)
from app.core.target import TargetDraft
from app.server import replay_service
from app.server.forward import lazy_sender
from tests.server.forward.targets import OK, Answering, Received, answering, target
from tests.server.replay.conftest import ReplayStage, paths

ERROR = b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"


def counts(progress: ReplayProgress) -> ReplayProgress:
    """Without how long anything took."""
    targets = (replace(one, per_second=0.0, median_ms=None, p95_ms=None) for one in progress.targets)
    return replace(progress, rate=0.0, targets=tuple(targets))


async def test_one_cancelled_before_its_requests_are_known_sends_none(
    stage: ReplayStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    selecting, go_on = asyncio.Event(), asyncio.Event()

    async def slow_page(*args: Any, **others: Any) -> Any:
        selecting.set()
        await go_on.wait()
        return await page(*args, **others)

    page = stage.store.captures.page
    monkeypatch.setattr(stage.store.captures, "page", slow_page)
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 3)
        source = MatchingRequests(endpoint_id=endpoint.id)
        first = await stage.replays.start(ReplaySpec(source=source))
        second = await stage.replays.start(ReplaySpec(source=source))
        await selecting.wait()
        assert (await stage.replays.cancel(first.id)).state is ReplayState.CANCELLED
        go_on.set()
        await stage.until(second.id, ReplayState.DONE)
        found = await stage.replays.get(first.id)
    assert found is not None
    assert found.state is ReplayState.CANCELLED
    assert len(place.received) == 3


async def test_a_delayed_send_does_not_outlive_a_cancelled_replay(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 40)
        source, faults = MatchingRequests(endpoint_id=endpoint.id), Faults(delay=0.5, delay_max_ms=60_000)
        replay = await stage.replays.start(ReplaySpec(source=source, faults=faults))
        await place.arrival(5)
        await stage.replays.cancel(replay.id)
        done = await stage.until(replay.id, ReplayState.CANCELLED)
    assert done.progress.sent == done.progress.delivered == len(place.received) < 40


async def test_an_interrupted_replay_is_resumed_once(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 10)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=50)))
        await place.arrival(3)
        await stage.close()
        await stage.open()
        await asyncio.gather(stage.replays.resume(replay.id), stage.replays.resume(replay.id))
        await stage.until(replay.id, ReplayState.DONE)
    assert len(place.received) == 10


async def test_a_resumed_replay_makes_the_rest_of_the_same_sends(stage: ReplayStage) -> None:
    spec: dict[str, Any] = {"faults": Faults(duplicate=0.4, swap=0.4, drop=0.4), "seed": 5, "times": 2}
    async with target() as place, target(answering(ERROR)) as second:
        endpoint = await stage.endpoint(place.url)
        await stage.store.targets.create(endpoint.id, TargetDraft(url=second.url))
        await stage.captures(endpoint, 20)
        source = MatchingRequests(endpoint_id=endpoint.id)
        whole = await stage.replay(source, **spec)
        expected = [paths(one.received) for one in (place, second)]
        for one in (place, second):
            one.received.clear()
        started = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=100), **spec))
        await place.arrival(8)
        await stage.close()
        await stage.open()
        await stage.replays.resume(started.id)
        resumed = await stage.until(started.id, ReplayState.DONE)
    assert [paths(one.received) for one in (place, second)] == expected
    assert counts(resumed.progress) == counts(whole.progress)
    assert whole.progress.delivered == whole.progress.failed == len(expected[0])
    assert "Results since it was resumed" in (resumed.summary or "")
    assert whole.progress.duplicated > 0
    assert whole.progress.dropped > 0


async def test_a_store_that_cannot_write_ends_no_replay(stage: ReplayStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_service, "_SAVE_EVERY", 1)
    for wait in ("FIRST_WAIT_S", "_LONGEST_WAIT_S"):
        monkeypatch.setattr(lazy_sender, wait, 0.01)
    refused = asyncio.Event()
    left = 20

    async def full(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            monkeypatch.undo()
        refused.set()
        raise StorageUnavailableError("full")

    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 30)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=60)))
        await place.arrival()
        monkeypatch.setattr(stage.store.replays, "save", full)
        await refused.wait()
        announced = len(stage.announced)
        done = await stage.until(replay.id, ReplayState.DONE)
    assert left < 0
    assert done.progress.delivered == 30
    assert len(stage.announced) > announced + 1


@pytest.mark.parametrize("refused", ["add_replay", "finish"])
async def test_one_stops_when_the_role_does_not_allow_it_any_more(
    stage: ReplayStage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, refused: str
) -> None:
    async def refuse(*_: object) -> None:
        raise NotAllowedError("Your role in the team's store may only read.")

    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 30)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=60)))
        await place.arrival()
        monkeypatch.setattr(stage.store.deliveries, refused, refuse)
        monkeypatch.setattr(stage.store.replays, "save", refuse)
        ended = await asyncio.wait_for(stage.until(replay.id, ReplayState.CANCELLED), 5)
    assert ended.problem == "The replay stopped: Your role in the team's store may only read."
    assert 0 < ended.progress.sent < 30
    assert len(place.received) <= ended.progress.sent
    assert not caplog.text


async def test_one_whose_start_cannot_be_stored_has_ended(stage: ReplayStage, monkeypatch: pytest.MonkeyPatch) -> None:
    save = stage.store.replays.save

    async def full(replay: Replay) -> None:
        if replay.state is ReplayState.RUNNING:
            raise StorageUnavailableError("The disk is full.")
        await save(replay)

    monkeypatch.setattr(stage.store.replays, "save", full)
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 3)
        replay = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        ended = await stage.until(replay.id, ReplayState.CANCELLED)
        assert (ended.problem, place.received) == ("The replay stopped: The disk is full.", [])
        for change in (stage.replays.pause, stage.replays.resume, stage.replays.cancel):
            with pytest.raises(NotFoundError):
                await change(replay.id)
        monkeypatch.undo()
        again = await stage.replay(MatchingRequests(endpoint_id=endpoint.id))
    assert (await stage.replays.latest(2))[1].state is ReplayState.CANCELLED
    assert again.progress.delivered == 3


async def test_a_resumed_one_that_waits_for_its_turn_says_so(stage: ReplayStage) -> None:
    hold = asyncio.Event()
    async with target(held(hold)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 2)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source))
        await place.arrival()
        await stage.close()
        await stage.open()
        await stage.replays.start(ReplaySpec(source=source))
        await place.arrival(2)
        await stage.replays.resume(replay.id)
        states = [one.state for one in await stage.replays.latest(2)]
        hold.set()
        await stage.until(replay.id, ReplayState.DONE)
    assert states == [ReplayState.RUNNING, ReplayState.QUEUED]


async def test_a_store_that_cannot_write_does_not_keep_a_replay_from_pausing(
    stage: ReplayStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StorageUnavailableError("full")

    go = asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 3)
        replay = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        await place.arrival()
        with monkeypatch.context() as disk:
            disk.setattr(stage.store.replays, "save", full)
            assert (await stage.replays.pause(replay.id)).state is ReplayState.PAUSED
            assert stage.announced[-1].state is ReplayState.PAUSED
            assert (await stage.replays.resume(replay.id)).state is ReplayState.RUNNING
            assert stage.announced[-1].state is ReplayState.RUNNING
        go.set()
        done = await stage.until(replay.id, ReplayState.DONE)
    assert done.progress.delivered == 3


async def test_who_waits_for_a_replay_finds_it_ended(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 5)
        replay = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        await stage.replays.wait(replay.id)
        found = await stage.replays.get(replay.id)
    assert found is not None
    assert (found.state, found.progress.delivered) == (ReplayState.DONE, 5)
    await stage.replays.wait(replay.id)


def held(hold: asyncio.Event) -> Answering:
    """Answer only once `hold` is set."""

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await hold.wait()
        await answering(OK)(received, writer)

    return answer


@pytest.mark.parametrize("times", [1, 3])
async def test_one_that_was_sent_to_some_of_its_targets_goes_to_the_others(stage: ReplayStage, times: int) -> None:
    """What was under way is sent again, and marked; what had ended is neither sent nor counted again."""
    hold = asyncio.Event()
    async with target() as first, target(held(hold)) as second, target() as third:
        endpoint = await stage.endpoint(first.url)
        for place in (second, third):
            await stage.store.targets.create(endpoint.id, TargetDraft(url=place.url))
        await stage.captures(stage.now(endpoint), 3)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, times=times))
        await second.arrival(1)
        await stage.close()
        await stage.open()
        hold.set()
        await stage.replays.resume(replay.id)
        done = await stage.until(replay.id, ReplayState.DONE)
        sent = 3 * times
        assert [len(place.received) for place in (first, second, third)] == [sent, sent + 1, sent]
    progress = done.progress
    assert (progress.total, progress.sent) == (sent, sent)
    assert (progress.delivered, progress.failed, progress.repeated) == (3 * sent, 0, 1)
    assert "Repeated after a restart  1" in (done.summary or "")
    rows = await stage.store.deliveries.page(DeliveryFilter(replay_id=replay.id))
    attempts = [await stage.store.deliveries.attempts(row.id) for row in reversed(rows)]
    interrupted = [made for made in attempts if made[0].failure is FailureKind.INTERRUPTED]
    repeated = [made for made in attempts if made[0].trigger is AttemptTrigger.RESTART]
    assert len(interrupted) == len(repeated) == 1
    assert interrupted[0][0].url == repeated[0][0].url
    assert len(attempts) == 3 * sent + 1


async def test_all_copies_that_were_under_way_are_repeated(stage: ReplayStage) -> None:
    """Each copy of a request is one of its own: the second repeats nothing."""
    hold = asyncio.Event()
    async with target(held(hold)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 1)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, times=3, concurrency=3))
        for arrived in (3, 6):
            await place.arrival(arrived)
            await stage.close()
            await stage.open()
            before = await stage.store.replays.results(replay.id)
            assert (list(before.interrupted.values()), before.repeated) == ([3], arrived - 3)
            await stage.replays.resume(replay.id)
        hold.set()
        done = await stage.until(replay.id, ReplayState.DONE)
        assert len(place.received) == 9
    assert (done.progress.sent, done.progress.delivered, done.progress.repeated) == (3, 3, 6)
    rows = await stage.store.deliveries.page(DeliveryFilter(replay_id=replay.id))
    triggers = [(await stage.store.deliveries.attempts(row.id))[0].trigger for row in reversed(rows)]
    assert triggers == [AttemptTrigger.REPLAY] * 3 + [AttemptTrigger.RESTART] * 6
    assert {row.interrupted for row in rows[:3]} == {False}


async def test_a_second_end_counts_no_repeat_twice(stage: ReplayStage) -> None:
    hold = asyncio.Event()
    async with target(held(hold)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 2)
        replay = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        for number in (1, 2):
            await place.arrival(number)
            await stage.close()
            await stage.open()
            await stage.replays.resume(replay.id)
        await place.arrival(3)
        hold.set()
        done = await stage.until(replay.id, ReplayState.DONE)
        assert len(place.received) == 4
    assert (done.progress.sent, done.progress.delivered, done.progress.repeated) == (2, 2, 2)


async def test_incomplete_requests_are_left_out_unless_wanted(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 2)
        bare = replace(endpoint, targets=())
        cut = await stage.capture(bare, b"{", complete=False, delivery=DeliveryState.NONE)
        source = MatchingRequests(endpoint_id=endpoint.id)
        done = await stage.replay(source, times=2)
        assert (done.progress.total, done.progress.sent, done.progress.incomplete) == (6, 4, 2)
        assert done.progress.done == done.progress.total
        assert done.problem == "2 incomplete requests were left out."
        assert "Left out, incomplete  2" in (done.summary or "")
        alone = await stage.replay(ChosenRequests(ids=(cut.id,)))
        assert (alone.progress.sent, alone.problem) == (0, "1 incomplete request was left out.")
        assert len(place.received) == 4
        edited = await stage.replay(ChosenRequests(ids=(cut.id,)), edit=RequestEdit(body=b"{}"))
        wanted = await stage.replay(source, incomplete=True)
    assert (edited.progress.sent, wanted.progress.sent, wanted.problem) == (1, 3, None)
    assert len(place.received) == 8

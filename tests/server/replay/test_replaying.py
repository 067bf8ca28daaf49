"""Replays over real sockets from a real store."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from app.core.delivery import Delivery, DeliveryFilter, FailureKind, RequestEdit
from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.events import DeliveryChanged
from app.core.model import DeliveryState
from app.core.replay import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    ReplaySpec,
    ReplayState,
)
from tests import damage, factories
from tests.server.forward.targets import OK, Received, answering, silent, target
from tests.server.replay.conftest import ReplayStage, paths


async def test_requests_go_to_their_targets_again_oldest_first(stage: ReplayStage) -> None:
    async with target() as place, target() as second:
        endpoint = await stage.endpoint(place.url)
        await stage.store.targets.create(endpoint.id, replace(endpoint.targets[0].draft(), url=second.url))
        made = await stage.captures(endpoint, 130)
        done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id))
    assert paths(place.received) == paths(second.received) == [f"/{n}" for n in range(130)]
    assert (done.state, done.progress.total, done.progress.delivered, done.progress.failed) == (
        ReplayState.DONE,
        130,
        260,
        0,
    )
    assert done.summary is not None
    assert f"all requests of “{endpoint.name}”" in done.summary
    assert "130" in done.summary
    found = await stage.store.deliveries.of_capture(made[0].id)
    assert [(one.replay_id, one.state, one.attempts) for one in found] == [(done.id, DeliveryState.DELIVERED, 1)] * 2
    assert (await stage.store.captures.page(None))[0].delivery is DeliveryState.DELIVERED


async def test_what_is_told_of_a_delivery_is_what_is_stored_of_it(stage: ReplayStage) -> None:
    told: list[Delivery] = []
    stage.bus.subscribe(DeliveryChanged, lambda event: told.append(event.delivery))
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        bare = replace(endpoint, targets=())
        about = {"provider": "stripe", "event": "invoice.paid", "gist": "JSON · paid"}
        made = await stage.capture(bare, b"{}", delivery=DeliveryState.NONE, **about)
        await stage.replay(ChosenRequests(ids=(made.id,)))
    assert told == await stage.store.deliveries.of_capture(made.id)
    assert (told[0].captured_event, told[0].captured_gist) == ("invoice.paid", "JSON · paid")


async def test_each_delivery_counts_where_targets_differ(stage: ReplayStage) -> None:
    error, nothing = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "http://127.0.0.1:9/"
    async with target() as place, target(answering(error)) as broken:
        endpoint = await stage.endpoint(place.url)
        for url in (broken.url, nothing):
            await stage.store.targets.create(endpoint.id, replace(endpoint.targets[0].draft(), url=url))
        await stage.captures(endpoint, 12)
        done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id))
    progress = done.progress
    assert (progress.total, progress.sent, progress.delivered, progress.failed) == (12, 12, 12, 24)
    assert done.summary is not None
    facts = {" ".join(line.split()) for line in done.summary.splitlines()}
    assert {"Sent 12 requests", "Delivered 12", "Failed 24", "200 12", "500 12", "Could not connect 12"} <= facts
    counts = {one.url: (one.sent, one.delivered, one.failed, one.not_sent) for one in progress.targets}
    assert counts == {place.url: (12, 12, 0, 0), broken.url: (12, 0, 12, 0), nothing: (12, 0, 12, 0)}
    for one in progress.targets:
        assert one.per_second > 0
        assert one.median_ms is not None
        assert one.p95_ms is not None
        assert one.median_ms <= one.p95_ms
    for counted in (
        f"12 delivered, 0 failed {place.url} (p50 ",
        f"0 delivered, 12 failed {broken.url} (p50 ",
        f"0 delivered, 12 failed {nothing} (p50 ",
    ):
        assert any(fact.startswith(counted) for fact in facts)


async def test_chosen_requests_go_to_another_url(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint("http://127.0.0.1:9/")
        made = await stage.captures(endpoint, 4)
        await stage.replay(ChosenRequests(ids=(made[3].id, made[1].id)), destination=OneUrl(url=place.url + "/new"))
    assert paths(place.received) == ["/new/1", "/new/3"]


async def test_what_matches_a_query_and_a_time_is_sent(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url, slug="orders")  # a random one may begin with 1
        made = await stage.captures(endpoint, 20)
        source = MatchingRequests(endpoint_id=endpoint.id, query="path:/1")
        await stage.replay(source)
        assert paths(place.received) == ["/1", *(f"/1{n}" for n in range(10))]
        place.received.clear()
        times = {"received_after": made[5].received_at, "received_before": made[8].received_at}
        await stage.replay(MatchingRequests(endpoint_id=endpoint.id, **times))
        assert paths(place.received) == ["/5", "/6", "/7"]
        place.received.clear()
        await stage.replay(MatchingRequests(**times))
    assert paths(place.received) == ["/5", "/6", "/7"], "the same without an endpoint"


async def test_an_edited_request_is_sent_as_edited(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        (made,) = await stage.captures(endpoint, 1)
        edit = RequestEdit(method="PUT", url=f"{place.url}/changed?x", headers=(("A", "1"), ("a", "2")), body=b"new")
        done = await stage.replay(ChosenRequests(ids=(made.id,)), edit=edit)
    (received,) = place.received
    assert (received.line, received.body) == ("PUT /changed?x HTTP/1.1", b"new")
    assert received.headers[1:3] == [("A", "1"), ("a", "2")]
    (delivery,) = await stage.store.deliveries.of_capture(made.id)
    (attempt,) = await stage.attempts(delivery)
    assert (attempt.method, attempt.url, attempt.size) == ("PUT", f"{place.url}/changed?x", 3)
    assert done.spec.edit == edit


@pytest.mark.parametrize(("edit", "requested"), [(None, "/in?own=1"), ("/changed?x", "/changed?x")])
async def test_what_is_being_sent_names_the_url_it_requests(
    stage: ReplayStage, edit: str | None, requested: str
) -> None:
    asked = asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await silent(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url + "/in?own=1")
        draft = replace(endpoint.targets[0].draft(), append_path=False, keep_query=False)
        await stage.store.targets.update(endpoint.targets[0].id, draft)
        (made,) = await stage.captures(endpoint, 1)
        edited = RequestEdit(url=place.url + edit) if edit else None
        await stage.replays.start(ReplaySpec(source=ChosenRequests(ids=(made.id,)), edit=edited))
        await asyncio.wait_for(asked.wait(), 30)
        (delivery,) = await stage.store.deliveries.of_capture(made.id)
        assert (delivery.attempts, delivery.url) == (0, place.url + requested)
        assert paths(place.received) == [requested]


async def test_another_endpoint_captures_them(stage: ReplayStage, capture_port: str) -> None:
    place = urlsplit(capture_port)
    stage.addresses.listening = place.hostname or "", place.port or 0
    endpoint = await stage.endpoint("http://127.0.0.1:9/")
    other = await stage.store.endpoints.create(factories.draft(slug="other"))
    await stage.captures(endpoint, 3)
    done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id), destination=OtherEndpoint(slug="other"))
    assert done.progress.delivered == 3
    rows = await stage.store.captures.page(other.id)
    assert [row.target for row in rows] == [f"/catch/other/{n}" for n in (2, 1, 0)]


async def test_the_number_at_once_is_never_exceeded(stage: ReplayStage) -> None:
    here, most = 0, 0
    all_here = asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == 4:
            all_here.set()
        await all_here.wait()
        await asyncio.sleep(0.005)
        here -= 1
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        (made,) = await stage.captures(endpoint, 1)
        done = await stage.replay(ChosenRequests(ids=(made.id,)), times=40, concurrency=4)
    assert (most, done.progress.delivered, len(place.received)) == (4, 40, 40)
    latencies = [line.split()[0] for line in (done.summary or "").splitlines() if line.strip().startswith("p")]
    assert latencies == ["p50", "p90", "p95", "p99"]


async def test_the_same_seed_makes_the_same_faults(stage: ReplayStage) -> None:
    faults = Faults(duplicate=0.2, swap=0.2, drop=0.2, cut_off=0.2)
    runs = []
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 60)
        for _ in range(2):
            place.received.clear()
            done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id), faults=faults, seed=7)
            runs.append((paths(place.received), done.progress.dropped, done.progress.duplicated, done.progress.failed))
    assert runs[0] == runs[1]
    assert runs[0][0] != [f"/{n}" for n in range(60)]
    cut = [
        (await stage.attempts(one))[0]
        for one in await stage.store.deliveries.page(DeliveryFilter(state=DeliveryState.FAILED), limit=500)
    ]
    assert {attempt.failure for attempt in cut} == {FailureKind.CUT_OFF}


async def test_a_pause_stops_and_a_resume_goes_on(stage: ReplayStage) -> None:
    arrived = asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 30)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=50)))
        await arrived.wait()
        assert (await stage.replays.pause(replay.id)).state is ReplayState.PAUSED
        assert len(place.received) < 30
        await stage.replays.resume(replay.id)
        done = await stage.until(replay.id, ReplayState.DONE)
    assert done.progress.delivered == 30


async def test_a_cancelled_replay_sends_no_more(stage: ReplayStage) -> None:
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url, {"timeout_ms": 300})
        await stage.captures(endpoint, 30)
        replay = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        second = await stage.replays.start(ReplaySpec(source=MatchingRequests(endpoint_id=endpoint.id)))
        await place.arrival()
        assert (await stage.replays.cancel(second.id)).state is ReplayState.CANCELLED
        await stage.replays.cancel(replay.id)
        done = await stage.until(replay.id, ReplayState.CANCELLED)
    assert (done.progress.sent, done.progress.failed, len(place.received)) == (1, 1, 1)
    with pytest.raises(NotFoundError):
        await stage.replays.cancel(replay.id)


async def test_what_an_end_interrupts_can_be_resumed_and_sends_only_the_rest(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.captures(endpoint, 40)
        source = MatchingRequests(endpoint_id=endpoint.id)
        replay = await stage.replays.start(ReplaySpec(source=source, pace=FixedRate(per_second=50)))
        await place.arrival(3)
        await stage.close()
        await stage.open()
        found = await stage.replays.get(replay.id)
        assert found is not None
        assert found.state is ReplayState.INTERRUPTED
        await stage.captures(endpoint, 3)
        await stage.replays.resume(replay.id)
        done = await stage.until(replay.id, ReplayState.DONE)
    assert paths(place.received) == [f"/{n}" for n in range(40)]
    assert (done.progress.total, done.progress.sent, done.progress.delivered) == (40, 40, 40)


async def test_original_gaps_are_kept(stage: ReplayStage) -> None:
    times: list[float] = []

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        times.append(asyncio.get_running_loop().time())
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        bare = replace(endpoint, targets=())
        for offset in (0, 40_000, 400_000):
            await stage.capture(bare, received_at=1_700_000_000_000_000 + offset, delivery=DeliveryState.NONE)
        started = asyncio.get_running_loop().time()
        await stage.replay(MatchingRequests(endpoint_id=endpoint.id), pace=OriginalGaps(scale=0.5))
    assert times[1] - started >= 0.02
    assert times[2] - started >= 0.2


async def test_what_cannot_be_sent_is_counted_and_explained(stage: ReplayStage) -> None:
    endpoint = await stage.store.endpoints.create(factories.draft())
    await stage.captures(endpoint, 2)
    done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id))
    assert (done.state, done.progress.failed) == (ReplayState.DONE, 2)
    assert (
        done.problem
        == "2 requests could not be sent: no longer stored, or without a target. Add a target, or replay to a URL."
    )


@pytest.mark.parametrize("query", ["", "method:POST"])
async def test_what_is_deleted_and_may_be_restored_is_not_sent(stage: ReplayStage, query: str) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        made = await stage.captures(endpoint, 4)
        await stage.store.trash.delete([made[1].id])
        done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id, query=query))
        assert paths(place.received) == ["/0", "/2", "/3"]
        assert (done.progress.total, done.progress.delivered, done.problem) == (3, 3, None)


async def test_what_is_deleted_before_its_turn_is_not_sent(stage: ReplayStage) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await stage.store.trash.delete([made[2].id])
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        made = await stage.captures(endpoint, 4)
        done = await stage.replay(ChosenRequests(ids=tuple(one.id for one in made)))
    assert paths(place.received) == ["/0", "/1", "/3"]
    assert (done.progress.sent, done.progress.delivered, done.progress.failed) == (4, 3, 1)
    assert (
        done.problem
        == "1 request could not be sent: no longer stored, or without a target. Add a target, or replay to a URL."
    )


async def test_a_wrong_replay_is_refused(stage: ReplayStage) -> None:
    to = OtherEndpoint(slug="nowhere")
    with pytest.raises(InvalidFieldsError, match="nowhere"):
        await stage.replays.start(ReplaySpec(source=ChosenRequests(ids=("x",)), destination=to))
    with pytest.raises(InvalidFieldsError):
        await stage.replays.start(ReplaySpec(source=ChosenRequests(ids=()), concurrency=0))


async def test_a_damaged_body_is_not_sent(stage: ReplayStage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        damaged, intact = await stage.captures(endpoint, 2)
        damage.change_body(stage.folder, damaged.id)
        done = await stage.replay(MatchingRequests(endpoint_id=endpoint.id))
    assert [received.body for received in place.received] == [b"1"]
    assert (done.progress.sent, done.progress.delivered) == (2, 1)
    (delivery,) = await stage.store.deliveries.of_capture(damaged.id)
    assert "damaged" in (delivery.error or "")
    (delivery,) = await stage.store.deliveries.of_capture(intact.id)
    assert delivery.state is DeliveryState.DELIVERED

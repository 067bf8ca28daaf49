"""The stream of events: what it sends, how it resumes, and how it ends."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from app.core.events import Bus, DeliveryChanged
from app.core.model import PART_SIZE, DeliveryState, Refusal
from app.server.api import event_log, event_texts
from app.server.api import events as event_calls
from tests import factories
from tests.server.api.conftest import TOKEN, Desk, fields, problem
from tests.server.api.event_stream import events, ids
from tests.stand_in_tunnel import URL
from tests.support import until


async def test_a_stored_request_is_sent_as_lists_show_it(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders")
    async with events(desk.client) as reader:
        assert reader.response.headers["content-type"] == "text/event-stream"
        assert reader.response.headers["cache-control"] == "no-store"
        assert reader.retry_ms == 1_000
        capture = await desk.capture(endpoint, target="/catch/orders/1?é", note=None)
        received = await reader.next()
    assert received.type == "captured"
    (listed,) = (await desk.client.get("/requests")).json()["items"]
    assert received.data == listed
    assert received.data["id"] == capture.id


async def test_each_type_of_event(desk: Desk, bus: Bus) -> None:
    async with events(desk.client) as reader:
        endpoint = await desk.endpoint(slug="orders", name="Orders")
        created = await reader.next()
        await desk.client.patch("/endpoints/orders", json={"active": False})
        changed = await reader.next()
        capture = await desk.capture(endpoint)
        delivery = replace(factories.queued().delivery, capture_id=capture.id, endpoint_id=endpoint.id)
        delivery = replace(delivery, state=DeliveryState.FAILED, error="It is down.")
        bus.publish(DeliveryChanged(delivery=delivery, state=DeliveryState.FAILED))
        captured, delivered = await reader.take(2)
        desk.refused.add(
            Refusal(
                at=1, source_address="::1", source_port=9, status=405, reason="No.", method="X", target="/catch/orders"
            )
        )
        refused = await reader.next()
        await desk.client.delete("/endpoints/orders")
        deleted = await reader.next()
    assert (created.type, created.data["change"], created.data["name"]) == ("endpoint", "created", "Orders")
    assert created.data["url"] == "https://hooks.example/catch/orders"
    assert (changed.data["change"], changed.data["active"]) == ("changed", False)
    assert (captured.type, captured.data["id"]) == ("captured", capture.id)
    assert (delivered.type, delivered.data["id"], delivered.data["request"]) == ("delivered", delivery.id, capture.id)
    assert (delivered.data["state"], delivered.data["error"]) == ("failed", "It is down.")
    assert (refused.type, refused.data["status"], refused.data["endpoint"]) == ("refused", 405, "orders")
    assert (deleted.type, deleted.data["change"], deleted.data["slug"]) == ("endpoint", "deleted", "orders")


async def test_the_tunnel_is_told_when_its_state_or_url_changes(desk: Desk) -> None:
    """Also to a caller that follows one endpoint, whose URL changes with it; not for each line of the program."""
    await desk.endpoint(slug="orders")
    async with events(desk.client, types="tunnel") as reader, events(desk.client, endpoint="orders") as of_one:
        await desk.client.post("/tunnel/start", json={"program": "stand-in"})
        started, checking = await reader.take(2)
        desk.tunnels.change(output=("a line",))
        desk.tunnels.change(problem="It did not come back.")
        problem_found = await reader.next()
        await desk.client.post("/tunnel/stop")
        stopping, off = await reader.take(2)
        same = await of_one.take(5)
    assert [one.data for one in (started, checking)] == [
        {"state": "starting", "program": "stand-in", "url": None, "problem": None},
        {"state": "checking", "program": "stand-in", "url": URL, "problem": None},
    ]
    assert (problem_found.data["state"], problem_found.data["problem"]) == ("checking", "It did not come back.")
    assert (stopping.data["state"], off.data["state"], off.data["url"]) == ("stopping", "off", None)
    assert [(one.type, one.id) for one in same] == [
        ("tunnel", one.id) for one in (started, checking, problem_found, stopping, off)
    ]
    async with events(desk.client, checking.id, types="tunnel") as reader:
        assert (await reader.next()).data == problem_found.data


async def test_filters(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    async with (
        events(desk.client, endpoint="two") as of_two,
        events(desk.client, types="refused,captured") as of_types,
        events(desk.client, q="method:PUT needle") as of_query,
    ):
        first = await desk.capture(one, b"a needle", method="PUT")
        await desk.client.patch("/endpoints/one", json={"name": "Other"})
        second = await desk.capture(two, b"a needle", method="POST")
        third = await desk.capture(two, b"needles", method="PUT")
        assert ids(await of_two.take(2)) == [second.id, third.id]
        assert ids(await of_types.take(3)) == [first.id, second.id, third.id]
        assert ids(await of_query.take(2)) == [first.id, third.id]


async def test_last_event_id_continues_without_a_gap(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    async with events(desk.client) as reader:
        made = [await desk.capture(endpoint) for _ in range(3)]
        first, *_ = await reader.take(3)
    made += [await desk.capture(endpoint) for _ in range(3)]
    async with events(desk.client, first.id) as reader:
        assert ids(await reader.take(5)) == [capture.id for capture in made[1:]]
    async with events(desk.client, after=first.id) as reader:
        assert ids(await reader.take(5)) == [capture.id for capture in made[1:]]
    async with events(desk.client, after=made[3].id, types="captured") as reader:
        assert ids(await reader.take(2)) == [capture.id for capture in made[4:]]


async def test_one_that_was_stored_late_is_not_missed(desk: Desk) -> None:
    """Its id is older than that of a request that was stored before it."""
    endpoint = await desk.endpoint()
    body = bytes(PART_SIZE + 1)
    late = factories.capture(body, endpoint_id=endpoint.id)
    key = await desk.store.captures.add_part(None, 0, body[:PART_SIZE])
    async with events(desk.client) as reader:
        early = await desk.capture(endpoint)
        assert (await reader.next()).data["id"] == early.id
        await desk.store.captures.add(late, body[PART_SIZE:], key)
        newer = await desk.capture(endpoint)
        assert ids(await reader.take(2)) == [late.id, newer.id]
    async with events(desk.client, types="captured", after=early.id) as reader:
        assert ids(await reader.take(2)) == [late.id, newer.id]
    async with events(desk.client, types="captured", after=late.id) as reader:
        assert ids(await reader.take(1)) == [newer.id]


async def test_what_the_log_no_longer_holds_comes_from_the_store(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "KEPT", 5)
    monkeypatch.setattr(event_calls, "BATCH", 4)
    endpoint = await desk.endpoint()
    async with events(desk.client) as reader:
        first = await desk.capture(endpoint)
        assert (await reader.next()).data["id"] == first.id
    made = [await desk.capture(endpoint) for _ in range(11)]
    async with events(desk.client, reader.last) as again:
        gap = await again.next()
        assert (gap.id, gap.type) == ("", "gap")
        assert gap.data["types"] == ["delivered", "endpoint", "refused", "replay", "tunnel"]
        assert gap.data["reason"]
        head = await again.take(6)
    async with events(desk.client, head[-1].id, types="captured") as again:
        rest = await again.take(5)
        made.append(await desk.capture(endpoint))
        rest.append(await again.next())
    assert ids([*head, *rest]) == [capture.id for capture in made]


async def test_a_position_of_another_database_is_told(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    async with events(desk.client, "abc-5-99999999999") as reader:
        gap = await reader.next()
        assert (gap.type, "captured" in gap.data["types"]) == ("gap", True)
        capture = await desk.capture(endpoint)
        assert (await reader.next()).data["id"] == capture.id


async def test_heartbeats_move_the_position_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_calls, "HEARTBEAT_S", 0.05)
    endpoint = await desk.endpoint(slug="one")
    await desk.endpoint(slug="two")
    async with events(desk.client, endpoint="two") as reader:
        begun = reader.last
        capture = await desk.capture(endpoint)
        reading = asyncio.create_task(reader.next())
        await until(lambda: reader.comments and reader.last != begun)
        two = desk.store.endpoints.by_slug("two")
        assert two is not None
        mine = await desk.capture(two)
        assert (await reading).data["id"] == mine.id
    assert capture.id != mine.id


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=nothing", "after"),
        ("types=captured,other", "types"),
        ("types=", "types"),
        ("unknown=1", "unknown"),
    ],
)
async def test_wrong_parameters(desk: Desk, query: str, field: str) -> None:
    assert fields(await desk.client.get(f"/events?{query}"), 400, "invalid-parameter") == [field]


async def test_other_wrong_calls(desk: Desk) -> None:
    problem(await desk.client.get("/events?endpoint=none"), 404, "not-found")
    assert fields(await desk.client.get("/events?q=method:"), 400, "invalid-query") == ["q"]
    wrong = await desk.client.get("/events", headers={"Last-Event-ID": "x y"})
    assert fields(wrong, 400, "invalid-parameter") == ["Last-Event-ID"]
    problem(await desk.client.get(f"/events?after={factories.capture(b'').id}"), 404, "not-found")
    problem(await desk.client.get("/events", headers={"Authorization": "Bearer no"}), 401, "unauthorized")
    head = await desk.client.head("/events")
    assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream")


async def test_a_hundred_readers(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(events(desk.client)) for _ in range(100)]
        made = [await desk.capture(endpoint) for _ in range(5)]
        for reader in readers:
            assert ids(await reader.take(5)) == [capture.id for capture in made]


async def test_readers_of_more_filters_than_texts_are_kept_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_texts, "CHUNKS", 3)
    endpoints = [await desk.endpoint() for _ in range(7)]
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(events(desk.client, endpoint=one.slug)) for one in endpoints]
        of_all = await stack.enter_async_context(events(desk.client))
        made = [await desk.capture(endpoint) for endpoint in [*endpoints, *endpoints]]
        for number, reader in enumerate(readers):
            assert ids(await reader.take(2)) == [made[number].id, made[number + len(endpoints)].id]
        assert ids(await of_all.take(len(made))) == [capture.id for capture in made]


async def test_more_events_than_a_chunk_holds(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MERGE_S", 0.5)
    monkeypatch.setattr(event_texts, "CHUNK_BYTES", 2_000)
    monkeypatch.setattr(event_texts, "BATCH", 20)
    one, two = await desk.endpoint(), await desk.endpoint()
    async with (
        events(desk.client) as reader,
        events(desk.client) as other,
        events(desk.client, endpoint=two.slug) as of_two,
    ):
        made = [await desk.capture(two if number % 10 == 0 else one) for number in range(50)]
        expected = [capture.id for capture in made]
        assert ids(await reader.take(50)) == ids(await other.take(50)) == expected
        assert ids(await of_two.take(5)) == expected[::10]


async def test_too_many_readers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_calls, "FOLLOWERS_MAX", 1)
    async with events(desk.client):
        problem(await desk.client.get("/events"), 503, "too-many-followers")
        problem(await desk.client.get("/requests/wait"), 503, "too-many-followers")


def raw_reader(desk: Desk) -> socket.socket:
    """A connection that has asked for events, and reads none."""
    host, port = desk.server.address
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, port))
    connection.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    return connection


def followers_of(desk: Desk) -> int:
    return len(desk.events.followers)


async def test_a_reader_that_leaves_is_forgotten_at_once(desk: Desk) -> None:
    with raw_reader(desk):
        await until(lambda: followers_of(desk) == 1)
    await until(lambda: followers_of(desk) == 0)


async def test_a_reader_that_stops_reading_is_dropped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_calls, "STALL_S", 0.3)
    endpoint = await desk.endpoint()
    with raw_reader(desk):
        await until(lambda: followers_of(desk) == 1)
        for _ in range(600):
            await desk.capture(endpoint, target="/catch/" + "x" * 10_000)
            if not followers_of(desk):
                break
        await until(lambda: followers_of(desk) == 0)


async def test_the_log_is_bounded_however_many_read_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "KEPT", 50)
    monkeypatch.setattr(event_log, "KEPT_BYTES", 200_000)
    endpoint = await desk.endpoint()
    connections = [raw_reader(desk) for _ in range(5)]
    try:
        await until(lambda: followers_of(desk) == 5)
        for number in range(120):
            await desk.capture(endpoint, target="/catch/" + "x" * (10_000 if number % 2 else 10))
            assert len(desk.events._events) <= 50
            assert desk.events._bytes == sum(event.size for event in desk.events._events) <= 200_000
    finally:
        for connection in connections:
            connection.close()


async def test_a_stop_ends_streams_at_once(desk: Desk) -> None:
    """Also those whose callers read nothing."""
    endpoint = await desk.endpoint()
    with raw_reader(desk):
        async with events(desk.client) as reader:
            await until(lambda: followers_of(desk) == 2)
            for _ in range(300):
                await desk.capture(endpoint, target="/catch/" + "x" * 20_000)
            await reader.take(300)
            async with asyncio.timeout(0.9):  # aiohttp would wait for a second
                await desk.server.stop()
            with pytest.raises(StopAsyncIteration):
                await reader.next()


async def test_events_of_other_endpoints_are_not_written_for_a_caller_of_one(desk: Desk) -> None:
    orders, other = await desk.endpoint(slug="orders"), await desk.endpoint(slug="other")
    start = desk.events.newest()
    async with events(desk.client, endpoint="orders") as reader:
        for _ in range(3):
            await desk.capture(other)
        mine = await desk.capture(orders)
        assert (await reader.next()).data["id"] == mine.id
    written = [event.text is not None for event in desk.events.since(start.number, 10)]
    assert written == [False, False, False, True]

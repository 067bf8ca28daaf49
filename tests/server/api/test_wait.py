"""The call that waits for a request."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from itertools import pairwise

import httpx
import pytest
from aiohttp import web

from app.core.model import PART_SIZE
from app.db.captures import Captures
from app.server.api import event_log, events
from app.server.api.events import Follower, Followers
from app.server.api.protocol import ApiProtocol
from tests import factories
from tests.server.api.conftest import Desk, fields, problem
from tests.server.api.test_events import followers_of, until

POSITION = "hookline-position"


async def wait(desk: Desk, **parameters: object) -> httpx.Response:
    return await desk.client.get("/requests/wait", params={"timeout": 30, **parameters}, timeout=60)


async def test_it_returns_the_next_request_in_full(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    await desk.capture(endpoint)
    waiting = asyncio.create_task(wait(desk))
    await until(lambda: followers_of(desk) == 1)
    capture = await desk.capture(endpoint, headers=(("X-One", "1"),))
    response = await waiting
    assert response.status_code == 200
    assert response.json() == (await desk.client.get(f"/requests/{capture.id}")).json()
    assert response.headers[POSITION]
    assert not followers_of(desk)


async def test_204_and_a_position_after_the_timeout(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    await desk.capture(endpoint)
    response = await wait(desk, timeout=0)
    assert (response.status_code, response.content) == (204, b"")
    capture = await desk.capture(endpoint)
    found = await wait(desk, timeout=0, after=response.headers[POSITION])
    assert found.json()["id"] == capture.id
    assert (await wait(desk, timeout="0.05", after=found.headers[POSITION])).status_code == 204


@pytest.mark.parametrize("by", ["position", "id"])
async def test_none_is_missed_and_none_comes_twice(desk: Desk, by: str) -> None:
    endpoint = await desk.endpoint()
    after = (await wait(desk, timeout=0)).headers[POSITION]
    made: list[str] = []

    async def write() -> None:
        for number in range(60):
            made.append((await desk.capture(endpoint)).id)
            if number % 7 == 0:
                await asyncio.sleep(0.003)

    writing = asyncio.create_task(write())
    got: list[str] = []
    while len(got) < 60:
        response = await wait(desk, after=after)
        assert response.status_code == 200
        got.append(response.json()["id"])
        after = response.headers[POSITION] if by == "position" else got[-1]
    await writing
    assert got == made


async def test_one_that_was_stored_late_is_not_missed(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    body = bytes(PART_SIZE + 1)
    late = factories.capture(body, endpoint_id=endpoint.id)
    key = await desk.store.captures.add_part(None, 0, body[:PART_SIZE])
    early = await desk.capture(endpoint)
    waiting = asyncio.create_task(wait(desk, after=early.id))
    await until(lambda: followers_of(desk) == 1)
    await desk.store.captures.add(late, body[PART_SIZE:], key)
    assert (await waiting).json()["id"] == late.id
    assert (await wait(desk, after=early.id, timeout=0)).json()["id"] == late.id


async def test_the_search_and_the_endpoint_decide(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    after = (await wait(desk, timeout=0)).headers[POSITION]
    waiting = [
        asyncio.create_task(wait(desk, endpoint="two", q="needle")),
        asyncio.create_task(wait(desk, q='json:a.b>5 header:x-kind="big one"')),
        asyncio.create_task(wait(desk, q="-needle method:POST")),
    ]
    await until(lambda: followers_of(desk) == 3)
    numbers = await desk.capture(one, b'{"a":{"b":6}}', method="PUT", headers=(("X-Kind", "big one"),))
    await desk.capture(one, b"needle", method="PUT")
    needle = await desk.capture(two, b"a needle in it", method="PUT")
    other = await desk.capture(two, b"none")
    expected = [needle.id, numbers.id, other.id]
    assert [response.json()["id"] for response in await asyncio.gather(*waiting)] == expected
    found = await wait(desk, q="needle", endpoint="two", after=after, timeout=0)
    assert found.json()["id"] == needle.id


async def test_many_stored_meanwhile_are_read_in_batches(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "BATCH", 7)
    monkeypatch.setattr(event_log, "KEPT", 12)
    endpoint = await desk.endpoint()
    after = (await wait(desk, timeout=0)).headers[POSITION]
    made = [await desk.capture(endpoint, b"needle" if number in (20, 33) else b"hay") for number in range(40)]
    found = [await wait(desk, q="needle", after=after, timeout=0)]
    found.append(await wait(desk, q="needle", after=found[0].headers[POSITION], timeout=0))
    assert [response.json()["id"] for response in found] == [made[20].id, made[33].id]
    ended = await wait(desk, q="needle", after=found[1].headers[POSITION], timeout=0)
    assert ended.status_code == 204
    positions = [response.headers[POSITION].split("-")[2] for response in (*found, ended)]
    assert all(int(one) < int(other) for one, other in pairwise(positions))


async def test_one_that_was_deleted_is_passed_over(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    after = (await wait(desk, timeout=0)).headers[POSITION]
    gone, kept = await desk.capture(endpoint), await desk.capture(endpoint)
    await desk.client.delete(f"/requests/{gone.id}")
    assert (await wait(desk, after=after, timeout=0)).json()["id"] == kept.id
    problem(await wait(desk, after=gone.id, timeout=0), 404, "not-found")


async def test_a_deleted_endpoint_ends_the_wait(desk: Desk) -> None:
    await desk.endpoint(slug="one")
    waiting = asyncio.create_task(wait(desk, endpoint="one"))
    await until(lambda: followers_of(desk) == 1)
    await desk.client.delete("/endpoints/one")
    problem(await waiting, 404, "not-found")


async def test_a_hundred_wait(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    async with httpx.AsyncClient(
        base_url=desk.client.base_url, headers=desk.client.headers, trust_env=False, limits=httpx.Limits()
    ) as client:
        waiting = [asyncio.create_task(client.get("/requests/wait?timeout=60", timeout=90)) for _ in range(100)]
        await until(lambda: followers_of(desk) == 100)
        capture = await desk.capture(endpoint)
        assert {response.json()["id"] for response in await asyncio.gather(*waiting)} == {capture.id}
    await until(lambda: followers_of(desk) == 0)


async def test_a_caller_that_leaves_is_forgotten_at_once(desk: Desk) -> None:
    waiting = asyncio.create_task(wait(desk))
    await until(lambda: followers_of(desk) == 1)
    waiting.cancel()
    await until(lambda: followers_of(desk) == 0)


async def test_a_caller_that_left_before_the_wait_began_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = await desk.capture(await desk.endpoint())
    asked, lost, go, followed = (asyncio.Event() for _ in range(4))
    position, connection_lost, follow = Captures.seq_of, ApiProtocol.connection_lost, Followers.follow

    async def slow_position(captures: Captures, capture_id: str) -> int | None:
        asked.set()
        await go.wait()
        return await position(captures, capture_id)

    def watched_loss(protocol: ApiProtocol, exc: BaseException | None) -> None:
        connection_lost(protocol, exc)
        lost.set()

    def watched_follow(followers: Followers, request: web.Request) -> AbstractContextManager[Follower]:
        followed.set()
        return follow(followers, request)

    monkeypatch.setattr(Captures, "seq_of", slow_position)
    monkeypatch.setattr(ApiProtocol, "connection_lost", watched_loss)
    monkeypatch.setattr(Followers, "follow", watched_follow)
    waiting = asyncio.create_task(wait(desk, after=capture.id, timeout=300))
    await asked.wait()
    waiting.cancel()
    await lost.wait()
    go.set()
    await followed.wait()
    await until(lambda: followers_of(desk) == 0)


async def test_a_stop_ends_the_wait_at_once(desk: Desk) -> None:
    waiting = asyncio.create_task(wait(desk))
    await until(lambda: followers_of(desk) == 1)
    async with asyncio.timeout(0.9):  # aiohttp would wait for a second
        await desk.server.stop()
    problem(await waiting, 503, "stopping")


async def test_wrong_timeouts(desk: Desk) -> None:
    for timeout in ("-1", "301", "soon", "nan", "inf", "", "1e400", "٣"):
        assert fields(await wait(desk, timeout=timeout), 400, "invalid-parameter") == ["timeout"]


async def test_other_wrong_calls(desk: Desk) -> None:
    assert fields(await wait(desk, after="yesterday"), 400, "invalid-parameter") == ["after"]
    assert fields(await wait(desk, q="is:nothing"), 400, "invalid-query") == ["q"]
    problem(await wait(desk, endpoint="none"), 404, "not-found")
    problem(await wait(desk, after="abc-1-99999999999"), 409, "position-unknown")

"""The capture port on the real store: what was answered 2xx is on disk, as it was sent."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from app.core.delivery import DeliveryFilter
from app.core.events import Bus, Captured
from app.core.model import PART_SIZE, DeliveryState, Endpoint
from app.core.sizes import MIB
from app.db.sqlite.store import Store
from app.server.capture import CaptureServer, Handler, Limits
from app.server.refused import RefusedLog
from tests.factories import draft
from tests.server.capture.support import Response, Sender, request
from tests.support import current_settings, until
from tests.tunnels import listening_at


class Program:
    """A store with one endpoint, and the server in front of it."""

    def __init__(self, store: Store, bus: Bus, endpoint: Endpoint) -> None:
        self.store, self.endpoint = store, endpoint
        self.captured: list[Captured] = []
        bus.subscribe(Captured, self.captured.append)
        self.refused = RefusedLog(bus.publish)
        self.new_server(Limits())

    def new_server(self, limits: Limits) -> None:
        """A server yet to be started."""
        store = self.store
        self.server = CaptureServer(
            Handler(
                store, self.refused, current_settings(body_limit=100 * 1024 * 1024), listening_at(None), limits=limits
            )
        )

    async def connect(self) -> Sender:
        return Sender(*await asyncio.open_connection(*self.server.address))


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    bus = Bus()
    store = await Store.open(tmp_path, bus.publish)
    endpoint = await store.endpoints.create(draft(slug="orders", forward_url="http://127.0.0.1:9/"))
    program = Program(store, bus, endpoint)
    await program.server.start("127.0.0.1", 0)
    yield program
    await program.server.stop()
    await store.close()


async def test_what_was_answered_is_stored_as_it_was_sent(program: Program) -> None:
    sender = await program.connect()
    body = os.urandom(300)
    await sender.send(request("PUT", "/catch/orders/%2F?x", body, "x-A: 1\r\nX-a: caf\xe9\r\n"))
    answer = await sender.response()
    capture = await program.store.captures.get(answer.json()["id"])
    assert capture is not None
    assert (capture.method, capture.target, capture.complete) == ("PUT", "/catch/orders/%2F?x", True)
    assert capture.headers[1:3] == (("x-A", "1"), ("X-a", "caf\xe9"))
    assert await program.store.captures.body(capture.id) == body
    assert capture.sha256 == hashlib.sha256(body).hexdigest()
    assert capture.delivery is DeliveryState.QUEUED
    assert [one.capture_id for one in await program.store.deliveries.page(DeliveryFilter())] == [capture.id]
    await sender.close()


async def test_many_senders_at_once_lose_nothing(program: Program) -> None:
    async def send(number: int) -> list[str]:
        sender = await program.connect()
        ids = []
        for n in range(20):
            await sender.send(request(path=f"/catch/orders/{number}/{n}", body=b"%d-%d" % (number, n)))
            ids.append((await sender.response()).json()["id"])
        await sender.close()
        return ids

    answered = [capture_id for ids in await asyncio.gather(*map(send, range(16))) for capture_id in ids]
    page = await program.store.captures.page(program.endpoint.id, limit=1_000)
    assert sorted(answered) == sorted(summary.id for summary in page)
    assert len(set(answered)) == 320
    assert program.store.captures.counts(program.endpoint.id).total == 320
    assert sorted(summary.id for event in program.captured for summary in event.summaries) == sorted(answered)


async def test_a_large_body_is_stored_in_parts_and_read_back_whole(program: Program) -> None:
    sender = await program.connect()
    body = os.urandom(3 * PART_SIZE + 1)
    await sender.send(request(body=body))
    capture_id = (await sender.response()).json()["id"]
    assert await program.store.captures.body(capture_id) == body
    await sender.close()


async def test_bodies_that_wait_in_pieces_are_stored_as_they_were_sent(program: Program) -> None:
    await program.server.stop()
    program.new_server(Limits(body_memory=128 * 1024))
    await program.server.start("127.0.0.1", 0)
    bodies = [os.urandom(size) for size in (1, 90_000, 200_000, 300_000, PART_SIZE, PART_SIZE + 70_000)]
    senders = [await program.connect() for _ in bodies]
    await asyncio.gather(*(sender.send(request(body=body)[:-1]) for sender, body in zip(senders, bodies, strict=True)))
    await until(lambda: 0 < program.server.handler.body_memory.used <= 128 * 1024)
    for sender, body in zip(senders, bodies, strict=True):
        await sender.send(body[-1:])
        capture = await program.store.captures.get((await sender.response()).json()["id"])
        assert capture is not None
        assert (capture.size, capture.sha256) == (len(body), hashlib.sha256(body).hexdigest())
        assert await program.store.captures.body(capture.id) == body
        await sender.close()


async def test_a_body_that_breaks_off_is_kept_and_not_forwarded(program: Program) -> None:
    sender = await program.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 2_000_000)
    await asyncio.sleep(0.2)
    await sender.close()
    await until(lambda: program.captured)
    (summary,) = program.captured[0].summaries
    assert (summary.complete, summary.size, summary.delivery) == (False, 2_000_000, DeliveryState.NONE)
    assert await program.store.captures.body(summary.id) == b"x" * 2_000_000
    assert not await program.store.deliveries.page(DeliveryFilter())


@pytest.mark.parametrize(("gone", "status"), [(False, 503), (True, 404)])
async def test_a_body_that_ends_after_the_endpoint_was_switched_off_is_not_stored(
    program: Program, gone: bool, status: int
) -> None:
    endpoints, sender = program.store.endpoints, await program.connect()
    body = os.urandom(2_000_000)
    await sender.send(request(body=body)[:-1])
    await until(lambda: program.server.handler.body_memory.used)
    if gone:
        await endpoints.delete(program.endpoint.id)
    else:
        await endpoints.update(program.endpoint.id, msgspec.structs.replace(program.endpoint.draft(), active=False))
    await sender.send(body[-1:])
    assert (await sender.response()).status == status
    assert not await program.store.captures.page(None)
    await sender.close()


async def test_the_time_of_the_answer_is_stored(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program.store.captures._response_times, "delay_s", 0.05)
    sender = await program.connect()
    await sender.send(request())
    first = (await sender.response()).json()["id"]
    await sender.send(request())
    await sender.response()
    await sender.close()
    await program.server.stop()
    async with asyncio.timeout(5):
        while True:
            capture = await program.store.captures.get(first)
            assert capture is not None
            if capture.response_ms is not None:
                break
            await asyncio.sleep(0.01)
    assert capture.response_ms > 0


async def test_an_endpoint_deleted_while_its_request_comes_in_keeps_nothing(program: Program) -> None:
    sender = await program.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 2_000_000)
    await asyncio.sleep(0.1)
    await program.store.endpoints.delete(program.endpoint.id)
    await sender.send(b"x" * 1_000_000)
    assert (await sender.response()).status == 404
    assert await program.store.captures.page(None) == []
    await sender.close()


async def test_a_closed_store_answers_503_and_the_server_lives_on(program: Program) -> None:
    await program.store.close()
    sender = await program.connect()
    for _ in range(2):
        await sender.send(request())
        answer = await sender.response()
        assert (answer.status, answer.json()) == (503, {"error": "storage_unavailable"})
    await sender.close()


async def limited(program: Program, limit: int, when_full: str) -> None:
    old = program.endpoint.draft()
    draft = msgspec.structs.replace(old, storage_limit=limit, when_full=when_full, forward_url=None)
    await program.store.endpoints.update(program.endpoint.id, draft)


async def test_at_a_storage_limit_senders_get_503_and_what_was_acknowledged_is_kept(program: Program) -> None:
    await limited(program, MIB, "stop_capturing")
    senders = [await program.connect() for _ in range(8)]
    answered: list[str] = []

    async def send(sender: Sender) -> Response:
        while True:
            await sender.send(request(body=bytes(20_000)))
            answer = await sender.response()
            if answer.status != 200:
                return answer
            answered.append(answer.json()["id"])

    for answer in await asyncio.gather(*map(send, senders)):
        assert (answer.status, answer.json()) == (503, {"error": "storage_limit_reached"})
        assert answer.value("Retry-After") == "60"
    page = await program.store.captures.page(program.endpoint.id, limit=500)
    assert sorted(summary.id for summary in page) == sorted(answered)
    assert program.store.captures.counts(program.endpoint.id).stored_bytes <= MIB
    assert [refusal.status for refusal in program.refused.newest()] == [503] * 8
    assert program.refused.newest()[0].reason.endswith("may store 1 MiB, and there is no room for the request.")
    await program.store.captures.clear(program.endpoint.id)
    await senders[0].send(request())
    assert (await senders[0].response()).status == 200
    for sender in senders:
        await sender.close()


async def test_what_could_never_be_stored_is_too_large_before_its_body_comes(program: Program) -> None:
    await limited(program, 2 * MIB, "delete_oldest")
    sender = await program.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
    answer = await sender.response()
    assert (answer.status, answer.json()) == (413, {"error": "body_too_large", "limit": 2 * MIB})
    await sender.close()


async def test_a_body_that_passes_the_limit_on_its_way_is_refused_and_leaves_nothing(program: Program) -> None:
    await limited(program, 4 * MIB, "stop_capturing")
    sender, other = await program.connect(), await program.connect()
    await other.send(request(body=bytes(MIB + 5)))
    assert (await other.response()).status == 200
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        for _ in range(4):
            await sender.send(b"%x\r\n%b\r\n" % (MIB, bytes(MIB)))
    answer = await sender.response()
    assert (answer.status, answer.json()) == (503, {"error": "storage_limit_reached"})
    await sender.close()
    stored = program.store.captures.counts(program.endpoint.id)
    await until(lambda: program.store.limits.use().used == stored.stored_bytes)
    assert stored.total == 1
    await other.close()


async def test_where_the_oldest_go_everybody_is_served(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.db.storage_limits.PATIENCE_S", 20.0)  # however slow the disk is
    await limited(program, MIB, "delete_oldest")

    async def send(number: int) -> None:
        sender = await program.connect()
        for _ in range(25):
            await sender.send(request(body=bytes(20_000)))
            assert (await sender.response()).status == 200
        await sender.close()

    await asyncio.gather(*map(send, range(8)))
    await until(lambda: program.store.captures.counts(program.endpoint.id).stored_bytes <= MIB)
    assert 0 < program.store.captures.counts(program.endpoint.id).total < 60

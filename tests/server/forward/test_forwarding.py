"""Forwarding over real sockets from a real store: what arrives, what is recorded, and in which order."""

from __future__ import annotations

import asyncio
import gzip
import os
import sqlite3
from contextlib import closing

import msgspec
import pytest

from app.core.delivery import FailureKind
from app.core.errors import StorageUnavailableError
from app.core.events import StorageTrouble
from app.core.model import PART_SIZE, Capture, DeliveryState, Forward
from app.db.sqlite import writer as writer_module
from app.server.forward import lazy_sender, sender
from tests import damage
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Received, answering, silent, target
from tests.support import free_port


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
async def test_arrives_as_it_was_sent(stage: Stage, method: str) -> None:
    body = b"" if method in ("GET", "HEAD") else bytes(range(256))
    length = (("content-LENGTH", str(len(body))),) if body else ()
    headers = (("Host", "public.example"), ("x-B", "1"), ("X-Sig", "sha256=\xff"), *length, ("X-b", "2"), ("x-b", ""))
    async with target() as place:
        endpoint = await stage.endpoint(place.url + "/in?own=1")
        await stage.forwarder.start()
        path = f"/catch/{endpoint.slug}/a%2Fb/../c//d?q=%20&q=2"
        delivery = await stage.outcome(endpoint, body, method=method, target=path, headers=headers)
    received = place.received[0]
    assert received.line == f"{method} /in/a%2Fb/../c//d?own=1&q=%20&q=2 HTTP/1.1"
    assert delivery.url == place.url + received.line.split(" ")[1]
    assert received.body == body
    assert received.headers == [
        ("Host", f"127.0.0.1:{place.port}"),
        *headers[1:],
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "public.example"),
        ("X-Forwarded-Proto", "http"),
        ("X-Hookline-Forwarded-By", stage.store.account.instance_id),
    ]
    assert delivery.state is DeliveryState.DELIVERED
    assert (delivery.status, delivery.error) == (200, None)


async def test_a_target_that_closes_its_connections_unannounced_loses_nothing(stage: Stage) -> None:
    """What it would do with a second request on a connection is what a close at that very moment looks like."""
    answered: list[asyncio.StreamWriter] = []

    async def once(_: Received, writer: asyncio.StreamWriter) -> None:
        if writer in answered:
            writer.transport.abort()
            return
        answered.append(writer)
        await answering(OK)(_, writer)

    async with target(once) as place:
        endpoint = await stage.endpoint(place.url)
        for _ in range(5):
            await stage.capture(endpoint)
        await stage.forwarder.start()
        deliveries = await stage.outcomes(5)
    assert [delivery.error for delivery in deliveries] == [None] * 5


async def test_five_mebibytes_arrive_whole(stage: Stage) -> None:
    body = os.urandom(5 * PART_SIZE + 17)
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint, body, headers=(("Transfer-Encoding", "chunked"),))
    assert delivery.state is DeliveryState.DELIVERED
    assert place.received[0].body == body
    assert place.received[0].all("transfer-encoding") == []


async def test_the_answer_is_kept_as_sent(stage: Stage) -> None:
    packed = gzip.compress(b'{"ok":true}')
    answer = (
        b"HTTP/1.1 201 Made\r\nX-One: 1\r\nx-one: \xff\r\nContent-Encoding: gzip\r\n"
        b"Set-Cookie: a=b\r\nContent-Length: %d\r\n\r\n" % len(packed)
    ) + packed
    async with target(answering(answer)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
        await stage.outcome(endpoint)
    assert place.received[1].all("cookie") == []
    assert (delivery.status, delivery.state) == (201, DeliveryState.DELIVERED)
    attempt = await stage.attempt(delivery)
    assert attempt.response_headers == (
        ("X-One", "1"),
        ("x-one", "\xff"),
        ("Content-Encoding", "gzip"),
        ("Set-Cookie", "a=b"),
        ("Content-Length", str(len(packed))),
    )
    assert (attempt.response_size, attempt.response_truncated) == (len(packed), False)
    assert await stage.store.deliveries.response_body(delivery.id, 1) == packed
    assert delivery.ms is not None
    assert delivery.started_at is not None
    assert 0 < delivery.ms < 20_000


@pytest.mark.parametrize("size", [PART_SIZE, PART_SIZE + 1])
async def test_of_a_long_answer_the_first_mebibyte_is_kept(stage: Stage, size: int) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    async with target(answering(answer)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
    assert delivery.state is DeliveryState.DELIVERED
    attempt = await stage.attempt(delivery)
    assert (attempt.response_size, attempt.response_truncated) == (PART_SIZE, size > PART_SIZE)


async def test_nobody_listens(stage: Stage) -> None:
    port = free_port()
    endpoint = await stage.endpoint(f"http://127.0.0.1:{port}")
    await stage.forwarder.start()
    delivery = await stage.outcome(endpoint)
    assert (delivery.state, delivery.status) == (DeliveryState.FAILED, None)
    assert delivery.error == f"Nothing is listening at 127.0.0.1:{port} (connection refused)."
    assert stage.told[0].state is DeliveryState.FAILED


async def test_nobody_listens_at_localhost_by_either_address(stage: Stage) -> None:
    port = free_port()
    endpoint = await stage.endpoint(f"http://localhost:{port}")
    await stage.forwarder.start()
    delivery = await stage.outcome(endpoint)
    assert delivery.error == f"Nothing is listening at localhost:{port} (connection refused)."


async def test_no_answer_in_time(stage: Stage) -> None:
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url, forward=Forward(timeout_ms=200))
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
    assert (delivery.state, delivery.error) == (DeliveryState.FAILED, "No response within 0.2 s.")
    assert delivery.ms is not None
    assert delivery.ms > 190


async def test_the_time_bounds_the_whole_answer(stage: Stage) -> None:
    async def drip(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with target(drip) as place:
        endpoint = await stage.endpoint(place.url, forward=Forward(timeout_ms=1_500))
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
    assert (delivery.state, delivery.status) == (DeliveryState.FAILED, 200)
    assert delivery.error == "The response started (200) but did not finish. It took longer than 1.5 s."
    assert 0 < (await stage.attempt(delivery)).response_size < 1000


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", 500, "The target responded with 500 Internal Server Error."),
        (b"", None, "127.0.0.1:{port} closed the connection without a response."),
        (
            b"220 smtp ready\r\n\r\n",
            None,
            "The response from 127.0.0.1:{port} was not valid HTTP, or ended early: illegal status line: '220",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", 200, "The response started (200) but did not finish."),
        (
            b'HTTP/1.1 508 x\r\nContent-Length: 24\r\n\r\n{"error":"forward_loop"}',
            508,
            "The forwarded request came back to Hookline: the target is one of its own capture URLs.",
        ),
    ],
)
async def test_what_a_target_did_wrong(stage: Stage, answer: bytes, status: int | None, error: str) -> None:
    async with target(answering(answer, close=True)) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
    assert (delivery.state, delivery.status) == (DeliveryState.FAILED, status)
    assert delivery.error is not None
    assert delivery.error.startswith(error.format(port=place.port))


async def test_https_to_a_port_that_speaks_http(stage: Stage) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        endpoint = await stage.endpoint(f"https://127.0.0.1:{port}")
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint)
    assert (delivery.state, delivery.status) == (DeliveryState.FAILED, None)
    assert delivery.error is not None
    assert delivery.error.startswith(f"TLS with 127.0.0.1:{port} failed (")


async def test_a_redirect_is_not_followed(stage: Stage) -> None:
    async with target() as other:
        answer = f"HTTP/1.1 302 Found\r\nLocation: {other.url}/x\r\nContent-Length: 0\r\n\r\n".encode()
        async with target(answering(answer)) as place:
            endpoint = await stage.endpoint(place.url)
            await stage.forwarder.start()
            delivery = await stage.outcome(endpoint)
        assert other.received == []
    assert (
        delivery.error == f"The target responded with 302 Found. Redirects are not followed; it points to {other.url}/x"
    )


async def test_proxies_of_the_environment_are_not_used(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with target() as place, target() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.outcome(endpoint)
    assert (len(place.received), len(proxy.received)) == (1, 0)


async def test_order_is_kept_under_load(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        for at in range(0, 240, 40):
            await asyncio.gather(*(stage.capture(endpoint, b"", target=f"/catch/s/{n}") for n in range(at, at + 40)))
        await stage.outcomes(240)
    arrived = [int(received.line.split()[1].strip("/")) for received in place.received]
    assert arrived == list(range(240))


async def test_a_hanging_target_holds_up_neither_captures_nor_other_endpoints(stage: Stage) -> None:
    async with target(silent) as hanging, target() as place:
        slow = await stage.endpoint(hanging.url, forward=Forward(timeout_ms=60_000))
        quick = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.capture(slow)
        await hanging.arrival()
        await asyncio.gather(*(stage.capture(slow) for _ in range(50)))
        await stage.outcome(quick)
    assert len(hanging.received) == 1


async def test_what_an_earlier_run_left_is_sent_in_order(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.capture_many(endpoint, 120)
        await stage.close()
        await stage.open()
        await stage.forwarder.start()
        await stage.outcomes(120)
    assert [received.line.split()[1] for received in place.received] == [f"/{number}" for number in range(120)]


async def test_a_stop_leaves_what_is_unfinished_queued(stage: Stage) -> None:
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await place.arrival()
        await stage.forwarder.stop()
        await stage.forwarder.stop()
        assert [row.delivery.state for row in await stage.queued(endpoint)] == [DeliveryState.QUEUED]
        port = place.port
    async with target(port=port) as place:
        await stage.forwarder.start()
        await stage.outcomes(1)
    assert len(place.received) == 1


async def test_a_stop_lets_a_quick_delivery_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 20.0)

    async def soon(_: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(OK)

    async with target(soon) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await place.arrival()
        await stage.forwarder.stop()
    assert [event.state for event in stage.told] == [DeliveryState.DELIVERED]


async def test_what_is_queued_goes_where_the_target_leads_now(stage: Stage) -> None:
    async with target() as old, target() as new:
        endpoint = await stage.endpoint(old.url)
        await stage.forwarder.start()
        await stage.outcome(endpoint)
        await stage.forwarder.stop()
        await stage.capture(endpoint)
        changed = msgspec.structs.replace(endpoint.draft(), forward_url=new.url)
        endpoint = await stage.store.endpoints.update(endpoint.id, changed)
        await stage.forwarder.start()
        first, second = await stage.outcomes(2)
    assert (len(old.received), len(new.received)) == (1, 1)
    assert (first.url, second.url) == (old.url + "/", new.url + "/")


async def test_a_deleted_endpoint_ends_its_forwarding(stage: Stage) -> None:
    async with target() as place:
        gone = await stage.endpoint(place.url)
        kept = await stage.endpoint(place.url)
        for _ in range(3):
            await stage.capture(gone, target="/catch/s/gone")
        await stage.store.endpoints.delete(gone.id)
        await stage.forwarder.start()
        await stage.outcome(kept, target="/catch/s/kept")
    assert [received.line.split()[1] for received in place.received] == ["/kept"]


async def test_an_outcome_that_cannot_be_stored_yet_is_stored_later_and_nothing_sent_twice(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "BUSY_S", 0.2)
    monkeypatch.setattr(writer_module, "PROBE_S", 0.05)
    locked, unlocked = asyncio.Event(), asyncio.Event()

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        await locked.wait()
        writer.write(OK)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await place.arrival()
        stage.bus.subscribe(StorageTrouble, lambda event: unlocked.set() if event.reason else None)
        with closing(sqlite3.connect(stage.folder / "hookline.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            locked.set()
            await asyncio.wait_for(unlocked.wait(), 15)
            other.execute("ROLLBACK")
        delivery = (await stage.outcomes(1))[0]
        await stage.capture(endpoint)
        await stage.outcomes(2)
    assert delivery.state is DeliveryState.DELIVERED
    assert len(place.received) == 2


async def test_a_long_body_that_cannot_be_read_yet_is_sent_later(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "FIRST_WAIT_S", 0.01)
    check, refused = stage.store.captures.check_body, 0

    async def unavailable(capture: Capture) -> None:
        nonlocal refused
        refused += 1
        if refused < 3:
            raise StorageUnavailableError("The server is gone.")
        await check(capture)

    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        monkeypatch.setattr(stage.store.captures, "check_body", unavailable)
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint, b"x" * (PART_SIZE + 1))
    assert (delivery.state, delivery.attempts, len(place.received)) == (DeliveryState.DELIVERED, 1, 1)


async def test_an_error_of_ours_in_one_delivery_does_not_stop_the_next(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        monkeypatch.setattr(sender, "make_request", broken)
        first = await stage.outcome(endpoint)
        monkeypatch.undo()
        second = await stage.outcome(endpoint)
    assert first.error is not None
    assert first.error.startswith("Hookline could not forward this request because of an internal error: ZeroDivision")
    assert second.state is DeliveryState.DELIVERED
    assert "ZeroDivisionError" in caplog.text


async def test_a_request_deleted_while_queued_is_not_sent(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        first = await stage.capture(endpoint, target="/catch/s/gone")
        await stage.capture(endpoint, target="/catch/s/kept")
        await stage.store.captures.delete([first.id])
        await stage.forwarder.start()
        await stage.outcomes(1)
    assert [received.line.split()[1] for received in place.received] == ["/kept"]


async def test_a_request_deleted_while_it_is_sent_is_not_sent_again(stage: Stage) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.line.split()[1] == "/gone":
            await stage.store.captures.delete([gone.id])
            writer.close()
        else:
            await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.capture(endpoint, target="/catch/s/first")
        gone = await stage.capture(endpoint, target="/catch/s/gone")
        await stage.capture(endpoint, target="/catch/s/last")
        await stage.forwarder.start()
        await stage.outcomes(2)
    assert [received.line.split()[1] for received in place.received] == ["/first", "/gone", "/last"]


async def test_fifty_starts_and_stops_leave_nothing_behind(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 20.0)  # what is cut off is sent again

    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        for _ in range(50):
            await stage.forwarder.start()
            await stage.capture(endpoint)
            await stage.forwarder.stop()
        await stage.forwarder.start()
        await stage.outcomes(50)
        await stage.forwarder.stop()
    assert len(place.received) == 50
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("forward-")]


async def test_a_sub_path_out_of_the_forward_urls_path_is_never_sent(stage: Stage) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url + "/hooks/app")
        await stage.forwarder.start()
        delivery = await stage.outcome(endpoint, target=f"/catch/{endpoint.slug}/../../admin?x=1")
        assert (delivery.state, delivery.status) == (DeliveryState.NOT_SENT, None)
        assert delivery.error == "The path /../../admin would leave the forward URL's path."
        await stage.outcome(endpoint, target=f"/catch/{endpoint.slug}/orders")
    assert [received.line for received in place.received] == ["POST /hooks/app/orders HTTP/1.1"]


@pytest.mark.parametrize("size", [10, 2 * PART_SIZE], ids=["short", "long"])
async def test_a_damaged_body_is_not_sent_and_holds_up_none(stage: Stage, size: int) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        damaged = await stage.capture(endpoint, b"a" * size)
        damage.change_body(stage.folder, damaged.id)
        await stage.capture(endpoint, b"intact")
        await stage.forwarder.start()
        first, second = await stage.outcomes(2)
    attempt = await stage.attempt(first)
    assert (attempt.failure, attempt.size) == (FailureKind.NOT_SENT, 0)
    assert attempt.error is not None
    assert attempt.error.startswith("Not sent. The stored body is damaged: it does not match the SHA-256")
    assert second.state is DeliveryState.DELIVERED
    assert [received.body for received in place.received] == [b"intact"]

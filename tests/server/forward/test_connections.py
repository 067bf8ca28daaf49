"""Connections that are kept: which are used again, and what happens when the target closes one."""

from __future__ import annotations

import asyncio
import select
import socket

import pytest

from app.core.delivery import AttemptTrigger, FailureKind
from app.core.target import RetryRule
from app.server.forward import pool
from app.server.forward.pool import Connection
from tests.server.forward.scripted import Desk, Peer, Script, scripted
from tests.server.forward.targets import OK


async def test_a_connection_is_used_again(desk: Desk) -> None:
    async with scripted() as place:
        attempts = [await desk.attempt(place.url) for _ in range(3)]
    assert place.connections == 1
    assert [attempt.reused for attempt in attempts] == [False, True, True]
    assert attempts[0].timing.connect is not None
    assert attempts[1].timing.connect is None
    assert all(attempt.timing.first_byte is not None for attempt in attempts)
    assert [received.all("connection") for received in place.received] == [[], [], []]


async def test_other_tls_options_or_hosts_do_not_share_connections(desk: Desk) -> None:
    async with scripted() as place:
        await desk.attempt(place.url)
        await desk.attempt(place.url.replace("127.0.0.1", "localhost"))
    assert place.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
    ],
)
async def test_a_connection_that_cannot_be_kept_is_closed(desk: Desk, answer: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(answer)
        await peer.closed()

    async with scripted(script) as place:
        for _ in range(2):
            assert (await desk.attempt(place.url)).failure is None
        await place.all_ended(2)
    assert place.connections == 2


async def test_http_1_0_can_ask_to_keep_it(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")

    async with scripted(script) as place:
        attempts = [await desk.attempt(place.url) for _ in range(2)]
    assert [attempt.http_version for attempt in attempts] == ["1.0", "1.0"]
    assert place.connections == 1


async def test_no_more_are_kept_than_the_target_takes_at_once(desk: Desk) -> None:
    together = asyncio.Barrier(3)

    async def script(peer: Peer) -> None:
        await peer.request()
        await together.wait()
        await peer.send(OK)
        await peer.closed()

    async with scripted(script) as place:
        await asyncio.gather(*(desk.attempt(place.url, parallel=2) for _ in range(3)))
        await place.all_ended(1)
        assert place.ended == 1
        await desk.sender.close()
        await place.all_ended(3)


async def test_one_closed_while_it_was_idle_is_not_used(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    async with scripted(script) as place:
        for number in range(5):
            attempt = await desk.attempt(place.url)
            assert (attempt.failure, attempt.reused) == (None, False)
            await place.all_ended(number + 1)
    assert len(place.received) == 5


async def test_an_idle_connection_is_closed_in_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "IDLE_S", 0.05)

    async def script(peer: Peer) -> None:
        await peer.answer()
        await peer.closed()

    async with scripted(script) as place:
        await desk.attempt(place.url)
        await place.all_ended(1)


async def closing_on_the_second(peer: Peer) -> None:
    await peer.answer()
    if peer.number == 0:
        await peer.request()
    else:
        await peer.closed()


async def resetting_on_the_second(peer: Peer) -> None:
    await closing_on_the_second(peer)
    peer.writer.transport.abort()


@pytest.mark.parametrize("script", [closing_on_the_second, resetting_on_the_second])
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_close_after_the_request_was_sent_is_told_and_sent_again(
    desk: Desk, script: Script, method: str
) -> None:
    async with scripted(script) as place:
        await desk.attempt(place.url)
        (failed, _), (resent, _) = await desk.attempts(place.url, b"again", capture={"method": method})
    assert (failed.failure, failed.trigger, failed.number) == (FailureKind.CONNECTION, AttemptTrigger.FORWARD, 1)
    assert failed.reused
    assert failed.error == (
        f"127.0.0.1:{place.port} closed the open connection that this request was sent on. "
        "It was sent again on a new connection."
    )
    assert (resent.failure, resent.trigger, resent.number) == (None, AttemptTrigger.RESENT, 2)
    assert not resent.reused
    assert [received.body for received in place.received] == [b"{}", b"again", b"again"]


async def test_without_retries_nothing_is_sent_twice(desk: Desk) -> None:
    async with scripted(closing_on_the_second) as place:
        for _ in range(3):
            ((attempt, _),) = await desk.attempts(place.url, retry=RetryRule(retries=0))
            assert (attempt.failure, attempt.reused) == (None, False)
    assert (len(place.received), place.connections) == (3, 3)


async def test_a_request_is_never_resent_twice(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.answer()
        await peer.request()

    async with scripted(script) as place:
        await desk.attempt(place.url)
        results = await desk.attempts(place.url)
    assert [attempt.failure for attempt, _ in results] == [FailureKind.CONNECTION] * 2
    assert results[1][0].error == f"127.0.0.1:{place.port} closed the connection without a response."
    assert len(place.received) == 3


async def test_nothing_is_resent_on_a_new_connection(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()

    async with scripted(script) as place:
        assert (await desk.attempt(place.url)).failure is FailureKind.CONNECTION
    assert len(place.received) == 1


async def test_nothing_is_resent_once_a_byte_of_the_response_came(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()
        await peer.request()
        await peer.send(b"H")

    async with scripted(script) as place:
        await desk.attempt(place.url)
        attempt = await desk.attempt(place.url)
    assert (attempt.failure, attempt.status) == (FailureKind.PROTOCOL, None)
    assert len(place.received) == 2


async def test_nothing_is_resent_after_a_timeout(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()
        await peer.closed()

    async with scripted(script) as place:
        await desk.attempt(place.url)
        attempt = await desk.attempt(place.url, timeout_ms=100)
    assert (attempt.failure, attempt.reused) == (FailureKind.TIMEOUT, True)


async def test_a_streamed_body_is_resent_whole(desk: Desk) -> None:
    size = 3 * 1024 * 1024 + 5
    desk.bodies.check_s = 0.5
    async with scripted(closing_on_the_second) as place:
        await desk.attempt(place.url)
        results = await desk.attempts(place.url, None, size=size)
    assert desk.bodies.checks == 1, "a store that fails now must not have it all sent again"
    assert results[0][0].ms < 500, "the target's time, not the store's"
    assert [attempt.size for attempt, _ in results] == [size, size]
    assert [len(received.body) for received in place.received] == [2, size, size]


async def test_a_target_that_closes_at_random_gets_each_request_once_or_told(desk: Desk) -> None:
    """Every close falls right after a response, when the next request may already be on its way."""

    async def script(peer: Peer) -> None:
        for _ in range(3):
            await peer.answer()

    async with scripted(script) as place:
        results = [result for _ in range(60) for result in await desk.attempts(place.url)]
    failed = [attempt for attempt, _ in results if attempt.failure]
    assert len(results) == 60 + len(failed)
    assert all(attempt.trigger is AttemptTrigger.FORWARD and attempt.reused for attempt in failed)


async def test_after_close_nothing_is_kept(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await desk.sender.close()
        await peer.send(OK)
        await peer.closed()

    async with scripted(script) as place:
        assert (await desk.attempt(place.url)).failure is None
        await place.all_ended(1)


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux delays them for so long")
async def test_what_the_target_sends_is_acknowledged_at_once_on_a_kept_connection() -> None:
    """Otherwise a target that sends the head of its response before the body waits 40 ms between the two."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(100):
            writer.write(b"head")
            await awaited.wait()
            writer.write(b"body")
        writer.close()
        await writer.wait_closed()
        ended.set()

    awaited, ended = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        transport, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
        sock = transport.get_extra_info("socket")
        at_once = 0
        for number in range(40):
            awaited.clear()
            connection.begin_exchange()
            connection.write(b"x", b"")
            await connection.more()
            rest = asyncio.create_task(connection.more())
            await asyncio.sleep(0)
            if number >= 20:  # a new connection acknowledges at once by itself
                at_once += sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)
            awaited.set()
            await rest
            assert connection.buffer == b"headbody"
            connection.buffer.clear()
        transport.close()
        async with asyncio.timeout(20):
            await ended.wait()
    assert at_once == 20


@pytest.mark.parametrize(
    "late", [b"HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n", b""], ids=["a response", "its end"]
)
async def test_what_the_loop_has_not_read_yet_makes_a_connection_unusable(late: bytes) -> None:
    """Else it would be taken for the response to the next request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        transport, connection = await asyncio.get_running_loop().create_connection(Connection, *address)
        peer, _ = server.accept()
        with peer:
            assert connection.is_usable()
            if late:
                peer.sendall(late)
            else:
                peer.shutdown(socket.SHUT_WR)
            # Waiting on another thread would let the loop read it.
            assert select.select([transport.get_extra_info("socket")], [], [], 20)[0]
            assert connection.is_open
            assert not connection.is_usable()
        transport.abort()
        await asyncio.sleep(0)

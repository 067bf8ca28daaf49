"""Responses over real sockets: how their bodies are framed, what is kept of them, and what is no response."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
import sys

import pytest

from app.core.delivery import FailureKind
from app.core.model import PART_SIZE
from tests.server.forward.scripted import Desk, Peer, Script, once, scripted
from tests.server.forward.targets import OK
from tests.support import free_port

STATUS = b"HTTP/1.1 200 OK\r\n"
CHUNKED = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("method", "answer", "body"),
    [
        ("POST", STATUS + b"Content-Length: 2\r\n\r\nok", b"ok"),
        ("POST", STATUS + b"Content-Length: 2, 2\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        ("POST", STATUS + b"\r\nuntil close", b"until close"),
        ("POST", b"HTTP/1.0 200\r\n\r\nold", b"old"),
        ("POST", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", b"ok"),
        (
            "POST",
            STATUS + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            b"ok0123456789",
        ),
        ("POST", STATUS + b"Transfer-Encoding: Chunked\r\n\r\n02\r\nok\r\n0\r\nA: trailer\r\n\r\n", b"ok"),
        ("POST", STATUS + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n", b"ok"),
        ("HEAD", STATUS + b"Content-Length: 500\r\n\r\n", b""),
        ("HEAD", STATUS + b"Transfer-Encoding: chunked\r\n\r\n", b""),
        ("POST", b"HTTP/1.1 204 None\r\n\r\n", b""),
        ("POST", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + STATUS + b"\r\nok", b"ok"),
        ("POST", STATUS + b"X: one\r\n two\r\nContent-Length: 2\r\n\r\nok", b"ok"),
    ],
)
@pytest.mark.parametrize("piece", [1, 4096])
async def test_framing(desk: Desk, method: str, answer: bytes, body: bytes, piece: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        for at in range(0, len(answer), piece):
            await peer.send(answer[at : at + piece])
            await asyncio.sleep(0)

    async with scripted(script) as place:
        ((attempt, kept),) = await desk.attempts(place.url, capture={"method": method})
    assert (attempt.failure, attempt.error) == (None, None)
    assert kept == body
    assert attempt.response_size == len(body)


async def test_responses_without_a_body_leave_the_connection_open(desk: Desk) -> None:
    answers = [b"HTTP/1.1 204 x\r\n\r\n", b"HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", OK]

    async def script(peer: Peer) -> None:
        for answer in answers:
            await peer.answer(answer)

    async with scripted(script) as place:
        statuses = [(await desk.attempt(place.url)).status for _ in answers]
    assert statuses == [204, 304, 200]
    assert place.connections == 1


@pytest.mark.parametrize(
    ("framing", "late"), [(b"Content-Length: 5", b"hello"), (b"Transfer-Encoding: chunked", b"0\r\n\r\n")]
)
async def test_a_body_that_a_204_cannot_have_spoils_no_other_response(desk: Desk, framing: bytes, late: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(b"HTTP/1.1 204 No content\r\n" + framing + b"\r\n\r\n")
        await peer.answer(late + OK)

    async with scripted(script) as place:
        await desk.attempt(place.url)
        again = await desk.attempt(place.url)
    assert (again.status, again.failure) == (204, None)


async def test_content_codings_are_kept(desk: Desk) -> None:
    packed = gzip.compress(b'{"ok":true}')
    answer = STATUS + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    async with scripted(once(answer)) as place:
        ((_, body),) = await desk.attempts(place.url)
    assert body == packed


def framed(size: int) -> list[bytes]:
    body = b"x" * size
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:70_000], body[70_000:]))
    return [
        STATUS + b"Content-Length: %d\r\n\r\n" % size + body,
        STATUS + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
        STATUS + b"\r\n" + body,
    ]


@pytest.mark.parametrize("size", [PART_SIZE, PART_SIZE + 1])
@pytest.mark.parametrize("way", range(3))
async def test_of_a_long_response_the_first_mebibyte_is_kept(desk: Desk, size: int, way: int) -> None:
    async with scripted(once(framed(size)[way])) as place:
        ((attempt, body),) = await desk.attempts(place.url)
    assert (attempt.failure, len(body)) == (None, PART_SIZE)
    assert (attempt.response_size, attempt.response_truncated) == (PART_SIZE, size > PART_SIZE)


async def test_a_long_response_is_read_to_its_end_and_its_connection_kept(desk: Desk) -> None:
    size = 20 * PART_SIZE
    first = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()

    async def script(peer: Peer) -> None:
        await peer.answer(first + bytes(size))
        await peer.answer()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url)
        assert (attempt.failure, attempt.response_size, attempt.response_truncated) == (None, PART_SIZE, True)
        assert (await desk.attempt(place.url)).reused


@pytest.mark.parametrize("length", [b"Content-Length: 9000000\r\n", b"Transfer-Encoding: chunked\r\n"])
async def test_a_long_response_that_ends_early_is_no_success(desk: Desk, length: bytes) -> None:
    part = bytes(2 * PART_SIZE)
    chunk = f"{len(part):x}\r\n".encode() + part + b"\r\n" if b"chunked" in length else part
    async with scripted(once(STATUS + length + b"\r\n" + chunk)) as place:
        attempt = await desk.attempt(place.url)
    assert (attempt.failure, attempt.status) == (FailureKind.PROTOCOL, 200)
    assert (attempt.error or "").startswith("The response started (200) but did not finish.")


async def test_an_endless_response_is_cut_when_the_time_is_over(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(STATUS + b"\r\n")
        while True:
            await peer.send(bytes(65536))

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, timeout_ms=500)
        await place.all_ended(1)
    assert (attempt.failure, attempt.status) == (FailureKind.TIMEOUT, 200)
    assert (attempt.response_size, attempt.response_truncated) == (PART_SIZE, True)
    assert attempt.error == "The response started (200) but did not finish. It took longer than 0.5 s."


async def test_the_time_bounds_the_whole_response(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(STATUS + b"Content-Length: 1000\r\n\r\nabc")
        await peer.closed()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, timeout_ms=500)
    assert (attempt.failure, attempt.status, attempt.response_size) == (FailureKind.TIMEOUT, 200, 3)
    assert attempt.error == "The response started (200) but did not finish. It took longer than 0.5 s."


async def test_no_response_in_time(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, timeout_ms=500)
    assert (attempt.failure, attempt.status) == (FailureKind.TIMEOUT, None)
    assert attempt.error == "No response within 0.5 s."
    assert attempt.ms >= 490


async def test_headers_without_end(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(STATUS)
        while True:
            await peer.send(b"X-More: of the same\r\n" * 100)

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url)
    assert attempt.failure is FailureKind.PROTOCOL
    place_text = f"The response from 127.0.0.1:{place.port} was not valid HTTP, or ended early"
    assert attempt.error == f"{place_text}: its headers are longer than 64 KiB."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"220 smtp ready\r\n\r\n", "illegal status line: '220 smtp ready'"),
        (b"HTTP/1.1 OK\r\n\r\n", "illegal status line: 'HTTP/1.1 OK'"),
        (b"HTTP/2 200\r\n\r\n", "illegal status line: 'HTTP/2 200'"),
        (b"\0\0\x12\x04\0\0\0\0\0", "it is HTTP/2, which Hookline does not speak"),
        (STATUS + b"No colon\r\n\r\n", "illegal header line: 'No colon'"),
        (STATUS + b"Space : x\r\n\r\n", "illegal header line: 'Space : x'"),
        (STATUS + b"Content-Length: 1, 2\r\n\r\n", "illegal Content-Length: '1, 2'"),
        (STATUS + b"Content-Length: -1\r\n\r\n", "illegal Content-Length: '-1'"),
        (STATUS + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "its transfer coding 'gzip, chunked' is not supported"),
        (STATUS + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "illegal chunk header: b'xyz\\r\\n'"),
        (STATUS + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "a chunk is longer than it said"),
    ],
)
async def test_what_is_no_response(desk: Desk, answer: bytes, reason: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(answer)
        await peer.closed()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url)
    assert attempt.failure is FailureKind.PROTOCOL
    assert attempt.error is not None
    expected = f"The response from 127.0.0.1:{place.port} was not valid HTTP, or ended early: {reason}."
    assert attempt.error.endswith(expected)


@pytest.mark.parametrize(
    ("answer", "status", "kind", "error"),
    [
        (b"", None, FailureKind.CONNECTION, "{place} closed the connection without a response."),
        (
            STATUS + b"Content-Length: 9\r\n\r\nshort",
            200,
            FailureKind.PROTOCOL,
            "The response started (200) but did not finish. {place} closed the connection too early.",
        ),
        (b"HTTP/1.1 20", None, FailureKind.PROTOCOL, "{place} closed the connection too early."),
        (
            b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
            500,
            FailureKind.STATUS,
            "The target responded with 500 Internal Server Error.",
        ),
        (
            b"HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            None,
            FailureKind.PROTOCOL,
            (
                "The response from {place} was not valid HTTP, or ended early: it switches protocols (101), which was"
                " not asked for."
            ),
        ),
        (
            b'HTTP/1.1 508 x\r\nContent-Length: 24\r\n\r\n{"error":"forward_loop"}',
            508,
            FailureKind.LOOP,
            "The forwarded request came back to Hookline: the target is one of its own capture URLs.",
        ),
    ],
)
async def test_what_a_target_did_wrong(
    desk: Desk, answer: bytes, status: int | None, kind: FailureKind, error: str
) -> None:
    async with scripted(once(answer)) as place:
        attempt = await desk.attempt(place.url)
    assert (attempt.status, attempt.failure) == (status, kind)
    assert attempt.error == error.format(place=f"127.0.0.1:{place.port}")


async def test_a_reset(desk: Desk) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.writer.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )
        peer.writer.transport.abort()

    async with scripted(script) as place:
        attempt = await desk.attempt(place.url)
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == f"127.0.0.1:{place.port} reset the connection without a response."


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_nobody_listens(desk: Desk, host: str) -> None:
    port = free_port()
    attempt = await desk.attempt(f"http://{host}:{port}")
    assert (attempt.failure, attempt.status) == (FailureKind.CONNECTION, None)
    assert attempt.error == f"Nothing is listening at {host}:{port} (connection refused)."
    assert (attempt.headers, attempt.size) == ((), 0)


async def closing(_: Peer) -> None:
    """Before the request is read."""


async def resetting(peer: Peer) -> None:
    peer.writer.transport.abort()


@pytest.mark.parametrize("script", [closing, resetting])
@pytest.mark.parametrize("size", [None, 20 * PART_SIZE])
async def test_a_target_that_closes_at_once(desk: Desk, script: Script, size: int | None) -> None:
    async with scripted(script) as place:
        attempt = await desk.attempt(place.url, None if size else b"{}", size=size)
    assert (attempt.failure, attempt.status) == (FailureKind.CONNECTION, None)
    assert attempt.error is not None
    assert re.fullmatch(rf"127\.0\.0\.1:{place.port} (closed|reset) the connection without a response\.", attempt.error)


async def test_an_unknown_name(desk: Desk) -> None:
    attempt = await desk.attempt("http://nowhere.invalid/")
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == "The host name nowhere.invalid could not be found."


async def refusing(peer: Peer) -> None:
    await peer.reader.readuntil(b"\r\n\r\n")
    await peer.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 3\r\n\r\nno!")
    await peer.closed()


async def refusing_and_closing(peer: Peer) -> None:
    await peer.reader.readuntil(b"\r\n\r\n")
    await peer.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")


async def echoing(peer: Peer) -> None:
    """The response begins before the body is read, and ends after it."""
    await peer.reader.readuntil(b"\r\n\r\n")
    await peer.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 3\r\n\r\nno")
    await peer.reader.readexactly(20 * PART_SIZE)
    await peer.send(b"!")


@pytest.mark.parametrize("script", [refusing, refusing_and_closing, echoing])
async def test_a_response_before_the_request_is_sent_counts(desk: Desk, script: Script) -> None:
    async with scripted(script) as place:
        ((attempt, body),) = await desk.attempts(place.url, None, size=20 * PART_SIZE)
        if script is not echoing:  # whose connection is kept, and which would wait for another long body
            again = await desk.attempt(place.url, capture={"method": "GET"})
            assert not again.reused
    assert (attempt.status, attempt.failure, body) == (413, FailureKind.STATUS, b"no!")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 102 x\r\n\r\n" * 2_000 + OK, CHUNKED + b"1\r\nx\r\n" * 20_000])
async def test_a_response_in_many_small_pieces_holds_up_nothing_else(desk: Desk, answer: bytes) -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with scripted(once(answer)) as place:
        counting = asyncio.create_task(count_turns())
        await desk.attempt(place.url)
        counting.cancel()
    assert turns > 50


@pytest.mark.skipif(sys.platform == "win32", reason="a reset discards what was not read")
async def test_a_response_before_a_reset_counts(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """As servers do that do not read what they refuse: their close resets the connection, as a rule while it is
    written to."""

    def refuse(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while b"\r\n\r\n" not in connection.recv(65536):
                pass
            connection.sendall(b"HTTP/1.1 413 Too large\r\nContent-Length: 3\r\n\r\nno!")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        for _ in range(5):
            sent = desk.attempts(url, None, size=4 * PART_SIZE)
            ((attempt, body),), _ = await asyncio.gather(sent, asyncio.to_thread(refuse, listener))
            assert (attempt.status, attempt.failure, body) == (413, FailureKind.STATUS, b"no!")
    assert not caplog.records  # asyncio warns of each further write

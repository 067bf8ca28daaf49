"""Callers that break off leave no trace in the log, and what is not HTTP is answered with a problem as well."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from app.core.model import StorageSize
from app.server.api.server import ApiServer
from tests.server.api.conftest import TOKEN, Desk
from tests.server.capture.support import Rig
from tests.stored import store_with

HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"


@pytest.fixture(autouse=True)
async def silent(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """Nothing a caller does is worth a warning in the log, let alone a traceback."""
    caplog.set_level(logging.DEBUG)
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    yield
    loud = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.levelno >= logging.WARNING or record.exc_info
    ]
    assert (loud, told) == ([], [])


async def connect(desk: Desk) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*desk.server.address)


async def leave(writer: asyncio.StreamWriter, how: str) -> None:
    if how == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    elif how == "half":
        writer.write_eof()
        await asyncio.sleep(0.02)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@pytest.fixture
async def capture() -> AsyncIterator[Rig]:
    """A capture port beside the API."""
    rig = Rig()
    await rig.start()
    yield rig
    await rig.close()


class SlowRetention:
    """A store whose size takes as long as the test wants."""

    def __init__(self) -> None:
        self.asked, self.answer = asyncio.Event(), asyncio.Event()
        self.problem = None

    async def size(self) -> StorageSize:
        self.asked.set()
        await self.answer.wait()
        return StorageSize(file_bytes=1, free_bytes=0, expired=0)


@pytest.mark.parametrize("how", ["close", "reset", "half"])
async def test_a_caller_may_leave_in_mid_request(desk: Desk, how: str) -> None:
    for begun in (
        "GET /api",
        f"POST /api/v1/endpoints HTTP/1.1\r\n{HEAD}Content-Length: 100\r\n\r\n{{",
        f"POST /api/v1/endpoints HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        f"POST /api/v1/nowhere HTTP/1.1\r\n{HEAD}Content-Length: 100\r\n\r\n{{",
    ):
        _, writer = await connect(desk)
        writer.write(begun.encode())
        await asyncio.sleep(0.02)
        await leave(writer, how)
    assert (await desk.client.get("/status")).status_code == 200


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_caller_may_leave_in_mid_response(desk: Desk, how: str) -> None:
    made = await desk.capture(await desk.endpoint(), bytes(12 * 1024 * 1024))
    reader, writer = await connect(desk)
    writer.write(f"GET /api/v1/requests/{made.id}/body HTTP/1.1\r\n{HEAD}\r\n".encode())
    assert (await reader.read(1_000)).startswith(b"HTTP/1.1 200")
    await leave(writer, how)
    assert (await desk.client.get("/status")).status_code == 200


@pytest.mark.parametrize("how", ["close", "reset", "half"])
async def test_a_caller_may_leave_while_it_waits(desk: Desk, how: str) -> None:
    slow = SlowRetention()
    server = ApiServer(replace(desk.services(), store=store_with(desk.store, retention=slow)), TOKEN)
    await server.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.address)
    writer.write(f"GET /api/v1/status HTTP/1.1\r\n{HEAD}\r\n".encode())
    await slow.asked.wait()
    await leave(writer, how)
    await asyncio.sleep(0.02)
    slow.answer.set()
    await server.stop()


GET = f"GET /api/v1/nowhere HTTP/1.1\r\n{HEAD}"
POST = f"POST /api/v1/nowhere HTTP/1.1\r\n{HEAD}"
ODD_HEADS = {
    "no HTTP": "s3cret\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\0\x01",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "method": "FOO /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n",
    "version": f"GET / HTTP/1.2\r\n{HEAD}\r\n",
    "line end": "GET / HTTP/1.1\nHost: x\n\n",
    "URL": "GET http://[::1/api HTTP/1.1\r\nHost: x\r\n\r\n",
    "host": f"GET http://a\\b/api HTTP/1.1\r\n{HEAD}\r\n",
    "dots in the host": f"GET http://a..b/api HTTP/1.1\r\n{HEAD}\r\n",
    "escape in the host": f"GET http://a%zz/api HTTP/1.1\r\n{HEAD}\r\n",
    "bytes in the target": GET.replace("nowhere", "nowhere/\xe9s3cret") + "\r\n",
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "two Hosts": "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "two of a name": f"{GET}User-Agent: a\r\nUser-Agent: b\r\n\r\n",
    "long target": f"GET /{'s3cret' * 10_000} HTTP/1.1\r\n{HEAD}\r\n",
    "target too long": f"GET /{'s3cret' * 11_000} HTTP/1.1\r\n{HEAD}\r\n",
    "long header": f"{GET}X: {'s3cret' * 10_000}\r\n\r\n",
    "header too long": f"{GET}X: {'s3cret' * 20_000}\r\n\r\n",
    "many headers": GET + 900 * "X: s3cret\r\n" + "\r\n",
    "too many headers": GET + 1_000 * "X: s3cret\r\n" + "\r\n",
    "head too long": GET + 5 * f"X: {'s3cret' * 10_000}\r\n" + "\r\n",
    "head without end": GET + 50 * f"X: {'s3cret' * 10_000}\r\n",
    "control character": f"{GET}X: s3cret\0\r\n\r\n",
    "folded": f"{GET}X: a\r\n s3cret\r\n\r\n",
    "no colon": f"{GET}s3cret\r\n\r\n",
    "length": f"{POST}Content-Length: -1\r\n\r\n",
    "two lengths": f"{POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}",
    "two framings": f"{POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding": f"{POST}Transfer-Encoding: gzip\r\n\r\n",
}


async def exchange(address: tuple[str, int], raw: str) -> tuple[int, list[str], dict[str, Any]]:
    """The response's status, header lines and JSON, read to its end: nobody else closes the connection."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(raw.encode("latin-1"))
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        body = await reader.readexactly(length)
    assert body.endswith(b"}\n")  # a terminal's prompt begins on a line of its own
    await leave(writer, "close")
    return int(lines[0].split(" ")[1]), lines, json.loads(body)


async def test_a_head_is_taken_or_refused_as_at_the_capture_port(desk: Desk, capture: Rig) -> None:
    for raw in ODD_HEADS.values():
        expected, _, captured = await exchange(capture.server.address, raw)
        status, lines, told = await exchange(desk.server.address, raw)
        assert status == told["status"] == expected, raw
        assert "content-type: application/problem+json" in lines, raw
        assert [line for line in lines if line.startswith("server:")] == ["server: hookline"], raw
        assert told["detail"].endswith("."), raw
        assert "\n" not in told["detail"], raw
        if status != 404:
            assert told["detail"] == captured.get("reason", told["detail"]), raw
            assert "s3cret" not in told["detail"], raw


@pytest.mark.parametrize(
    ("rest", "status", "words"),
    [
        ("Expect: s3cret\r\n\r\n", 417, "Expectation Failed."),
        ("Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 400, "a chunk does not begin with a line that gives its size"),
        ("Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 400, "The body must be a JSON object"),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: 1\r\n\r\n", 422, "name is required"),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}", 422, "name is required"),
    ],
)
async def test_a_call_that_cannot_be_read_is_answered_with_a_problem(
    desk: Desk, rest: str, status: int, words: str
) -> None:
    got, lines, told = await exchange(desk.server.address, f"POST /api/v1/endpoints HTTP/1.1\r\n{HEAD}{rest}")
    assert (got, told["status"]) == (status, status)
    assert "content-type: application/problem+json" in lines
    assert words in told["detail"]


async def test_calls_in_one_packet_are_answered_in_order(desk: Desk) -> None:
    await desk.endpoint(slug="caf")
    body = b'{"name": "A", "slug": "one"}'
    calls = (
        f"POST /api/v1/endpoints HTTP/1.1\r\n{HEAD}Content-Length: {len(body)}\r\n\r\n{body.decode()}"
        + 40 * f"GET /api/v1/endpoints/one HTTP/1.1\r\n{HEAD}\r\n"
        + f"GET /api/v1/endpoints/two HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    ).encode()
    for size in (len(calls), 1_000, 7):
        reader, writer = await connect(desk)
        for at in range(0, len(calls), size):
            writer.write(calls[at : at + size])
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            answers = (await reader.read()).split(b"HTTP/1.1 ")[1:]
        writer.close()
        assert [int(one[:3]) for one in answers] == [201, *[200] * 40, 404]
        await desk.client.delete("/endpoints/one")


async def test_a_search_may_have_letters_as_they_are(desk: Desk) -> None:
    one = await desk.endpoint(slug="one")
    made = await desk.capture(one, "café".encode())
    await desk.capture(one, b"cafxx")
    raw = f"GET /api/v1/requests?q=caf\u00e9 HTTP/1.1\r\n{HEAD}\r\n".encode().decode("latin-1")
    status, _, page = await exchange(desk.server.address, raw)
    assert (status, [item["id"] for item in page["items"]]) == (200, [made.id])


async def test_a_search_may_have_a_url_as_it_is(desk: Desk) -> None:
    one = await desk.endpoint(slug="one")
    made = await desk.capture(one, b"see http://shop.test/paid")
    await desk.capture(one, b"see /paid")
    raw = f"GET /api/v1/requests?q=%22http://shop.test/paid%22 HTTP/1.1\r\n{HEAD}\r\n"
    status, _, page = await exchange(desk.server.address, raw)
    assert (status, [item["id"] for item in page["items"]]) == (200, [made.id])


async def test_no_answer_names_versions(desk: Desk) -> None:
    made = await desk.capture(await desk.endpoint())
    for path in ("/status", "/nowhere", f"/requests/{made.id}/body", "/status?x=1"):
        assert (await desk.client.get(path)).headers["server"] == "Hookline"
    assert (await desk.client.get("/status", headers={"Authorization": ""})).headers["server"] == "Hookline"
    assert (await desk.client.post("/status")).headers["server"] == "Hookline"

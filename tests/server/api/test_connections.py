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
from app.server.api import ApiServer
from tests.server.api.conftest import TOKEN, Desk

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
    server = ApiServer(replace(desk.services(), retention=slow), TOKEN)
    await server.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.address)
    writer.write(f"GET /api/v1/status HTTP/1.1\r\n{HEAD}\r\n".encode())
    await slow.asked.wait()
    await leave(writer, how)
    await asyncio.sleep(0.02)
    slow.answer.set()
    await server.stop()


MALFORMED = {
    "hello\r\n\r\n": "400",
    "FOO /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n": "400",
    "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n": "400",
    "GET /api/v1/status HTTP/1.1\r\n\r\n": "400",
    f"GET /api/v1/{'s3cret' * 2_000} HTTP/1.1\r\nHost: x\r\n\r\n": "400",
    f"GET /api/v1/status HTTP/1.1\r\nX: {'s3cret' * 2_000}\r\n\r\n": "400",
    "POST /api/v1/endpoints HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n": "400",
    "POST /api/v1/endpoints HTTP/1.1\r\nHost: x\r\nX: s3cret\0\r\n\r\n": "400",
    f"GET /api/v1/status HTTP/1.1\r\n{HEAD}Connection: close\r\nExpect: s3cret\r\n\r\n": "417",
    "\x16\x03\x01\x02\0\x01": "400",
    "GET http://[::1/api HTTP/1.1\r\nHost: x\r\n\r\n": "400",
    f"POST /api/v1/endpoints HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": "400",
}


@pytest.mark.parametrize("raw", MALFORMED, ids=[str(number) for number in range(len(MALFORMED))])
async def test_malformed_http_is_answered_with_a_problem(desk: Desk, raw: str) -> None:
    reader, writer = await connect(desk)
    writer.write(raw.encode("latin-1"))
    async with asyncio.timeout(5):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    lines = head.decode("latin-1").lower().split("\r\n")
    told = json.loads(body)
    status = MALFORMED[raw]
    assert told["type"] == "urn:hookline:problem:bad-request"
    assert lines[0].split(" ")[1] == str(told["status"]) == status
    assert "content-type: application/problem+json" in lines
    assert told["detail"].endswith(".")
    assert "s3cret" not in told["detail"]
    assert "\n" not in told["detail"]
    assert [line for line in lines if line.startswith("server:")] == ["server: hookline"]


async def test_no_answer_names_versions(desk: Desk) -> None:
    made = await desk.capture(await desk.endpoint())
    for path in ("/status", "/nowhere", f"/requests/{made.id}/body", "/status?x=1"):
        assert (await desk.client.get(path)).headers["server"] == "Hookline"
    assert (await desk.client.get("/status", headers={"Authorization": ""})).headers["server"] == "Hookline"
    assert (await desk.client.post("/status")).headers["server"] == "Hookline"

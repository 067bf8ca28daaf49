"""What callers without the token may hold of the API's port, so that callers with it still get through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from app.server.api import protocol
from app.server.api import server as server_module
from app.server.api.server import ApiServer
from app.server.capture.limits import Limits
from tests.server.api.conftest import TOKEN, Desk

MOST = 4
STATUS = f"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
EVENTS = STATUS.replace(b"/status", b"/events")


class Callers:
    """An API with few connections, and raw connections to it."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._open: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*self.server.address)
        self._open.append(writer)
        writer.write(sent)
        return reader

    async def call(self, sent: bytes = STATUS) -> int:
        """The status of the response."""
        return await status(await self.connect(sent))

    def close(self) -> None:
        for writer in self._open:
            writer.transport.abort()


async def status(reader: asyncio.StreamReader) -> int:
    async with asyncio.timeout(10):
        return int((await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1])


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the server closes the connection."""
    async with asyncio.timeout(10):
        with suppress(ConnectionError):
            await reader.read()


@pytest.fixture
async def callers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callers]:
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", MOST)
    api = ApiServer(desk.services(), TOKEN)
    await api.start("127.0.0.1", 0)
    callers = Callers(api)
    yield callers
    callers.close()
    await api.stop()


async def test_connections_that_say_nothing_make_room_for_calls(callers: Callers) -> None:
    silent = [await callers.connect(b"GET /api"[:number]) for number in range(3 * MOST)]
    for _ in range(2 * MOST):
        assert await callers.call() == 200
    for reader in silent:
        await closed(reader)


async def test_calls_without_the_token_make_room_before_callers_that_know_it(callers: Callers) -> None:
    known = await callers.connect(STATUS)
    assert await status(known) == 200
    strangers = [await callers.connect(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") for _ in range(3 * MOST)]
    assert await status(strangers[-1]) == 401
    assert await callers.call() == 200
    assert not known.at_eof()
    await closed(strangers[0])


async def test_a_stream_of_events_is_never_ended_for_others(callers: Callers) -> None:
    streams = [await callers.connect(EVENTS) for _ in range(MOST)]
    for stream in streams:
        assert await status(stream) == 200
        await stream.readuntil(b"event: position")
    for _ in range(3):
        assert await callers.call() == 503
        await callers.connect()
    for stream in streams:
        assert not stream.at_eof()
    callers.close()
    async with asyncio.timeout(10):
        while await callers.call() != 200:
            pass


async def test_heads_without_end_take_only_so_much_memory_together(
    callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LIMITS", Limits(head_memory=100_000))
    stream = await callers.connect(EVENTS)
    assert await status(stream) == 200
    short = await callers.connect(b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000)
    long = await callers.connect(b"GET / HTTP/1.1\r\nX: " + b"x" * 60_000)
    await callers.connect(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000)
    await closed(long)
    assert not short.at_eof()
    assert not stream.at_eof()


async def test_a_connection_has_only_so_long_for_a_head(
    desk: Desk, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    stream = await callers.connect(EVENTS)
    assert await status(stream) == 200
    await closed(await callers.connect())
    slow = await callers.connect(b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    assert await status(slow) == 408
    assert b"did not arrive in time" in await asyncio.wait_for(slow.read(), 10)
    assert not stream.at_eof()

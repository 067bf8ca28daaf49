"""A forward target on a real socket: records each request's bytes as they came, answers as told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

Answering = Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """One request as its bytes came."""

    head: bytes
    body: bytes

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n")[0].decode("latin-1")

    @property
    def headers(self) -> list[tuple[str, str]]:
        lines = self.head.decode("latin-1").split("\r\n")[1:-2]
        return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class Target:
    """Where it listens and what it received."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def arrival(self, count: int = 1) -> None:
        """Wait until `count` requests came."""
        async with asyncio.timeout(20):
            while len(self.received) < count:
                self.news.clear()
                await self.news.wait()


def answering(data: bytes, *, close: bool = False) -> Answering:
    """Answer every request with `data`."""

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return answer


async def silent(_: Received, __: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


@asynccontextmanager
async def target(answer: Answering | None = None, port: int = 0) -> AsyncIterator[Target]:
    """Serve until the block ends; 200 without a body unless told otherwise."""
    place, answer = Target(), answer or answering(OK)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while not writer.is_closing():
                received = await _read(reader)
                place.received.append(received)
                place.news.set()
                await answer(received, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=2**20)
    place.port = server.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return Received(head, await reader.readexactly(int(length[1])) if length else b"")

"""Targets that do exactly what a test says on each connection, and a sender to make attempts with."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from app.core.delivery import Attempt, RequestEdit
from app.core.errors import NotFoundError
from app.core.model import Capture
from app.db.captures import Captures
from app.server.forward.sender import AttemptSender
from tests import factories
from tests.server.forward.targets import OK, Received, _read

Script = Callable[["Peer"], Awaitable[None]]
"""What a target does on one connection; it is closed afterwards."""


@dataclass
class Peer:
    """The target's side of a connection. `number` counts connections from 0."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int
    log: list[Received]

    async def request(self) -> Received:
        received = await _read(self.reader)
        self.log.append(received)
        return received

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, data: bytes = OK) -> Received:
        received = await self.request()
        await self.send(data)
        return received

    async def closed(self) -> None:
        """Wait until the other side closes."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


async def answering_all(peer: Peer) -> None:
    while True:
        await peer.answer()


def once(data: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.answer(data)

    return script


@dataclass
class Scripted:
    """`received` in the order of arrival; `connections` counts those accepted."""

    port: int = 0
    scheme: str = "http"
    host: str = "127.0.0.1"
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    ended: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    async def all_ended(self, count: int) -> None:
        """Wait until `count` connections are closed by the target."""
        async with asyncio.timeout(20):
            while self.ended < count:
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def scripted(script: Script = answering_all, tls: ssl.SSLContext | None = None) -> AsyncIterator[Scripted]:
    place, tasks = Scripted(scheme="https" if tls else "http"), set[asyncio.Task[Any]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        peer = Peer(reader, writer, place.connections, place.received)
        place.connections += 1
        try:
            await script(peer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            place.ended += 1
            place.news.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**20)
    place.port = server.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


class Bodies:
    """In place of a `Captures`: its bodies. `reads` lists the offsets that were asked for, `checks` counts how
    often a body was compared, which takes `check_s`."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.body_of_all: bytes | None = None
        self.reads: list[int] = []
        self.checks = 0
        self.check_s = 0.0

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads.append(offset)
        body = self.bodies.get(capture_id) if self.body_of_all is None else self.body_of_all
        if body is None:
            raise NotFoundError("gone")
        return body[offset:][:length]

    async def check_body(self, capture: Capture) -> None:
        self.checks += 1
        await asyncio.sleep(self.check_s)
        if self.body_of_all is None and capture.id not in self.bodies:
            raise NotFoundError("gone")


class Desk:
    """A sender, and what its attempts need."""

    def __init__(self) -> None:
        self.bodies = Bodies()
        self.sender = AttemptSender(cast(Captures, self.bodies), "me")

    async def attempts(
        self,
        url: str,
        body: bytes | None = b"{}",
        *,
        size: int | None = None,
        edit: RequestEdit | None = None,
        capture: dict[str, Any] | None = None,
        **fields: Any,
    ) -> list[tuple[Attempt, bytes]]:
        """Make an attempt to send a capture with `body` (None: read it from `bodies`, `size` bytes)."""
        given = {"target": "/catch/s", **({} if size is None else {"size": size}), **(capture or {})}
        queued = factories.queued(body, url, **given)
        if size is not None:
            self.bodies.bodies.setdefault(queued.capture.id, bytes(size))
        target = factories.target(url, **{"timeout_ms": 10_000, **fields})
        return await self.sender.attempts(queued, target, edit)

    async def attempt(self, url: str, body: bytes | None = b"{}", **fields: Any) -> Attempt:
        results = await self.attempts(url, body, **fields)
        assert len(results) == 1, results
        return results[0][0]

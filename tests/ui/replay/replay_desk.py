"""A page of requests with a target that answers, and waiting for replays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ui.requests.page_desk import PageDesk, open_page


@dataclass
class Received:
    """What the target got. While `hold` is not set, it does not answer."""

    requests: list[bytes] = field(default_factory=list)
    status: int = 200
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(lengths[0].split(b":")[1])) if lengths else b""
                self.requests.append(head + body)
                await self.hold.wait()
                answer = b'{"received":true}'
                writer.write(
                    f"HTTP/1.1 {self.status} X\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(answer)}\r\n\r\n".encode()
                    + answer
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def target() -> AsyncIterator[Received]:
    """A target on a port of its own, which answers at once."""
    received = Received()
    received.hold.set()
    server = await asyncio.start_server(received.answer, "127.0.0.1", 0)
    received.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield received
    finally:
        received.hold.set()
        server.close()


@asynccontextmanager
async def page_with_target(folder: Path, **endpoint: Any) -> AsyncIterator[tuple[PageDesk, Received]]:
    """A page of an endpoint with that target."""
    async with target() as received, open_page(folder, forward_url=received.url, **endpoint) as shown:
        try:
            yield shown, received
        finally:
            await shown.desk.replays.stop()

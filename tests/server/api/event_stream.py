"""Reads Server-Sent Events from the API under test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import msgspec

WAIT_S = 30.0


class Received(NamedTuple):
    """An event as it came: `id` is empty without one."""

    id: str
    type: str
    data: Any


class EventReader:
    """One open stream. `last` is the last event ID."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.last = ""
        self.comments: list[str] = []
        self.retry_ms: int | None = None
        self._lines = response.aiter_lines()

    async def next(self) -> Received:
        """The next event; TimeoutError if there is none for long, StopAsyncIteration at the end."""
        async with asyncio.timeout(WAIT_S):
            id_, kind, data = "", "", ""
            while True:
                line = await anext(self._lines)
                name, _, value = line.partition(": ")
                if name == "id":
                    self.last = id_ = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    data = value
                elif name == "retry":
                    self.retry_ms = int(value)
                elif line == "" and kind:
                    return Received(id_, kind, msgspec.json.decode(data))
                elif line.startswith(":"):
                    self.comments.append(line)

    async def take(self, count: int) -> list[Received]:
        """The next `count` events."""
        return [await self.next() for _ in range(count)]


@contextlib.asynccontextmanager
async def events(client: httpx.AsyncClient, last: str = "", **parameters: str) -> AsyncIterator[EventReader]:
    """A stream, after its first event `position`."""
    headers = {"Last-Event-ID": last} if last else {}
    async with client.stream("GET", "/events", params=parameters, headers=headers, timeout=WAIT_S) as response:
        assert response.status_code == 200
        reader = EventReader(response)
        first = await reader.next()
        assert first.type == "position"
        assert first.data == {"position": first.id}
        yield reader


def ids(received: list[Received]) -> list[str]:
    """The ids of the records that the events are about."""
    return [one.data["id"] for one in received]

"""A target on a real socket, in a thread: commands run an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.server.forward.targets import Answering, Received, Target, target


@dataclass
class Serving:
    """A target, and the loop it runs on."""

    place: Target
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return self.place.url

    @property
    def port(self) -> int:
        return self.place.port

    @property
    def received(self) -> list[Received]:
        return self.place.received

    def wait_for(self, count: int) -> None:
        """Wait until `count` requests came."""
        asyncio.run_coroutine_threadsafe(self.place.arrival(count), self.loop).result(20)


@contextmanager
def serving(answer: Answering | None = None) -> Iterator[Serving]:
    """Serve until the block ends; 200 without a body unless told otherwise."""
    ready, places = threading.Event(), list[Target]()
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with target(answer) as place:
            places.append(place)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    try:
        assert ready.wait(20)
        yield Serving(places[0], loop)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(20)
        loop.close()

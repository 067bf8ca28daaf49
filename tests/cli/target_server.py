"""A target on a real socket, in a thread: commands run an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.server.forward.targets import Answering, Target, target


@contextmanager
def serving(answer: Answering | None = None) -> Iterator[Target]:
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
        yield places[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(20)
        loop.close()

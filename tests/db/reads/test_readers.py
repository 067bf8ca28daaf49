"""The reading threads run what still has a caller."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from peewee import Database

from app.db.readers import THREADS
from app.db.store import Store


async def test_a_read_whose_caller_has_given_up_is_not_run(store: Store) -> None:
    readers = store._readers
    go, read = threading.Event(), list[str]()

    async def begin(name: str) -> None:
        def job(_: Database) -> None:
            go.wait(20)
            read.append(name)

        await readers.run(job)

    busy = [asyncio.create_task(begin("busy")) for _ in range(THREADS)]
    waiting = [asyncio.create_task(begin(name)) for name in ("given up", "wanted")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    go.set()
    await asyncio.wait((*busy, *waiting))
    assert sorted(read) == ["busy"] * THREADS + ["wanted"]


async def test_the_errors_of_reads_are_not_kept_in_memory(store: Store) -> None:
    class OddError(Exception):
        pass

    def job(_: Database) -> None:
        raise OddError

    gc.collect()
    gc.disable()
    try:
        for _ in range(3 * THREADS):
            with pytest.raises(OddError):
                await store._readers.run(job)
        kept = [one for one in gc.get_objects() if isinstance(one, OddError)]
        assert len(kept) <= THREADS + 1  # each thread's last one, and one in a frame of the loop
    finally:
        gc.enable()

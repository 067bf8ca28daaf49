"""The reading threads run what still has a caller."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from peewee import SqliteDatabase

from app.db.sqlite.readers import THREADS, Readers


async def test_a_read_whose_caller_has_given_up_is_not_run(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
    readers = Readers(tmp_path / "hookline.db", lambda: None)
    go, read = threading.Event(), list[str]()

    async def begin(name: str) -> None:
        def job(_: SqliteDatabase) -> None:
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
    await readers.close()
    assert sorted(read) == ["busy"] * THREADS + ["wanted"]

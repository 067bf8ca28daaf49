"""The store's file: what it holds, its modes and pragmas."""

from __future__ import annotations

from pathlib import Path

import pytest
from peewee import SqliteDatabase

from app.db.raw_sql import raw
from app.db.sqlite.connection import open_writer
from app.db.sqlite.store import Store
from app.db.writer_thread import AdaptiveBatch
from tests.db.helpers import OpenStore, files, query

pytestmark = pytest.mark.smoke


def test_values_are_stored_as_what_they_are(tmp_path: Path) -> None:
    database = open_writer(tmp_path / "hookline.db")
    kinds = raw(database).execute("SELECT typeof(?), typeof(?), typeof(?), ?, ?, ?", 2 * (True, None, b"\0\xff"))
    assert kinds.fetchone() == ("integer", "null", "blob", 1, None, b"\0\xff")
    database.close()


async def test_files_are_the_users_own_and_pragmas_are_set(tmp_path: Path, store: Store, endpoint: object) -> None:
    assert files(tmp_path) == dict.fromkeys(("hookline.db", "hookline.db-wal", "hookline.db-shm"), 0o600)
    assert query(tmp_path, "PRAGMA journal_mode") == [("wal",)]
    assert query(tmp_path, "PRAGMA auto_vacuum") == [(2,)]

    def pragma(database: object, name: str) -> int:
        return int(database.connection().execute(f"PRAGMA {name}").fetchone()[0])

    assert await store._writer.run(lambda database: pragma(database, "foreign_keys")) == 1
    assert await store._readers.run(lambda database: pragma(database, "query_only")) == 1


@pytest.mark.parametrize("fsync", [True, False])
async def test_commits_wait_for_the_disk_unless_told_not_to_also_after_background_work(
    open_store: OpenStore, fsync: bool
) -> None:
    def synchronous(database: SqliteDatabase, _: int = 0) -> int:
        return int(database.connection().execute("PRAGMA synchronous").fetchone()[0])

    store = await open_store(fsync=fsync)
    always = 2 if fsync else 0
    assert await store._writer.run(synchronous) == always
    assert await store._writer.between(synchronous, AdaptiveBatch(1)) == int(fsync)
    assert await store._writer.run(synchronous) == always
    await store.close()

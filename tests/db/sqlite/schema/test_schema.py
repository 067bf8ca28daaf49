"""Migrations: each with its record or not at all, and a copy of the file before."""

from __future__ import annotations

import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from peewee import SqliteDatabase

from app.core.errors import DamagedDatabaseError
from app.db.raw_sql import raw
from app.db.sqlite import schema
from app.db.sqlite.connection import open_writer
from app.db.sqlite.schema import MIGRATIONS, OLDEST
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, files, query, write


def add_column(database: SqliteDatabase) -> None:
    raw(database).execute("ALTER TABLE endpoint ADD COLUMN colour TEXT")


def break_halfway(database: SqliteDatabase) -> None:
    raw(database).execute("CREATE TABLE half (id INTEGER)")
    raise ZeroDivisionError


NEXT = (*MIGRATIONS, ("9001_add_column", add_column))
ALL_NAMES = [OLDEST, *(name for name, _ in MIGRATIONS)]


async def old_store(folder: Path) -> None:
    store = await Store.open(folder, lambda _: None)
    made = await store.endpoints.create(factories.draft(slug="before"))
    await add(store, made.id)
    await store.close()


def columns(folder: Path) -> set[str]:
    return {row[1] for row in query(folder, "PRAGMA table_info(endpoint)")}


async def test_a_new_file_gets_all_and_no_copy(tmp_path: Path) -> None:
    open_writer(tmp_path / "hookline.db", NEXT).close()
    assert "colour" in columns(tmp_path)
    assert [row[0] for row in query(tmp_path, "SELECT name FROM migration")] == [*ALL_NAMES, "9001_add_column"]
    assert list(files(tmp_path)) == ["hookline.db"]


@pytest.mark.parametrize(
    ("change", "missing"),
    [("ALTER TABLE target DROP COLUMN deleted_at", "target.deleted_at"), ("DROP TABLE tunnel_copy", "tunnel_copy.")],
)
async def test_a_file_with_all_names_but_other_tables_is_refused_in_words(
    tmp_path: Path, change: str, missing: str
) -> None:
    """Before the first release, the schema changed under the name of its first step."""
    await old_store(tmp_path)
    write(tmp_path, change)
    before = (tmp_path / "hookline.db").read_bytes()
    with pytest.raises(DamagedDatabaseError, match=f"another version of Hookline.* {missing}"):
        await Store.open(tmp_path, lambda _: None)
    assert (tmp_path / "hookline.db").read_bytes() == before


async def test_an_older_file_is_copied_then_migrated_once(tmp_path: Path) -> None:
    await old_store(tmp_path)
    for _ in range(2):
        open_writer(tmp_path / "hookline.db", NEXT).close()
    assert "colour" in columns(tmp_path)
    copy = tmp_path / f"hookline.db.before-{len(ALL_NAMES) + 1}"
    assert set(files(tmp_path)) == {"hookline.db", copy.name}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT slug FROM endpoint").fetchall() == [("before",)]
        assert connection.execute("SELECT count(*) FROM migration").fetchall() == [(len(ALL_NAMES),)]
        assert connection.execute("SELECT count(*) FROM capture_body").fetchall() == [(1,)]


async def test_a_copy_is_a_store_that_the_older_version_opens(tmp_path: Path) -> None:
    await old_store(tmp_path)
    open_writer(tmp_path / "hookline.db", NEXT).close()
    (tmp_path / f"hookline.db.before-{len(ALL_NAMES) + 1}").rename(tmp_path / "hookline.db")
    store = await Store.open(tmp_path, lambda _: None)
    assert store.endpoints.by_slug("before") is not None
    await store.close()


async def test_a_step_that_fails_leaves_nothing_half_done(tmp_path: Path) -> None:
    await old_store(tmp_path)
    broken = (*MIGRATIONS, ("9001_add_column", add_column), ("9002_break", break_halfway))
    with pytest.raises(ZeroDivisionError):
        open_writer(tmp_path / "hookline.db", broken)
    names = [row[0] for row in query(tmp_path, "SELECT name FROM migration")]
    assert names == [*ALL_NAMES, "9001_add_column"]
    assert query(tmp_path, "SELECT name FROM sqlite_master WHERE name = 'half'") == []
    assert (tmp_path / f"hookline.db.before-{len(ALL_NAMES) + 1}").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit on the size of a file")
async def test_a_copy_that_has_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    import resource  # not on Windows

    await old_store(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = set(files(tmp_path))
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            with pytest.raises(sqlite3.Error):
                schema._copy(connection, tmp_path / "hookline.db.before-9")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert set(files(tmp_path)) - before <= {"hookline.db-wal", "hookline.db-shm"}

"""Migrations: each with its record or not at all, and a copy of the file before."""

from __future__ import annotations

import re
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from peewee import SqliteDatabase

from app.db import migrations
from app.db.connection import open_writer
from app.db.migrations import MIGRATIONS, OLDEST
from app.db.raw_sql import raw
from app.db.store import Store
from tests import factories
from tests.db.helpers import add, files, kept_bytes, older_file, query, recount_bytes


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


def described(folder: Path) -> dict[str, object]:
    """Everything that `sqlite_master` says, but for the ways to write the same: quotes, spaces, signs of equal meaning,
    and where a foreign key is declared."""
    found: dict[str, object] = {}
    for kind, name, statement in query(folder, "SELECT type, name, sql FROM sqlite_master"):
        text = re.sub(r"\s+", " ", (statement or "").replace('"', ""))
        text = re.sub(r",? FOREIGN KEY \(\w+\) REFERENCES \w+ \(\w+\)( ON DELETE CASCADE)?", "", text)
        text = re.sub(r" REFERENCES \w+ \(\w+\)( ON DELETE CASCADE)?", "", text)
        text = text.replace("NOT NULL PRIMARY KEY", "PRIMARY KEY").replace(" IF NOT EXISTS", "")
        found[f"{kind} {name}"] = re.sub(r" ?([(),]) ?", r"\1", text).strip()
        if kind == "table":
            keys = query(folder, f"PRAGMA foreign_key_list({name})")
            found[f"foreign keys of {name}"] = sorted(row[2:] for row in keys)
    return found


@pytest.mark.parametrize("upto", ALL_NAMES)
async def test_every_older_file_comes_to_the_schema_of_the_models(tmp_path: Path, upto: str) -> None:
    fresh, older = tmp_path / "fresh", tmp_path / "older"
    fresh.mkdir()
    older.mkdir()
    open_writer(fresh / "hookline.db").close()
    older_file(older, upto)
    open_writer(older / "hookline.db").close()
    assert described(older) == described(fresh)
    for table in ("migration", "storage_use", "clock", "misdated"):
        columns = "name" if table == "migration" else "*"
        assert query(older, f"SELECT {columns} FROM {table}") == query(fresh, f"SELECT {columns} FROM {table}")


async def test_what_an_older_file_holds_is_counted_once(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    for url in (None, "http://127.0.0.1:9/"):
        made = await store.endpoints.create(factories.draft(forward_url=url))
        for _ in range(3):
            capture = factories.capture(seq=store.captures.new_seq(), endpoint_id=made.id)
            await store.captures.add(capture, b'{"hello":"world"}', forward_url=url)
    await store.captures.add_part(store.captures.new_seq(), 0, bytes(5_000))
    await store.close()
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection:
        for name, kind in connection.execute(
            "SELECT name, type FROM sqlite_master WHERE sql LIKE '%storage_use%' ORDER BY type DESC"
        ).fetchall():
            connection.execute(f"DROP {kind} {name}")
        for column in ("storage_limit", "when_full"):
            connection.execute(f"ALTER TABLE endpoint DROP COLUMN {column}")
        connection.execute("DELETE FROM migration WHERE name = '0006_add_storage_limits'")
        connection.commit()
    again = await Store.open(tmp_path, lambda _: None)
    assert again.endpoints.by_id(made.id) == made
    assert again.captures.counts(made.id).stored_bytes > 3 * 1_400
    await again._cleanup.run()
    assert kept_bytes(tmp_path) == recount_bytes(tmp_path)
    assert again.limits.use().used == sum(recount_bytes(tmp_path).values())
    await again.close()


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
                migrations._copy(connection, tmp_path / "hookline.db.before-9")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert set(files(tmp_path)) - before <= {"hookline.db-wal", "hookline.db-shm"}

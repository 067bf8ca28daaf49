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

from app.core.delivery import DeliveryFilter
from app.db import migrations
from app.db.connection import open_writer
from app.db.insert import encode_headers
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


OLD_ENDPOINT = (
    "INSERT INTO endpoint (slug, name, description, retention_days, forward_url, active, reply, forward, auth,"
    " created_at) VALUES (?, 'n', '', 7, ?, 1, '{}', ?, '{}', 0)"
)
OLD_CAPTURE = (
    "INSERT INTO capture (seq, id, endpoint_id, received_at, method, target, http_version, headers, content_type, size,"
    " sha256, source_address, source_port, scheme, complete, reply_status, mirror, is_read)"
    " VALUES (?, ?, ?, 1, 'PUT', '/catch/x', '1.1', x'90', '', 4, '', '127.0.0.1', 5, 'http', 1, 200, ?, 0)"
)
OLD_DELIVERY = (
    "INSERT INTO delivery (id, capture_seq, endpoint_id, url, state, queued_at, started_at, ms, status,"
    " response_headers, response_size, response_body, error) VALUES (?, ?, ?, ?, ?, 10, ?, ?, ?, ?, ?, ?, ?)"
)
HOOK = "http://127.0.0.1:9/hook"


def fill_older_file(folder: Path, upto: str) -> None:
    """Two endpoints, one of which forwards: a delivery of each state, and one queued for a URL that was removed."""
    older_file(folder, upto)
    headers = encode_headers((("A", "1"),))
    with closing(sqlite3.connect(folder / "hookline.db")) as connection, connection:
        connection.execute(OLD_ENDPOINT, ("plain", None, "{}"))
        connection.execute(OLD_ENDPOINT, ("forwards", HOOK, '{"timeout_ms":500}'))
        for seq, (endpoint_id, mirror) in enumerate(((1, "n"), (2, "d"), (2, "f"), (2, "q"), (1, "q")), 1):
            connection.execute(OLD_CAPTURE, (seq, f"id-{seq}", endpoint_id, mirror))
            connection.execute("INSERT INTO capture_body VALUES (?, x'01020304')", (seq * 4096,))
        done = ("delivered", 20, 1.5, 200, headers, 3, b"yes", None)
        failed = ("failed", 30, 2.5, None, None, 0, None, "Nothing is listening.")
        queued = ("queued", None, None, None, None, 0, None, None)
        for seq, endpoint_id, result in ((2, 2, done), (3, 2, failed), (4, 2, queued), (5, 1, queued)):
            connection.execute(OLD_DELIVERY, (f"delivery-{seq}", seq, endpoint_id, HOOK, *result))


async def test_what_an_older_file_holds_is_counted_once(tmp_path: Path) -> None:
    fill_older_file(tmp_path, "0005_add_trailers")
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection, connection:
        connection.execute("INSERT INTO capture_body VALUES (?, zeroblob(5000))", (9 * 4096,))
        connection.execute("INSERT INTO loose_body VALUES (9, 0)")
    store = await Store.open(tmp_path, lambda _: None)
    assert store.captures.counts(2).stored_bytes > 3 * 1_400
    await store._cleanup.run()
    assert kept_bytes(tmp_path) == recount_bytes(tmp_path)
    assert store.limits.use().used == sum(recount_bytes(tmp_path).values())
    await store.close()


async def test_a_forward_url_becomes_a_target_and_results_become_attempts(tmp_path: Path) -> None:
    fill_older_file(tmp_path, "0009_endpoint_position")
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection, connection:
        request, response = 1_000 + len("/catch/x") + 1 + 4, len(encode_headers((("A", "1"),))) + 3
        for owner, size in ((1, 2 * request + 400), (2, 3 * request + 3 * 400 + response)):
            connection.execute("UPDATE storage_use SET bytes = ? WHERE owner = ?", (size, owner))
    store = await Store.open(tmp_path, lambda _: None)
    plain, forwards = store.endpoints.all()
    assert (plain.targets, plain.forward_url) == ((), None)
    (target,) = forwards.targets
    assert (target.url, target.timeout_ms, target.active, target.paused) == (HOOK, 500, True, None)
    deliveries = [delivery for _, delivery in await store.deliveries.page(DeliveryFilter())][::-1]
    assert [(one.id, one.target_id, one.state.value, one.attempts) for one in deliveries] == [
        ("delivery-2", target.id, "delivered", 1),
        ("delivery-3", target.id, "failed", 1),
        ("delivery-4", target.id, "queued", 0),
        ("delivery-5", None, "failed", 0),
    ]
    assert deliveries[3].error == "Not sent: the target was removed."
    (attempt,) = await store.deliveries.attempts("delivery-2")
    assert (attempt.method, attempt.status, attempt.ms, attempt.response_headers) == ("PUT", 200, 1.5, (("A", "1"),))
    assert await store.deliveries.response_body("delivery-2") == b"yes"
    (queued,) = await store.deliveries.queued(target.id, 5)
    assert (queued.capture.id, queued.body) == ("id-4", bytes([1, 2, 3, 4]))
    assert [row.mirror.value for row in await store.captures.page(None)] == [
        *("failed", "queued", "failed", "delivered", "none"),
    ]
    assert kept_bytes(tmp_path) == recount_bytes(tmp_path)
    await store.close()


async def test_only_targets_that_kept_the_order_still_do(tmp_path: Path) -> None:
    older_file(tmp_path, "0013_late_captures")
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection, connection:
        connection.execute(
            "INSERT INTO endpoint (slug, name, description, retention_days, active, reply, auth, created_at)"
            " VALUES ('abc', 'n', '', 7, 1, '{}', '{}', 0)"
        )
        for position, settings in enumerate(('{"parallel":1,"timeout_ms":500}', '{"parallel":2}', "{}"), 1):
            connection.execute(
                "INSERT INTO target (endpoint_id, position, url, active, settings) VALUES (1, ?, ?, 1, ?)",
                (position, HOOK, settings),
            )
    store = await Store.open(tmp_path, lambda _: None)
    (endpoint,) = store.endpoints.all()
    assert [(target.parallel, target.timeout_ms) for target in endpoint.targets] == [
        *((None, 500), (2, 10_000), (None, 10_000)),
    ]
    await store.close()


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

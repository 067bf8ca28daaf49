"""The store as a whole: what it keeps, what it leaves behind, how it closes."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.core.model import Auth, Forward, Plan, ResponseSettings
from app.db.raw_sql import raw
from app.db.sqlite.connection import open_writer
from app.db.sqlite.store import Store
from app.db.write_jobs import AdaptiveBatch
from tests import factories
from tests.db.helpers import BODY, add, files, query
from tests.stored import store_request

pytestmark = pytest.mark.smoke


def test_values_are_stored_as_what_they_are(tmp_path: Path) -> None:
    database = open_writer(tmp_path / "hookline.db")
    kinds = raw(database).execute("SELECT typeof(?), typeof(?), typeof(?), ?, ?, ?", 2 * (True, None, b"\0\xff"))
    assert kinds.fetchone() == ("integer", "null", "blob", 1, None, b"\0\xff")
    database.close()


async def test_everything_is_there_again_after_opening_the_folder_again(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    draft = factories.draft(
        name="  Orders  ",
        description="Ünïcode ✓",
        retention_days=90,
        forward_url="http://127.0.0.1:3000/hook",
        slug="orders",
        active=False,
        response=ResponseSettings(status=201, headers=(("X-A", "ä"), ("x-a", "b")), body="ok", delay_ms=5),
        forward=Forward(timeout_ms=500),
        auth=Auth(kind="basic", name="me", secret="s3cret"),
    )
    made = await store.endpoints.create(draft)
    capture = factories.capture(
        BODY,
        endpoint_id=made.id,
        headers=(("Host", "h"), ("X-\xe9", "\xff\x00")),
    )
    capture = await store_request(store.captures, capture, BODY)
    store.captures.responded(capture.seq, 2.5)
    await store.account.set_plan(Plan.PRO)
    instance = store.account.instance_id
    await store.close()

    again = await Store.open(tmp_path, lambda _: None)
    assert again.endpoints.all() == (made,)
    assert made.name == "Orders"
    assert made.draft().auth == draft.auth
    found = await again.captures.get(capture.id)
    assert found is not None
    assert found.response_ms == 2.5
    assert found.headers == capture.headers
    assert found.summary() == (await again.captures.page(made.id))[0]
    assert await again.captures.body(capture.id) == BODY
    assert again.captures.counts(made.id).total == 1
    assert again.account.plan is Plan.PRO
    assert again.account.instance_id == instance
    await again.close()


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
    tmp_path: Path, fsync: bool
) -> None:
    def synchronous(database: SqliteDatabase, _: int = 0) -> int:
        return int(database.connection().execute("PRAGMA synchronous").fetchone()[0])

    store = await Store.open(tmp_path, lambda _: None, fsync=fsync)
    always = 2 if fsync else 0
    assert await store._writer.run(synchronous) == always
    assert await store._writer.between(synchronous, AdaptiveBatch(1)) == int(fsync)
    assert await store._writer.run(synchronous) == always
    await store.close()


async def test_closing_fifty_times_leaves_no_file_and_no_thread_behind(tmp_path: Path) -> None:
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for round_ in range(50):
        store = await Store.open(tmp_path, lambda _: None)
        if not round_:
            await store.endpoints.create(factories.draft())
        store.retention.start()
        capture = factories.capture(BODY, endpoint_id=1)
        adding = asyncio.ensure_future(store.captures.add(capture, BODY))
        await asyncio.sleep(0)
        await asyncio.gather(store.close(), store.close())
        await adding
        assert list(files(tmp_path)) == ["hookline.db"]
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() == threads
    assert query(tmp_path, "SELECT count(*) FROM capture") == [(50,)]


async def test_after_close_nothing_is_stored_or_read(store: Store, endpoint: object) -> None:
    await store.close()
    with pytest.raises(StorageUnavailableError):
        await add(store, 1)
    with pytest.raises(StorageUnavailableError):
        await store.captures.page(None)
    with pytest.raises(StorageUnavailableError):
        await store.endpoints.create(factories.draft())
    store.captures.responded(1, 1.0)  # an answer that leaves late is no error


async def test_what_waits_is_written_before_the_store_closes(tmp_path: Path, store: Store, endpoint: object) -> None:
    adding = [asyncio.ensure_future(add(store, 1)) for _ in range(300)]
    await asyncio.sleep(0)
    await store.close()
    captures = await asyncio.gather(*adding)
    assert {row[0] for row in query(tmp_path, "SELECT id FROM capture")} == {capture.id for capture in captures}


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_giving_up_while_it_opens_leaves_nothing_open(tmp_path: Path, turns: int) -> None:
    threads = threading.active_count()
    for _ in range(3):
        opening = asyncio.ensure_future(Store.open(tmp_path, lambda _: None))
        for _ in range(turns):
            await asyncio.sleep(0.001)
        opening.cancel()
        (result,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(result, Store):
            await result.close()
    assert threading.active_count() == threads
    assert set(files(tmp_path)) <= {"hookline.db"}

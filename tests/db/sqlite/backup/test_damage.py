"""Damaged pages are found in the background after an unclean stop, and nobody waits for that."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import DamagedDatabaseError
from app.core.events import DatabaseDamaged, Event
from app.core.model import Endpoint
from app.db.sqlite.damage import IntegrityCheck
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, add_many, of_kind, query
from tests.support import until


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.db.sqlite.damage.DELAY_S", 0.0)
    monkeypatch.setattr("app.db.sqlite.damage.PAUSE_S", 0.0)


async def stored(folder: Path, number: int) -> None:
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, number, body=b"x" * 3_000)
    await store.close()


def damage(folder: Path, table: str, with_bytes: bytes) -> None:
    """Overwrite a page in the middle of a table."""
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)
        ).fetchall()
    with (folder / "hookline.db").open("r+b") as file:
        file.seek((pages[len(pages) // 2][0] - 1) * 4096)
        file.write(with_bytes)


@pytest.mark.parametrize("table", ["capture", "capture_body"])
@pytest.mark.parametrize("with_bytes", [bytes(4096), os.urandom(4096)], ids=["empty", "torn"])
async def test_a_damaged_page_is_found_and_told_once(
    tmp_path: Path, events: list[Event], table: str, with_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(tmp_path, 200)
    damage(tmp_path, table, with_bytes)
    store = await Store.open(tmp_path, events.append)
    store.integrity.start()
    await until(lambda: store.integrity.finished)
    (found,) = of_kind(events, DatabaseDamaged)
    assert found.reason.startswith("The database is damaged: ")
    assert len(found.reason) < 300
    assert caplog.text.count("The database is damaged") == 1
    await store.close()


async def test_a_sound_database_is_told_of_nowhere(store: Store, endpoint: Endpoint, events: list[Event]) -> None:
    await add_many(store, endpoint.id, 20)
    store.integrity.start()
    await until(lambda: store.integrity.finished)
    assert of_kind(events, DatabaseDamaged) == []


async def test_a_damaged_list_is_found_at_the_start(tmp_path: Path, events: list[Event]) -> None:
    await stored(tmp_path, 200)
    damage(tmp_path, "capture_list", bytes(4096))
    with pytest.raises(DamagedDatabaseError, match=r"hookline\.db is damaged"):
        await Store.open(tmp_path, events.append)


async def test_a_check_in_hand_holds_up_neither_log_nor_captures_nor_the_stop(
    tmp_path: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reading a table of 80 MB takes longer than it takes to be interrupted."""
    monkeypatch.setattr("app.db.sqlite.damage.WATCH_S", 0.002)
    monkeypatch.setattr("app.db.sqlite.damage.LOG_MAX", -1)
    await stored(tmp_path, 10)
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection, connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
            " INSERT INTO capture_body SELECT i * -1, zeroblob(4000) FROM n"
        )
    store = await Store.open(tmp_path, events.append)
    with caplog.at_level(logging.DEBUG, "app.db.sqlite.damage"):
        store.integrity.start()
        await until(lambda: "checking capture_body is put off" in caplog.text)
    await add(store, 1)
    await store.close()
    assert not store.integrity.finished
    assert of_kind(events, DatabaseDamaged) == []
    assert query(tmp_path, "SELECT count(*) FROM capture") == [(11,)]


async def test_what_was_interrupted_is_checked_again(
    store: Store, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.sqlite.damage.RETRY_S", 0.0)
    await add_many(store, endpoint.id, 30)
    check, asked = IntegrityCheck(tmp_path / "hookline.db", lambda _: None, lambda: True), list[str]()
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection:
        connection.set_trace_callback(asked.append)
        connection.set_progress_handler(lambda: sum("quick_check(capture)" in one for one in asked) in (1, 2), 1)
        assert check._check(connection) == []
    assert sum("quick_check(capture)" in one for one in asked) == 3
    await check.stop()


async def test_twice_stopped_and_never_started(tmp_path: Path) -> None:
    check = IntegrityCheck(tmp_path / "hookline.db", lambda _: None, lambda: True)
    await check.stop()
    await check.stop()


async def test_what_cannot_be_opened_is_said_and_is_neither_sound_nor_damaged(
    tmp_path: Path, events: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    check = IntegrityCheck(tmp_path / "gone" / "hookline.db", events.append, lambda: True)
    check.start()
    await until(lambda: check._ended)
    assert "the database could not be checked: unable to open database file" in caplog.text
    await check.stop()
    assert (events, check.finished, check.sound) == ([], False, False)


async def test_it_is_checked_again_when_damage_is_suspected_later(
    tmp_path: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(tmp_path, 200)
    store = await Store.open(tmp_path, events.append)
    store.integrity.start()
    await until(lambda: store.integrity.finished)
    damage(tmp_path, "capture_body", bytes(4096))
    store.integrity.start()
    assert of_kind(events, DatabaseDamaged) == [], "that is too soon"
    monkeypatch.setattr("app.db.sqlite.damage.AGAIN_S", 0.0)
    await until(lambda: store.integrity.start() or of_kind(events, DatabaseDamaged) != [])
    assert not store.integrity.sound
    await store.close()

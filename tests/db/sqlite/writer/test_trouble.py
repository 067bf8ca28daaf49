"""When the world keeps the store from writing: said once, lost nothing, over by itself."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.core.errors import StorageUnavailableError
from app.core.events import Captured, Event, StorageTrouble
from app.core.model import PART_SIZE, DeliveryState, Endpoint, ResponseSettings
from app.db import captures
from app.db.sqlite import connection as connection_module
from app.db.sqlite import disk_reserve
from app.db.sqlite import writer as writer_module
from app.db.sqlite.file_watch import FileWatch
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, add_many, kept_bytes, of_kind, query, recount, recount_bytes
from tests.support import until


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "BUSY_S", 0.2)
    monkeypatch.setattr(writer_module, "BUSY_S", 0.2)
    monkeypatch.setattr(writer_module, "PROBE_S", 0.05)


@contextlib.contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own, so small that it fills up."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("no right to mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def reasons(events: list[Event]) -> list[str | None]:
    return [event.reason for event in of_kind(events, StorageTrouble)]


async def check_all_told_is_stored(folder: Path, told: set[str], refused: set[str]) -> None:
    stored = [row[0] for row in query(folder, "SELECT id FROM capture")]
    assert len(stored) == len(set(stored))
    assert set(stored) == told
    assert not set(stored) & refused
    assert query(folder, "PRAGMA integrity_check") == [("ok",)]
    assert query(folder, "SELECT count(*) FROM capture_body") == [(len(stored),)]


async def fill_up(store: Store, endpoint_id: int) -> tuple[set[str], set[str]]:
    """Store eight at a time until some are refused; ids told as stored, ids refused."""
    told: set[str] = set()
    refused: set[str] = set()
    body = os.urandom(20_000)
    while not refused:
        captures = [factories.capture(body, endpoint_id=endpoint_id) for _ in range(8)]
        adding = [store.captures.add(capture, body) for capture in captures]
        for capture, result in zip(captures, await asyncio.gather(*adding, return_exceptions=True), strict=True):
            if isinstance(result, int):
                told.add(capture.id)
            else:
                assert isinstance(result, StorageUnavailableError), result
                refused.add(capture.id)
        assert len(told) < 5000
    return told, refused


async def test_a_full_disk_is_said_once_and_capture_goes_on_when_there_is_space(
    tmp_path: Path, events: list[Event]
) -> None:
    with tiny_disk(tmp_path / "small", "6m") as folder:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(2_000_000))
        store = await Store.open(folder, events.append)
        made = await store.endpoints.create(factories.draft())
        told, refused = await fill_up(store, made.id)
        for _ in range(3):
            _, more = await fill_up(store, made.id)
            refused |= more
        first = reasons(events)
        assert str(first[0]).startswith("The disk has ")
        assert first[1::2] == [None] * len(first[1::2])
        told = {summary.id for event in of_kind(events, Captured) for summary in event.summaries}
        ballast.unlink()
        await until(lambda: reasons(events)[-1] is None)
        told.add((await add(store, made.id)).id)
        await check_all_told_is_stored(folder, told, refused)
        assert store.captures.counts(made.id) == recount(folder)[made.id]
        await store.close()


async def test_a_disk_that_filled_up_since_it_was_measured_stays_full(
    tmp_path: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small write still succeeds there: SQLite's log has room for it."""
    monkeypatch.setattr(disk_reserve, "MEASURE_S", 600.0)
    with tiny_disk(tmp_path / "small", "6m") as folder:
        store = await Store.open(folder, events.append)
        made = await store.endpoints.create(factories.draft())
        for _ in range(4):
            await add(store, made.id, bytes(100_000))
        ballast = folder / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4_096)):
                pass
        with pytest.raises(StorageUnavailableError, match=r"The disk is full\."):
            await add(store, made.id, bytes(800_000))
        await store.endpoints.update(made.id, factories.draft(name="renamed"))
        with pytest.raises(StorageUnavailableError):
            await add(store, made.id)
        assert len(reasons(events)) == 1
        ballast.unlink()
        await until(lambda: reasons(events)[1:] == [None])
        await add(store, made.id)
        await store.close()


async def test_a_file_that_may_not_grow_is_a_full_disk(
    store: Store, endpoint: Endpoint, events: list[Event], tmp_path: Path
) -> None:
    await add_many(store, endpoint.id, 20)
    before = {row[0] for row in query(tmp_path, "SELECT id FROM capture")}

    def limit(database: object, pages: int) -> None:
        database.connection().execute(f"PRAGMA max_page_count = {pages}")

    await store._writer.run(lambda database: limit(database, 1))  # SQLite makes that: what it has now
    told, refused = await fill_up(store, endpoint.id)
    with pytest.raises(StorageUnavailableError, match="disk is full"):
        await store.endpoints.update(endpoint.id, factories.draft(response=ResponseSettings(body="x" * 1_000_000)))
    assert reasons(events)[0] == "The disk is full. Free some space."
    await store._writer.run(lambda database: limit(database, 1_000_000))
    await until(lambda: reasons(events)[-1] is None)
    told.add((await add(store, endpoint.id)).id)
    await check_all_told_is_stored(tmp_path, before | told, refused)


LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


async def test_a_locked_database_is_said_once_and_over_by_itself(
    store: Store, endpoint: Endpoint, events: list[Event], tmp_path: Path
) -> None:
    locker = subprocess.Popen(  # noqa: ASYNC220 - it answers at once
        [sys.executable, "-c", LOCKER, tmp_path / "hookline.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert locker.stdout is not None
    assert locker.stdin is not None
    with locker:
        assert locker.stdout.readline() == b"locked\n"
        with pytest.raises(StorageUnavailableError, match="locked"):
            await add(store, endpoint.id)
        assert await store.captures.page(None) == []
        assert reasons(events) == ["Another program has locked the database. Close that program."]
        locker.stdin.close()
    await until(lambda: reasons(events)[1:] == [None])
    await add(store, endpoint.id)
    assert store.captures.counts(endpoint.id).total == 1


async def test_parts_of_a_body_that_cannot_be_dropped_while_it_is_locked_go_once_that_is_over(
    store: Store, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would take room until the next start."""
    monkeypatch.setattr(captures, "RETRY_S", 0.05)
    key = await store.captures.add_part(None, 0, bytes(PART_SIZE), endpoint_id=endpoint.id)
    with contextlib.closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)) as locker:
        locker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailableError):
            await store.captures.drop_parts(key)
        await asyncio.sleep(0.2)
    await until(lambda: query(tmp_path, "SELECT count(*) FROM capture_body") == [(0,)], 5)
    assert store.limits.arriving(key) == 0
    assert kept_bytes(tmp_path) == recount_bytes(tmp_path)


async def test_all_bodies_whose_parts_could_not_be_dropped_go_as_soon_as_one_can(
    store: Store, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred that broke off would else count towards the limits for minutes."""
    monkeypatch.setattr(captures, "RETRY_S", 0.5)
    keys = [await store.captures.add_part(None, 0, b"part", endpoint_id=endpoint.id) for _ in range(20)]
    with contextlib.closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)) as locker:
        locker.execute("BEGIN IMMEDIATE")
        dropped = await asyncio.gather(*map(store.captures.drop_parts, keys), return_exceptions=True)
    assert {type(error) for error in dropped} == {StorageUnavailableError}
    await until(lambda: query(tmp_path, "SELECT count(*) FROM capture_body") == [(0,)], 3)
    assert not any(map(store.limits.arriving, keys))


async def test_a_lock_cuts_no_response(tmp_path: Path) -> None:
    def told(event: Event) -> None:
        if isinstance(event, StorageTrouble) and event.reason is not None:
            locker.rollback()

    store = await Store.open(tmp_path, told)
    endpoint = await store.endpoints.create(factories.draft(forward_url="http://127.0.0.1:9/"))
    capture = factories.capture(endpoint_id=endpoint.id)
    await store.captures.add(capture, b"", targets=endpoint.targets)
    (delivery,) = await store.deliveries.of_capture(capture.id)
    attempt, body = factories.attempt(delivery, response_size=50_000), bytes(50_000)
    after = factories.after(delivery, attempt, DeliveryState.DELIVERED)
    await store.retention.stop()  # its first step must not meet the lock before the result does
    with contextlib.closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)) as locker:
        locker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailableError):
            await store.deliveries.finish(after, [(attempt, body)])
        await store.deliveries.finish(after, [(attempt, body)])
    assert await store.deliveries.response_body(delivery.id, 1) == body
    await store.close()


@pytest.mark.parametrize("full", [False, True])
async def test_what_could_not_be_stored_is_not_kept_in_memory(
    store: Store, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    monkeypatch.setattr(writer_module, "BUSY_S", 0.0)
    gc.collect()
    gc.disable()
    try:
        with contextlib.ExitStack() as trouble:
            if full:
                monkeypatch.setattr(disk_reserve, "MEASURE_S", 0.0)
                monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=2**40, used=2**40, free=0))
            else:
                locker = trouble.enter_context(
                    contextlib.closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None))
                )
                locker.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageUnavailableError):
                await add(store, endpoint.id)
            with pytest.raises(StorageUnavailableError):
                await store.captures.add_part(None, 0, b"part")
        await until(lambda: not any(isinstance(one, StorageUnavailableError) for one in gc.get_objects()), 5)
    finally:
        gc.enable()


@pytest.mark.parametrize("deed", ["deleted", "moved", "replaced", "log deleted"])
async def test_a_database_that_is_gone_is_trouble(
    store: Store, endpoint: Endpoint, events: list[Event], tmp_path: Path, deed: str
) -> None:
    await add(store, endpoint.id)
    file, aside = tmp_path / "hookline.db", tmp_path / "aside.db"
    if deed == "log deleted":
        (tmp_path / "hookline.db-wal").unlink()
    elif deed == "deleted":
        file.unlink()
    else:
        file.rename(aside)
        if deed == "replaced":
            file.write_bytes(b"")
    with pytest.raises(StorageUnavailableError, match="moved, replaced or deleted"):
        await add(store, endpoint.id)
    assert len({str(reason).partition(" What could")[0] for reason in reasons(events)}) == 1
    if deed == "moved":
        aside.rename(file)
        await until(lambda: reasons(events)[1:] == [None])
        await add(store, endpoint.id)
        assert query(tmp_path, "SELECT count(*) FROM capture") == [(2,)]


async def test_a_header_that_cannot_be_read_is_trouble(
    store: Store, endpoint: Endpoint, events: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: FileWatch) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FileWatch, "_header", unreadable)
        os.utime(tmp_path / "hookline.db")
        with pytest.raises(StorageUnavailableError, match="cannot be reached: Input/output error"):
            await add(store, endpoint.id)
    await until(lambda: reasons(events)[-1:] == [None])
    await add(store, endpoint.id)
    assert query(tmp_path, "SELECT count(*) FROM capture") == [(1,)]


async def test_a_refused_endpoint_is_not_there(
    store: Store, events: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hookline.db").rename(tmp_path / "aside.db")
    with pytest.raises(StorageUnavailableError):
        await store.endpoints.create(factories.draft())
    assert store.endpoints.all() == ()


async def test_a_bug_of_ours_reaches_the_caller_and_nobody_else(store: Store, endpoint: Endpoint) -> None:
    def broken(database: object) -> None:
        database.connection().execute("INSERT INTO capture_body VALUES (1, x'00')")
        raise ZeroDivisionError

    results = await asyncio.gather(
        add(store, endpoint.id), store._writer.run(broken), add(store, endpoint.id), return_exceptions=True
    )
    assert isinstance(results[1], ZeroDivisionError)
    assert store.captures.counts(endpoint.id).total == 2
    assert await store._readers.run(
        lambda database: database.connection().execute("SELECT count(*) FROM capture_body").fetchone()
    ) == (2,)


async def test_answer_times_survive_trouble(
    store: Store, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.captures._response_times, "delay_s", 0.05)
    capture = await add(store, endpoint.id)
    with contextlib.closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.captures.responded(capture.seq, 4.5)
        store.captures._response_times.flush()
        with pytest.raises(StorageUnavailableError):
            await add(store, endpoint.id)
        other.execute("ROLLBACK")
    await until(lambda: query(tmp_path, "SELECT count(*) FROM capture_response") == [(1,)])
    assert (await store.captures.page(None))[0].response_ms == 4.5

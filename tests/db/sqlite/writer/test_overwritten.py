"""Another program overwrites, cuts or replaces the database while it is in use: from that moment nobody is told that a
request is stored."""

from __future__ import annotations

import asyncio
import filecmp
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import pytest
from peewee import SqliteDatabase

from app.core.errors import StorageUnavailableError
from app.core.events import Captured, DatabaseDamaged, Event, StorageTrouble
from app.core.model import Capture, DeliveryState
from app.core.target import PausedBy, TargetDraft
from app.db.sqlite import store as store_module
from app.db.sqlite import writer as writer_module
from app.db.sqlite.rescue import Known, RequestSaver
from app.db.sqlite.restore import restore
from app.db.sqlite.store import Store
from tests import damage, factories
from tests.db.helpers import add, add_many, check_totals, files, kept_bytes, of_kind, query, recount, recount_bytes
from tests.stored import store_request
from tests.support import until

Harm = Callable[[Path, Path], None]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "PROBE_S", 0.05)
    monkeypatch.setattr("app.db.sqlite.damage.DELAY_S", 0.0)
    monkeypatch.setattr("app.db.sqlite.damage.PAUSE_S", 0.0)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder with 300 requests, all of them in the database itself."""
    folder = tmp_path / "data"
    folder.mkdir()
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, 300, body=b"x" * 3_000)
    await store.close()
    return folder


@pytest.fixture
async def other(tmp_path: Path) -> Path:
    """Another store's database."""
    folder = tmp_path / "other"
    folder.mkdir()
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft(slug="other"))
    await add_many(store, endpoint.id, 400, body=b"y" * 3_000)
    await store.close()
    return folder / "hookline.db"


def overwrite_beginning(path: Path, _: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(10_000))


def overwrite_all(path: Path, _: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))


def overwrite_all_but_the_header(path: Path, _: Path) -> None:
    """All but the header: only what is stored tells."""
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))


def copy_over(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)


def cut(path: Path, _: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _: Path) -> None:
    os.truncate(path, 0)


HARMS = [overwrite_beginning, overwrite_all, overwrite_all_but_the_header, copy_over, cut, empty]


def reasons(events: list[Event]) -> list[str | None]:
    return [event.reason for event in of_kind(events, StorageTrouble)]


@pytest.mark.parametrize("harm", HARMS)
async def test_from_then_on_nothing_is_acknowledged(folder: Path, other: Path, events: list[Event], harm: Harm) -> None:
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    acknowledged = 0

    async def sender() -> None:
        nonlocal acknowledged
        while True:
            await add(store, endpoint.id)
            acknowledged += 1

    senders = [asyncio.create_task(sender()) for _ in range(8)]
    await until(lambda: acknowledged > 100)
    harm(folder / "hookline.db", other)
    # What the writer has committed before this is on its way to the senders.
    await asyncio.sleep(0)
    results = await asyncio.gather(*senders, return_exceptions=True)
    assert {type(result) for result in results} == {StorageUnavailableError}
    at_harm = acknowledged
    for _ in range(3):
        with pytest.raises(StorageUnavailableError, match=r"hookline\.db (was|is) .* while Hookline was using it"):
            await add(store, endpoint.id)
    assert acknowledged == at_harm
    await until(lambda: reasons(events) != [])
    assert "hookline restore FILE" in str(reasons(events)[0])
    await store.close()


@pytest.mark.parametrize("harm", HARMS)
async def test_it_is_noticed_while_nothing_is_captured(
    folder: Path, other: Path, events: list[Event], harm: Harm
) -> None:
    store = await Store.open(folder, events.append)
    harm(folder / "hookline.db", other)
    await until(lambda: reasons(events) != [])
    assert "while Hookline was using it" in str(reasons(events)[0])
    await store.close()


@pytest.mark.parametrize("harm", HARMS)
async def test_it_is_noticed_although_it_happened_during_a_commit(
    folder: Path, other: Path, events: list[Event], harm: Harm
) -> None:
    """When the writer moves what is in its log into the file, which changes it too."""
    store = await Store.open(folder, events.append)
    with suppress(StorageUnavailableError):
        await store._writer.run(lambda _: harm(folder / "hookline.db", other))
    await until(lambda: reasons(events) != [], timeout=5)
    assert "while Hookline was using it" in str(reasons(events)[0])
    await store.close()


async def test_a_database_that_was_copied_over_it_is_not_mixed_with_it(folder: Path, other: Path) -> None:
    store = await Store.open(folder, lambda _: None)
    (endpoint,) = store.endpoints.all()
    await add_many(store, endpoint.id, 50)
    copy_over(folder / "hookline.db", other)
    with pytest.raises(StorageUnavailableError):
        await add(store, endpoint.id)
    await store.close()
    assert filecmp.cmp(folder / "hookline.db", other, shallow=False)
    again = await Store.open(folder, lambda _: None)
    assert [one.slug for one in again.endpoints.all()] == ["other"]
    await again.close()
    assert query(folder, "PRAGMA integrity_check") == [("ok",)]


async def test_it_works_again_once_the_database_is_put_back(folder: Path, other: Path, events: list[Event]) -> None:
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    kept = shutil.copyfile(folder / "hookline.db", folder.parent / "kept.db")
    await add(store, endpoint.id)
    copy_over(folder / "hookline.db", other)
    with pytest.raises(StorageUnavailableError):
        await add(store, endpoint.id)
    shutil.copyfile(kept, folder / "hookline.db")
    await until(lambda: reasons(events)[-1:] == [None])
    await add(store, endpoint.id)
    await store.close()
    assert query(folder, "SELECT count(*) FROM capture") == [(302,)]
    assert query(folder, "PRAGMA integrity_check") == [("ok",)]


async def test_a_program_that_writes_as_sqlite_does_stops_nothing(
    folder: Path, events: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    await add(store, endpoint.id)
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await add(store, endpoint.id)
    assert reasons(events) == []
    assert "another program has written to" in caplog.text
    await until(lambda: store.integrity.finished)
    assert of_kind(events, DatabaseDamaged) == []
    await store.close()


async def test_a_reader_that_finds_damage_has_it_looked_at(folder: Path, events: list[Event]) -> None:
    """One page in the middle, under the file system: nothing tells but reading it. What is new can be read, so captures
    go on."""
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'capture_body' AND pagetype = 'leaf'"
        ).fetchall()
    with (folder / "hookline.db").open("r+b") as file:
        for (page,) in pages[:100]:
            file.seek((page - 1) * 4096)
            file.write(bytes(4096))
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    oldest = (await store.captures.page(None, limit=500))[-1]
    with pytest.raises(StorageUnavailableError):
        await store.captures.body(oldest.id)
    await until(lambda: of_kind(events, DatabaseDamaged) != [])
    await add(store, endpoint.id)
    assert reasons(events) == []
    await store.close()


async def saved(folder: Path, events: list[Event]) -> Path:
    """Where what could be read was saved; the trouble says so."""
    await until(lambda: any("was saved as" in str(reason) for reason in reasons(events)))
    (name,) = [name for name in files(folder) if ".rescued-" in name and not name.endswith(".part")]
    file = folder / name
    assert str(file) in str(reasons(events)[-1])
    return file


async def requests_in(file: Path) -> list[tuple[str, bytes]]:
    """The requests in a database with their bodies, oldest first, after a restore into a folder of its own."""
    folder = file.parent.parent / "restored"
    restore(folder, file, lambda *_: None, lambda _: None)
    assert kept_bytes(folder) == recount_bytes(folder)
    store = await Store.open(folder, lambda _: None)
    page = await store.captures.page(None, limit=1_000)
    found = [(one.id, await store.captures.body(one.id)) for one in page]
    await store.close()
    return found[::-1]


@pytest.mark.parametrize("name", ["hookline.db", "hookline.db-wal"])
@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted there")
async def test_all_of_a_deleted_database_is_saved(folder: Path, events: list[Event], name: str) -> None:
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    added = await add(store, endpoint.id, b"only in the log")
    (folder / name).unlink()
    found = await requests_in(await saved(folder, events))
    assert len(found) == 301
    assert found[-1] == (added.id, b"only in the log")
    await store.close()


@pytest.mark.parametrize("harm", HARMS)
async def test_the_newest_requests_of_an_overwritten_database_are_saved(
    folder: Path, other: Path, events: list[Event], harm: Harm
) -> None:
    """Those that are in the log with the pages above them."""
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    added = [await add(store, endpoint.id, b"%d" % number) for number in range(20)]
    await store.captures.page(None)
    harm(folder / "hookline.db", other)
    found = await requests_in(await saved(folder, events))
    assert found[-20:] == [(one.id, b"%d" % number) for number, one in enumerate(added)]
    await store.close()


@pytest.mark.parametrize("harm", [overwrite_all, lambda path, _: path.unlink()], ids=["overwritten", "deleted"])
@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted there")
async def test_a_stop_waits_only_a_moment_for_what_is_saved(
    folder: Path, other: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch, harm: Harm
) -> None:
    """Many gibibytes take minutes to copy and to check. What was saved is whole: the endpoints at least."""
    monkeypatch.setattr(store_module, "COPY_STOP_S", 0.0)
    monkeypatch.setattr(store_module, "SAVE_STOP_S", 0.0)
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    await add(store, endpoint.id)
    store.begin_shutdown()
    harm(folder / "hookline.db", other)
    with pytest.raises(StorageUnavailableError):
        await add(store, endpoint.id)
    await store.close()
    assert await requests_in(await saved(folder, events)) == []
    assert str(reasons(events)[-1]).endswith("Hookline was stopped before it had looked for more.")


async def forwarded(store: Store) -> list[Capture]:
    """Twenty requests that wait for a paused target; the last has a star and a note."""
    (endpoint,) = store.endpoints.all()
    target = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/"))
    await store.targets.pause(target.id)
    added = []
    for number in range(20):
        capture = factories.capture(b"%d" % number, endpoint_id=endpoint.id)
        added.append(await store_request(store.captures, capture, b"%d" % number, [target]))
    await store.captures.star([added[-1].id])
    await store.captures.set_note(added[-1].id, "Charged twice")
    return added


async def test_what_waits_to_be_forwarded_is_saved_and_a_pause_stays(
    folder: Path, other: Path, events: list[Event]
) -> None:
    store = await Store.open(folder, events.append)
    added = await forwarded(store)
    overwrite_all(folder / "hookline.db", other)
    restored = folder.parent / "restored"
    restore(restored, await saved(folder, events), lambda *_: None, lambda _: None)
    await store.close()
    assert kept_bytes(restored) == recount_bytes(restored)
    again = await Store.open(restored, lambda _: None)
    (endpoint,) = again.endpoints.all()
    (target,) = endpoint.targets
    assert target.paused is PausedBy.USER
    assert (await again.deliveries.target_counts())[target.id].queued == 20
    found = await again.captures.get(added[-1].id)
    assert found is not None
    assert (found.delivery, found.starred, found.note) == (DeliveryState.QUEUED, True, "Charged twice")
    await again.close()


async def test_requests_whose_deliveries_cannot_be_read_are_counted_and_wait_for_nothing(folder: Path) -> None:
    store = await Store.open(folder, lambda _: None)
    added = await forwarded(store)
    known = Known(store.endpoints.all(), store.account.plan, added[-1].seq)
    await store.close()
    damage.make_unreadable(folder, "delivery")
    saver = RequestSaver(folder / "saved.db", known, lambda: False)
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        assert not saver.step(connection, 1_000)
    saver.close()
    assert (
        saver.remarks == " 20 of them were to be forwarded, which could not be read: after a restore that is not done."
    )
    with closing(sqlite3.connect(folder / "saved.db")) as connection:
        assert connection.execute("SELECT delivery, count(*) FROM capture GROUP BY delivery").fetchall() == [("n", 320)]


async def test_a_request_that_is_not_what_was_received_is_not_saved(folder: Path) -> None:
    store = await Store.open(folder, lambda _: None)
    (endpoint,) = store.endpoints.all()
    added = [await add(store, endpoint.id, b"%d" % number) for number in range(3)]
    known = Known(store.endpoints.all(), store.account.plan, added[-1].seq)
    await store.close()
    other = (sha256(b"other").hexdigest(), added[1].id)
    saver = RequestSaver(folder / "saved.db", known, lambda: False)
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        connection.execute("UPDATE capture SET sha256 = ? WHERE id = ?", other)
        assert not saver.step(connection, 1_000)
    saver.close()
    found = await requests_in(folder / "saved.db")
    assert len(found) == 302
    assert found[-2:] == [(added[0].id, b"0"), (added[2].id, b"2")]


async def test_what_was_refused_and_is_stored_is_counted_once_storing_works_again(
    folder: Path, other: Path, events: list[Event]
) -> None:
    store = await Store.open(folder, events.append)
    (endpoint,) = store.endpoints.all()
    await add(store, endpoint.id)
    kept = shutil.copyfile(folder / "hookline.db", folder.parent / "kept.db")

    held, queued = threading.Event(), threading.Event()

    def hold(_: SqliteDatabase) -> None:
        held.set()
        queued.wait()

    holding = asyncio.ensure_future(store._writer.run(hold))
    await until(held.is_set)
    harming = asyncio.ensure_future(store._writer.run(lambda _: copy_over(folder / "hookline.db", other)))
    adding = asyncio.ensure_future(add(store, endpoint.id))
    await until(store._writer._queue.qsize)
    queued.set()  # only now: both were queued in one turn of the loop, and are in the same commit
    await holding
    for refused in (harming, adding):
        with pytest.raises(StorageUnavailableError):
            await refused
    shutil.copyfile(kept, folder / "hookline.db")
    await until(lambda: reasons(events)[-1:] == [None])
    await until(lambda: {endpoint.id: store.captures.counts(endpoint.id)} == recount(folder))
    assert store.captures.counts(endpoint.id).total == 302
    check_totals(store, folder)
    assert sum(len(event.summaries) for event in of_kind(events, Captured)) == 2
    await store.close()

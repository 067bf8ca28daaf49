"""The disk reserve: captures leave it alone however they come, what is no capture goes on, and what is deleted is given
back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from app.core.errors import NoRoomError, StorageUnavailableError
from app.core.events import Event, StorageTrouble
from app.core.model import PART_SIZE, DeliveryState, Endpoint
from app.core.sizes import GIB, MIB
from app.core.target import TargetDraft
from app.data_folder.database_files import RESERVE_NAME, reserve_size
from app.data_folder.folder_lock import make_room_to_start
from app.db.sqlite import disk_reserve, retention
from app.db.sqlite import writer as writer_module
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import BODY, add, add_many, files, of_kind, query
from tests.support import until


class Usage(NamedTuple):
    total: int
    used: int
    free: int


class Disk:
    """A disk of 100 GiB that says how much of it is free; what the data folder holds comes off."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.room = folder, 10 * GIB

    def free(self) -> int:
        held = sum(file.stat().st_size for file in self.folder.iterdir() if not file.name.endswith("-shm"))
        return max(0, self.room - held)

    def usage(self, _: object) -> Usage:
        return Usage(100 * GIB, 0, self.free())


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", made.usage)
    monkeypatch.setattr(disk_reserve, "MEASURE_S", 0.0)
    monkeypatch.setattr(writer_module, "PROBE_S", 0.05)
    monkeypatch.setattr(retention, "SOON_S", 0.05)
    return made


@pytest.fixture
async def store(tmp_path: Path, events: list[Event], disk: Disk) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path, events.append, disk_reserve=lambda: 20 * MIB)
    yield opened
    await opened.close()


def reasons(events: list[Event]) -> list[str | None]:
    return [event.reason for event in of_kind(events, StorageTrouble)]


@pytest.mark.parametrize(
    ("wanted", "total", "kept"),
    [
        (256 * MIB, 5 * GIB, 256 * MIB),
        (GIB, 100 * GIB, GIB),
        (256 * MIB, GIB, GIB // 20),
        (16 * MIB, 4 * GIB, 16 * MIB),
    ],
)
def test_a_small_disk_keeps_five_per_cent_at_most(wanted: int, total: int, kept: int) -> None:
    assert reserve_size(wanted, total) == kept


async def test_captures_are_refused_below_the_reserve_and_all_else_goes_on(
    store: Store, endpoint: Endpoint, events: list[Event], disk: Disk
) -> None:
    kept = factories.capture(BODY, endpoint_id=endpoint.id)
    target = await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/"))
    await store.captures.add(kept, BODY, targets=[target])
    disk.room = 15 * MIB
    with pytest.raises(StorageUnavailableError, match=r"The disk has 1[45] MiB free, and capturing needs 3\d MiB\."):
        await add(store, endpoint.id)
    with pytest.raises(StorageUnavailableError):
        await store.captures.add_part(None, 0, bytes(PART_SIZE))
    assert len(reasons(events)) == 1
    (queued,) = await store.deliveries.of_capture(kept.id)
    made = factories.attempt(queued, response_size=PART_SIZE)
    await store.deliveries.finish(factories.after(queued, made, DeliveryState.DELIVERED), [(made, bytes(PART_SIZE))])
    (delivery,) = await store.deliveries.of_capture(kept.id)
    (attempt,) = await store.deliveries.attempts(queued.id)
    assert (delivery.state, attempt.response_size, attempt.response_truncated) == (DeliveryState.DELIVERED, 4096, True)
    assert len(await store.deliveries.response_body(queued.id, 1)) == 4096
    await store.captures.star([kept.id])
    await store.captures.set_note(kept.id, "still possible")
    await store.endpoints.update(endpoint.id, factories.draft(name="renamed"))
    await store.captures.delete([kept.id])
    assert await store.captures.page(None) == []
    await store.retention.purge()
    disk.room = 10 * GIB
    await until(lambda: reasons(events)[1:] == [None])
    await add(store, endpoint.id)


async def test_a_disk_that_is_nearly_full_is_told_of_before_anybody_sends(
    store: Store, events: list[Event], disk: Disk, tmp_path: Path
) -> None:
    disk.room = 10 * MIB
    store.keep_reserve()
    await until(lambda: reasons(events))
    assert str(reasons(events)[0]).startswith("The disk has ")
    disk.room = 10 * GIB
    await until(lambda: reasons(events)[1:] == [None])
    assert (tmp_path / RESERVE_NAME).stat().st_size == 16 * MIB


async def test_a_group_of_large_bodies_never_eats_the_reserve(store: Store, endpoint: Endpoint, disk: Disk) -> None:
    """What fits is stored, what does not is refused; half of the room is the log's."""
    disk.room = 40 * MIB
    body = bytes(PART_SIZE)
    captures = [factories.capture(body, endpoint_id=endpoint.id, id=f"{number:032d}") for number in range(64)]
    results = await asyncio.gather(*(store.captures.add(one, body) for one in captures), return_exceptions=True)
    stored = sum(isinstance(result, int) for result in results)
    assert 4 <= stored <= 11
    assert {type(result) for result in results} == {int, NoRoomError}
    assert store.captures.counts(endpoint.id).total == stored
    assert disk.free() >= 20 * MIB
    await store._writer.checkpoint()
    assert disk.free() >= 20 * MIB


async def test_parts_of_a_body_never_eat_the_reserve(store: Store, endpoint: Endpoint, disk: Disk) -> None:
    disk.room = 40 * MIB
    stored: list[int] = []

    async def upload() -> None:
        for number in range(64):
            key = stored[0] if stored else None
            stored.append(await store.captures.add_part(key, number * PART_SIZE, bytes(PART_SIZE)))

    with pytest.raises(StorageUnavailableError):
        await upload()
    assert 4 <= len(stored) < 20
    assert disk.free() >= 20 * MIB


async def test_room_that_the_log_holds_twice_is_found(store: Store, endpoint: Endpoint, disk: Disk) -> None:
    await add_many(store, endpoint.id, 500)
    disk.room = disk.room - disk.free() + 20 * MIB + 100_000
    await add(store, endpoint.id)
    assert store.captures.counts(endpoint.id).total == 501


async def test_the_file_is_kept_once_the_program_stays_and_emptied_for_a_start(
    store: Store, endpoint: Endpoint, disk: Disk, tmp_path: Path
) -> None:
    await add(store, endpoint.id)
    assert not (tmp_path / RESERVE_NAME).exists()
    store.keep_reserve()
    await until((tmp_path / RESERVE_NAME).exists)
    await add(store, endpoint.id)
    assert (tmp_path / RESERVE_NAME).stat().st_size == 16 * MIB
    assert (tmp_path / RESERVE_NAME).stat().st_blocks * 512 >= 16 * MIB
    make_room_to_start(tmp_path)
    assert (tmp_path / RESERVE_NAME).stat().st_size == 16 * MIB
    disk.room = 0
    make_room_to_start(tmp_path)
    assert (tmp_path / RESERVE_NAME).stat().st_size == 0
    disk.room = 30 * MIB
    await store.close()
    assert (tmp_path / RESERVE_NAME).stat().st_size == 16 * MIB


async def test_a_start_without_room_or_file_deletes_the_search_index(disk: Disk, tmp_path: Path) -> None:
    for name in ("search.db", "search.db-wal", "hookline.db"):
        (tmp_path / name).write_bytes(b"x" * 5_000)
    disk.room = 0
    make_room_to_start(tmp_path)
    assert set(files(tmp_path)) == {"hookline.db"}


@pytest.mark.parametrize("way", ["requests", "all of an endpoint's", "endpoint"])
async def test_what_is_deleted_is_given_back_soon(
    store: Store, endpoint: Endpoint, disk: Disk, tmp_path: Path, way: str
) -> None:
    bodies = [await add(store, endpoint.id, bytes(100_000)) for _ in range(30)]
    await store._writer.checkpoint()
    file = tmp_path / "hookline.db"
    assert file.stat().st_size > 3_000_000
    if way == "requests":
        await store.captures.delete([capture.id for capture in bodies])
    elif way == "endpoint":
        await store.endpoints.delete(endpoint.id)
    else:
        await store.captures.clear(endpoint.id)
    await until(lambda: file.stat().st_size < 220_000)
    assert query(tmp_path, "PRAGMA freelist_count") == [(0,)]


async def test_what_is_deleted_while_somebody_reads_is_given_back_afterwards(
    store: Store, endpoint: Endpoint, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "READER_S", 0.05)
    bodies = [await add(store, endpoint.id, bytes(100_000)) for _ in range(30)]
    await store._writer.checkpoint()
    read, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(database: object) -> None:
        connection = database.connection()
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM capture").fetchone()
        loop.call_soon_threadsafe(read.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
        connection.execute("COMMIT")

    reading = asyncio.create_task(store._readers.run(slow), name="reading")
    await read.wait()
    await store.captures.delete([capture.id for capture in bodies])
    await until(lambda: query(tmp_path, "PRAGMA freelist_count") == [(0,)])
    assert (tmp_path / "hookline.db").stat().st_size > 3_000_000
    go_on.set()
    await reading
    await until(lambda: (tmp_path / "hookline.db").stat().st_size < 220_000)

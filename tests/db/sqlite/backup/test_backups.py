"""Backups of a store in use: complete, consistent, never half a file, and never in the way of captures."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from app.core.backup import Backup, BackupStep, Report
from app.core.errors import BackupError
from app.core.model import Endpoint
from app.db.sqlite import backups
from app.db.sqlite.backups import copy_database, part_of
from app.db.sqlite.damage import find_damage
from app.db.sqlite.store import Store
from tests import damage, factories
from tests.db.helpers import BODY, add, add_many
from tests.stored import store_request
from tests.support import until

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def stored(file: Path) -> set[str]:
    """The ids of all requests with a body in a database file, which is checked too."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return {row[0] for row in connection.execute("SELECT id FROM capture")}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def backup(store: Store, path: Path, *, overwrite: bool = False) -> Backup:
    """The backup once it has ended."""
    await store.backups.start(path, overwrite=overwrite)
    await store.backups.wait()
    assert store.backups.latest is not None
    return store.backups.latest


async def fill(store: Store, endpoint: Endpoint, mebibytes: int) -> None:
    """Store so much that a backup takes many steps."""
    for _ in range(mebibytes * 4):
        await add(store, endpoint.id, bytes(256 * KIB))


@asynccontextmanager
async def captures(store: Store, endpoint: Endpoint) -> AsyncIterator[list[str]]:
    """The ids of requests that are stored all the time, as they are acknowledged."""
    acknowledged: list[str] = []

    async def sender() -> None:
        while True:
            acknowledged.append((await add(store, endpoint.id)).id)

    senders = [asyncio.create_task(sender()) for _ in range(4)]
    try:
        yield acknowledged
    finally:
        for task in senders:
            task.cancel()
        await asyncio.gather(*senders, return_exceptions=True)


async def test_a_backup_is_one_complete_file_that_only_its_owner_can_read(
    store: Store, endpoint: Endpoint, target: Path
) -> None:
    captured = await add_many(store, endpoint.id, 50)
    done = await backup(store, target / "a.db")
    assert done == Backup(
        path=str(target / "a.db"),
        state="done",
        step="checking",
        done_bytes=done.size,
        total_bytes=done.size,
        size=(target / "a.db").stat().st_size,
    )
    assert stored(target / "a.db") == {one.id for one in captured}
    assert names(target) == ["a.db"]
    assert stat.S_IMODE((target / "a.db").stat().st_mode) == 0o600


async def test_a_backup_ends_under_constant_captures_and_holds_all_acknowledged_before(
    store: Store, endpoint: Endpoint, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, endpoint, 8)
    report, steps = store.backups._report, 0

    async with captures(store, endpoint) as acknowledged:

        def after_a_capture(step: BackupStep, done: int, total: int) -> None:
            """SQLite's backup begins anew if another connection has written since its last step."""
            nonlocal steps
            steps += 1
            count, end = len(acknowledged), time.monotonic() + 30
            while len(acknowledged) == count and time.monotonic() < end:
                time.sleep(0.001)
            report(step, done, total)

        monkeypatch.setattr(store.backups, "_report", after_a_capture)
        await until(lambda: len(acknowledged) > 50)
        # The copy begins only after this returns.
        await store.backups.start(target / "a.db")
        before = set(acknowledged)
        await store.backups.wait()
    assert store.backups.latest is not None
    assert store.backups.latest.state == "done"
    assert 8 < steps < 40
    assert before <= stored(target / "a.db")
    assert len(acknowledged) >= len(before) + steps


async def test_progress_is_told_in_bytes(
    store: Store, endpoint: Endpoint, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, endpoint, 8)
    seen: list[tuple[str, int, int]] = []
    report = store.backups._report

    def watched(step: BackupStep, done: int, total: int) -> None:
        seen.append((step, done, total))
        report(step, done, total)

    monkeypatch.setattr(store.backups, "_report", watched)
    size = (await backup(store, target / "a.db")).size
    copied = [done for step, done, _ in seen if step == "copying"]
    assert len(copied) > 5
    assert copied == sorted(copied)
    assert copied[-1] == size
    assert {total for _, _, total in seen} == {size}
    assert seen[-1][0] == "checking"


async def test_an_existing_file_is_replaced_only_on_request(store: Store, target: Path) -> None:
    (target / "a.db").write_text("mine")
    with pytest.raises(BackupError, match="exists already"):
        await store.backups.start(target / "a.db")
    assert (target / "a.db").read_text() == "mine"
    assert store.backups.latest is None
    assert (await backup(store, target / "a.db", overwrite=True)).state == "done"
    assert stored(target / "a.db") == set()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def make_device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no right to make a device")


def make_link(path: Path) -> None:
    path.with_name("mine.db").write_text("mine")
    path.symlink_to("mine.db")


@pytest.mark.skipif(sys.platform == "win32", reason="there are none of these")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_pipe, "a pipe"),
        (make_socket, "a socket"),
        (make_device, "a device"),
        (make_link, "a symbolic link"),
        (lambda path: path.symlink_to("gone"), "a symbolic link"),
        (Path.mkdir, "a folder"),
    ],
    ids=["pipe", "socket", "device", "link", "broken link", "folder"],
)
async def test_only_a_file_is_replaced(
    store: Store, target: Path, make: Callable[[Path], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(*arguments: object, **options: object) -> str | None:
        make(target / "later")
        return find_damage(*arguments, **options)  # type: ignore[arg-type]

    make(target / "a")
    before = (target / "a").lstat()
    for overwrite in (False, True):
        with pytest.raises(BackupError, match=rf"a is {kind}"):
            await store.backups.start(target / "a", overwrite=overwrite)
    after = (target / "a").lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime) == (before.st_ino, before.st_mode, before.st_mtime)
    monkeypatch.setattr(backups, "find_damage", taken)
    assert f"later is {kind}" in ((await backup(store, target / "later", overwrite=True)).problem or "")
    assert stat.S_IFMT((target / "later").lstat().st_mode) == stat.S_IFMT(before.st_mode)


async def test_a_name_that_is_taken_meanwhile_is_not_replaced(
    store: Store, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(*arguments: object, **options: object) -> str | None:
        (target / "a.db").write_text("mine")
        return find_damage(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(backups, "find_damage", taken)
    failed = await backup(store, target / "a.db")
    assert failed.state == "failed"
    assert "exists already" in (failed.problem or "")
    assert (target / "a.db").read_text() == "mine"
    assert not part_of(target / "a.db").exists()


async def test_a_damaged_copy_is_not_kept(store: Store, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaging(source: Path, target: Path, report: Report) -> tuple[int, int]:
        written = copy_database(source, target, report)
        with target.open("r+b") as file:
            file.seek(4096)
            file.write(b"x" * 8192)
        return written

    monkeypatch.setattr(backups, "copy_database", damaging)
    (target / "a.db").write_text("the last good one")
    failed = await backup(store, target / "a.db", overwrite=True)
    assert failed.state == "failed"
    assert "damaged" in (failed.problem or "")
    assert (target / "a.db").read_text() == "the last good one"
    assert not part_of(target / "a.db").exists()


async def test_damaged_bodies_are_counted_and_the_others_backed_up(
    store: Store, endpoint: Endpoint, target: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    captured = await add_many(store, endpoint.id, 5)
    body = bytes(2 * MIB)
    long = await store_request(store.captures, factories.capture(body, endpoint_id=endpoint.id), body)
    await store.captures.add_part(None, 0, bytes(MIB))  # of no request yet
    await add(store, endpoint.id, b"")
    assert (await backup(store, target / "a.db")).damaged_bodies == 0
    damage.change_body(tmp_path, captured[1].id)
    damage.lose_body(tmp_path, captured[3].id)
    damage.change_body(tmp_path, long.id, 1)
    done = await backup(store, target / "b.db")
    assert (done.state, done.damaged_bodies) == ("done", 3)
    assert len(stored(target / "b.db")) == 7
    assert f"3 bodies in it do not match the SHA-256 of what was received. The first request is {captured[1].id}." in (
        caplog.text
    )


async def test_a_file_that_another_program_put_in_place_is_not_taken_for_the_backup(
    store: Store, endpoint: Endpoint, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, endpoint, 4)
    report = store.backups._report

    def other_program(step: BackupStep, done: int, total: int) -> None:
        half = part_of(target / "a.db")
        if not half.with_suffix(".moved").exists():
            half.rename(half.with_suffix(".moved"))
            half.write_bytes(b"half of another backup")
        report(step, done, total)

    monkeypatch.setattr(store.backups, "_report", other_program)
    failed = await backup(store, target / "a.db")
    assert "Another program" in (failed.problem or "")
    assert not (target / "a.db").exists()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("missing/a.db", "There is no folder"),
        ("elsewhere", "is a folder. Name a file in it"),
        ("hookline.db", "would be lost with it"),
        ("../{data}/b.db", "would be lost with it"),
    ],
)
async def test_a_place_where_no_backup_can_be_is_refused(
    store: Store, target: Path, tmp_path: Path, where: str, message: str
) -> None:
    before = (tmp_path / "hookline.db").stat().st_ino
    with pytest.raises(BackupError, match=message):
        await store.backups.start(tmp_path / where.format(data=tmp_path.name), overwrite=True)
    assert (tmp_path / "hookline.db").stat().st_ino == before
    assert store.backups.latest is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_cannot_be_written_is_told_in_words(store: Store, target: Path) -> None:
    os.chmod(target, 0o500)
    try:
        failed = await backup(store, target / "a.db")
    finally:
        os.chmod(target, 0o700)
    assert failed.state == "failed"
    assert "Permission denied" in (failed.problem or "")


async def test_the_disk_must_have_room_for_the_copy_and_for_captures(tmp_path: Path, target: Path) -> None:
    reserve = 16 * MIB
    store = await Store.open(tmp_path, lambda _: None, disk_reserve=lambda: reserve)
    reserve = 1 << 60
    with pytest.raises(BackupError, match=r"The backup needs .* and the disk of .* has 0 B for it"):
        await store.backups.start(target / "a.db")
    await store.close()
    assert names(target) == []


async def test_captures_keep_the_last_of_the_disk(tmp_path: Path, target: Path) -> None:
    reserve = 16 * MIB
    store = await Store.open(tmp_path, lambda _: None, disk_reserve=lambda: reserve)
    await store.backups.start(target / "a.db")
    reserve = 1 << 60
    await store.backups.wait()
    assert store.backups.latest is not None
    assert "nearly full" in (store.backups.latest.problem or "")
    assert names(target) == []
    await store.close()


async def test_one_backup_at_a_time(store: Store, endpoint: Endpoint, target: Path) -> None:
    await fill(store, endpoint, 8)
    await store.backups.start(target / "a.db")
    with pytest.raises(BackupError, match=r"A backup to .*a\.db is being written"):
        await store.backups.start(target / "b.db")
    await store.backups.wait()
    assert (await backup(store, target / "b.db")).state == "done"


async def test_cancelling_leaves_nothing(store: Store, endpoint: Endpoint, target: Path) -> None:
    await fill(store, endpoint, 8)
    (target / "a.db").write_text("the last good one")
    await store.backups.start(target / "a.db", overwrite=True)
    ended = await store.backups.cancel()
    assert ended is not None
    assert ended.state == "cancelled"
    assert names(target) == ["a.db"]
    assert (target / "a.db").read_text() == "the last good one"
    assert (await backup(store, target / "a.db", overwrite=True)).state == "done"


async def test_closing_the_store_cancels_the_backup(tmp_path: Path, target: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await fill(store, endpoint, 8)
    await store.backups.start(target / "a.db")
    await store.close()
    assert store.backups.latest is not None
    assert store.backups.latest.state == "cancelled"
    assert names(target) == []


WRITER = """
import asyncio, os, resource, sys
from pathlib import Path
from app.db.sqlite import backups
from app.db.sqlite.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]), lambda _: None)
    if sys.argv[3] != "kill":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    report, calls = store.backups._report, 0

    def counted(*arguments):
        nonlocal calls
        calls += 1
        if sys.argv[3] == "kill" and calls == int(sys.argv[4]):
            os.kill(os.getpid(), 9)
        report(*arguments)

    store.backups._report = counted
    await store.backups.start(Path(sys.argv[2]), overwrite=True)
    await store.backups.wait()
    print(store.backups.latest.problem)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.close()

asyncio.run(main())
"""


def in_a_process(folder: Path, target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(target), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[4])


async def large_store(folder: Path) -> None:
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft())
    await fill(store, endpoint, 8)
    await add(store, endpoint.id, BODY)
    await store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("step", [1, 5, 9])
async def test_a_kill_leaves_the_last_backup(tmp_path: Path, target: Path, step: int) -> None:
    await large_store(tmp_path)
    (target / "a.db").write_text("the last good one")
    killed = await asyncio.to_thread(in_a_process, tmp_path, target / "a.db", "kill", str(step))
    assert killed.returncode == -9, killed.stderr
    assert (target / "a.db").read_text() == "the last good one"
    store = await Store.open(tmp_path, lambda _: None)
    assert (await backup(store, target / "a.db", overwrite=True)).state == "done"
    await store.close()
    assert names(target) == ["a.db"], "what the killed one left is in nobody's way"
    assert len(stored(target / "a.db")) == 33


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
async def test_the_part_that_a_killed_backup_left_is_removed_by_the_next_start_or_backup(
    tmp_path: Path, target: Path
) -> None:
    await large_store(tmp_path)
    for following in ("start", "backup"):
        killed = await asyncio.to_thread(in_a_process, tmp_path, target / "a.db", "kill", "5")
        assert killed.returncode == -9, killed.stderr
        assert ".a.db.part" in names(target)
        store = await Store.open(tmp_path, lambda _: None)
        if following == "start":
            store.backups.clean_up()
            await until(lambda: ".a.db.part" not in names(target))
        else:
            assert (await backup(store, target / "b.db")).state == "done"
        await store.close()
        assert names(target) == ["b.db"][: following == "backup"]
    assert not (tmp_path / "backup.part").exists()


async def test_nothing_else_is_removed(store: Store, target: Path, tmp_path: Path) -> None:
    """Whatever was written into the record."""
    (target / "mine.db").write_text("mine")
    (target / ".folder.part").mkdir()
    lines = [target / "mine.db", target / ".folder.part", target / "gone" / ".a.part", Path(".relative.part")]
    (tmp_path / "backup.part").write_bytes(b"".join(bytes(line) + b"\0" for line in lines))
    assert (await backup(store, target / "a.db")).state == "done"
    assert names(target) == [".folder.part", "a.db", "mine.db"]
    assert (tmp_path / "backup.part").read_bytes() == bytes(lines[2]) + b"\0", "its disk may not be connected"


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of a file")
async def test_a_disk_that_fills_up_is_told_in_words_and_leaves_nothing(tmp_path: Path, target: Path) -> None:
    await large_store(tmp_path)
    done = await asyncio.to_thread(in_a_process, tmp_path, target / "a.db", str(3 * MIB))
    assert done.returncode == 0, done.stderr
    assert "cannot be written. The disk" in done.stdout
    assert names(target) == []

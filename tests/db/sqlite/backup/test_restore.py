"""A backup in the place of the database: checked first, exchanged in one step, and nothing lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from app.core.backup import BackupContents, BackupStep
from app.core.clock import DAY_US, now_us
from app.core.errors import BackupError, FolderInUseError, HooklineError, MissingDatabaseError, NewerDatabaseError
from app.core.model import DeliveryState
from app.data_folder.database_files import require_database
from app.data_folder.folder_lock import lock_folder
from app.db.sqlite.restore import KEPT_NAME, STAGED_NAME, discard_staged, restore, restore_staged, stage
from app.db.sqlite.store import Store
from tests import damage, factories
from tests.db.helpers import add, add_many, query, write

ROOT = Path(__file__).parents[4]


def silent(step: BackupStep, done: int, total: int) -> None:
    """Nobody looks at the progress."""


def accept(contents: BackupContents) -> None:
    """The user agrees."""


async def make(folder: Path, name: str, count: int = 3) -> list[str]:
    """A store with one endpoint; the ids of its requests."""
    store = await Store.open(folder, lambda _: None)
    endpoint = await store.endpoints.create(factories.draft(name=name))
    ids = [one.id for one in await add_many(store, endpoint.id, count)]
    await store.close()
    return ids


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A data folder whose endpoint is called `old`."""
    folder = tmp_path / "data"
    folder.mkdir()
    await make(folder, "old")
    return folder


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    """A backup whose endpoint is called `new`."""
    folder = tmp_path / "other"
    folder.mkdir()
    await make(folder, "new", 5)
    return (folder / "hookline.db").rename(tmp_path / "backup.db")


def endpoint_in(file: Path) -> str:
    """The name of the only endpoint in a database, which is checked too."""
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return str(connection.execute("SELECT name FROM endpoint").fetchone()[0])


def contents_of(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of all files in a folder except the lock."""
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.name != "hookline.lock"]
    return {file.name: file.read_bytes() for file in files}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_the_backup_takes_the_place_of_the_database_which_is_kept(data: Path, backup: Path) -> None:
    (data / "search.db").write_bytes(b"of the old requests")
    before, accepted = contents_of(backup), list[BackupContents]()
    kept = restore(data, backup, silent, accepted.append)
    assert kept is not None
    assert kept.parent == data
    assert kept.name.startswith(KEPT_NAME)
    assert endpoint_in(data / "hookline.db") == "new"
    assert endpoint_in(kept) == "old"
    assert names(data) == sorted(["hookline.db", "hookline.lock", kept.name])
    assert stat.S_IMODE((data / "hookline.db").stat().st_mode) == 0o600
    (contents,) = accepted
    assert (contents.endpoints, contents.requests, contents.size) == (1, 5, len(before["backup.db"]))
    assert contents_of(backup) == before
    store = await Store.open(data, lambda _: None)
    assert [endpoint.name for endpoint in store.endpoints.all()] == ["new"]
    await store.close()


async def test_what_the_next_start_does_is_told(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    store = await Store.open(other, lambda _: None)
    endpoint = await store.endpoints.create(
        factories.draft(name="new", retention_days=2, forward_url="http://127.0.0.1:9/x")
    )
    queued = await add(store, endpoint.id, delivery=DeliveryState.QUEUED)
    await add(store, endpoint.id, received_at=now_us() - 3 * DAY_US)
    await store.close()
    accepted: list[BackupContents] = []
    restore(data, other / "hookline.db", silent, accepted.append)
    assert (accepted[0].requests, accepted[0].expired) == (2, 1)
    assert accepted[0].queued == query(data, "SELECT count(*) FROM delivery WHERE state = 'queued'")[0][0]
    assert accepted[0].newest_at == queued.received_at


async def test_into_a_folder_without_a_database(tmp_path: Path, backup: Path) -> None:
    assert restore(tmp_path / "fresh", backup, silent, accept) is None
    assert endpoint_in(tmp_path / "fresh" / "hookline.db") == "new"


async def test_a_log_beside_the_backup_is_part_of_it(data: Path, tmp_path: Path) -> None:
    """Of a database that was copied by hand, or is in use by another Hookline."""
    other = tmp_path / "other"
    other.mkdir()
    store = await Store.open(other, lambda _: None)
    await store.endpoints.create(factories.draft(name="new"))
    restore(data, other / "hookline.db", silent, accept)
    await store.close()
    assert endpoint_in(data / "hookline.db") == "new"


async def test_what_is_only_in_the_old_log_is_kept_too(data: Path, backup: Path, tmp_path: Path) -> None:
    """As after a kill."""
    store = await Store.open(data, lambda _: None)
    await add(store, store.endpoints.all()[0].id)
    killed = tmp_path / "killed"
    shutil.copytree(data, killed)
    await store.close()
    assert (killed / "hookline.db-wal").stat().st_size > 0
    kept = restore(killed, backup, silent, accept)
    assert kept is not None
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("SELECT count(*) FROM capture").fetchone() == (4,)
    assert endpoint_in(killed / "hookline.db") == "new"


async def test_a_damaged_database_is_kept_with_its_log(data: Path, backup: Path) -> None:
    (data / "hookline.db").write_bytes(b"no database at all" * 100)
    (data / "hookline.db-wal").write_bytes(b"nor a log")
    kept = restore(data, backup, silent, accept)
    assert kept is not None
    assert kept.read_bytes() == b"no database at all" * 100
    assert kept.with_name(kept.name + "-wal").read_bytes() == b"nor a log"
    assert endpoint_in(data / "hookline.db") == "new"


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def torn(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(8 * 4096)
        opened.write(b"\x55" * 3 * 4096)


def orphaned(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM endpoint")


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO migration VALUES ('9999_from_the_future', 0)")


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE other (x)")


def replaced_by_text(file: Path) -> None:
    file.write_text("Dear diary, " * 100)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def gone(file: Path) -> None:
    file.unlink()


def made_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def made_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncated, "damaged"),
        (torn, "damaged"),
        (orphaned, "damaged: row .* of .* belongs to none of endpoint"),
        (newer, "written by a newer Hookline"),
        (foreign, "not a database of Hookline"),
        (replaced_by_text, "not a database of Hookline"),
        (emptied, "not a database of Hookline"),
        (gone, "does not exist"),
        (made_a_folder, "is a folder"),
        pytest.param(
            made_a_pipe, "is a pipe", marks=pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes")
        ),
    ],
)
async def test_what_is_no_sound_backup_changes_nothing(
    data: Path, backup: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(backup)
    before = contents_of(data)
    with pytest.raises((BackupError, NewerDatabaseError), match=message):
        restore(data, backup, silent, accept)
    assert contents_of(data) == before


async def test_the_database_itself_is_no_backup(data: Path) -> None:
    with pytest.raises(BackupError, match="is the database in use"):
        restore(data, data / ".." / "data" / "hookline.db", silent, accept)


async def test_refused_while_a_hookline_has_the_folder(data: Path, backup: Path) -> None:
    lock = lock_folder(data)
    with pytest.raises(FolderInUseError, match=r"in use by Hookline \(process \d+\)\. Close it"):
        restore(data, backup, silent, accept)
    lock.release()
    assert endpoint_in(data / "hookline.db") == "old"


async def test_refused_while_another_program_has_the_database_open(
    data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.sqlite.restore.BUSY_S", 0.05)
    with closing(sqlite3.connect(data / "hookline.db")) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM capture").fetchone()
        write(data, "UPDATE endpoint SET description = 'only in the log'")
        with pytest.raises(BackupError, match="Another program has"):
            restore(data, backup, silent, accept)
    assert endpoint_in(data / "hookline.db") == "old"


@pytest.mark.parametrize("error", [HooklineError("No."), KeyboardInterrupt()])
async def test_declined_or_interrupted_nothing_changes(data: Path, backup: Path, error: BaseException) -> None:
    def decline(_: object, *__: object) -> NoReturn:
        raise error

    for report, confirm in ((silent, decline), (decline, accept)):
        with pytest.raises(type(error)):
            restore(data, backup, report, confirm)
        assert endpoint_in(data / "hookline.db") == "old"
        assert [name for name in names(data) if "restoring" in name or "replaced" in name] == []


async def test_an_interrupted_check_ends_at_once(data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.db.sqlite.damage._CHECK_OPERATIONS", 10)
    checks = 0

    def report(step: BackupStep, done: int, total: int) -> None:
        nonlocal checks
        checks += step == "checking"
        if checks == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(data, backup, report, accept)
    assert checks == 2
    assert names(data) == ["hookline.db", "hookline.lock"]


async def test_the_disk_must_have_room(data: Path, backup: Path) -> None:
    with pytest.raises(BackupError, match=r"Restoring needs .* Free some space; nothing was changed"):
        stage(data, backup, silent, spare=1 << 60)
    assert STAGED_NAME not in names(data)


def no_links(*_: object) -> NoReturn:
    raise OSError(1, "Operation not permitted")


async def test_without_hard_links_the_old_database_is_copied(
    data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", no_links)
    kept = restore(data, backup, silent, accept)
    assert kept is not None
    assert endpoint_in(kept) == "old"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def break_renames(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let renames to these names fail."""
    rename = Path.replace

    def replace(file: Path, to: Path) -> Path:
        if to.name in names:
            raise OSError(5, "Input/output error")
        return rename(file, to)

    monkeypatch.setattr(Path, "replace", replace)


def damaged_with_log(data: Path) -> None:
    (data / "hookline.db").write_bytes(b"no database at all" * 100)
    (data / "hookline.db-wal").write_bytes(b"a log")


@pytest.mark.parametrize("links", [True, False])
async def test_a_rename_that_fails_changes_nothing(
    data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Also where the old database was copied, and its log moved away before."""
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    damaged_with_log(data)
    before = contents_of(data)
    break_renames(monkeypatch, "hookline.db")
    with pytest.raises(BackupError, match=r"nothing was changed: Input/output error\. Check"):
        restore(data, backup, silent, accept)
    left = contents_of(data)
    left.pop("hookline.db-shm", None)  # which SQLite makes for whoever looks at the log
    assert left == before


async def test_a_log_that_cannot_be_moved_back_is_named(
    data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged_with_log(data)
    break_renames(monkeypatch, "hookline.db", "hookline.db-wal")
    with pytest.raises(BackupError) as raised:
        restore(data, backup, silent, accept)
    (log,) = (data / name for name in names(data) if name.endswith("-wal"))
    assert str(raised.value) == (
        f"{data / 'hookline.db'} was not replaced: Input/output error. It is the old database, but its log was moved"
        f" and could not be moved back. Before you start Hookline, rename {log} to hookline.db-wal."
    )
    assert log.read_bytes() == b"a log"
    assert (data / "hookline.db").read_bytes().startswith(b"no database")


async def test_a_folder_that_cannot_be_synced_is_told_with_what_is_in_it(
    data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_once_replaced(folder: Path) -> None:
        if not (folder / STAGED_NAME).exists():
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("app.db.sqlite.restore.sync_folder", fail_once_replaced)
    with pytest.raises(BackupError, match=r"is the backup now, and the previous database is .* Input/output error"):
        restore(data, backup, silent, accept)
    assert endpoint_in(data / "hookline.db") == "new"
    (kept,) = (data / name for name in names(data) if name.startswith(KEPT_NAME))
    assert endpoint_in(kept) == "old"


async def test_a_second_restore_in_the_same_second_keeps_both(data: Path, backup: Path) -> None:
    kept = [restore(data, backup, silent, accept) for _ in range(3)]
    assert len({path for path in kept if path is not None}) == 3
    assert endpoint_in(kept[0] or backup) == "old"


async def test_staged_while_the_store_is_open_and_swapped_later(data: Path, backup: Path) -> None:
    store = await Store.open(data, lambda _: None)
    contents = await asyncio.to_thread(stage, data, backup, silent)
    await add(store, store.endpoints.all()[0].id)
    await store.close()
    assert contents.requests == 5
    kept = restore_staged(data)
    assert kept is not None
    assert endpoint_in(data / "hookline.db") == "new"
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("SELECT count(*) FROM capture").fetchone() == (4,)


KILLED_EVERYWHERE = """
import os, shutil, signal, sqlite3, sys
from pathlib import Path
from app.db.sqlite.restore import KEPT_NAME, discard_staged, restore

EVENTS = ("open", "os.rename", "os.link", "os.remove", "os.chmod", "sqlite3.connect")
template, backup, place = map(Path, sys.argv[1:])

def restore_and_die(count):
    left = count
    def hook(event, arguments):
        nonlocal left
        if event in EVENTS:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    restore(place, backup, lambda *_: None, lambda _: None)
    os._exit(0)

def holds(file):
    connection = sqlite3.connect(file)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], file
        return connection.execute("SELECT name FROM endpoint").fetchone()[0], connection.execute(
            "SELECT count(*) FROM capture").fetchone()[0]
    finally:
        connection.close()

for count in range(1, 1000):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)
    child = os.fork()
    if child == 0:
        restore_and_die(count)
    _, status = os.waitpid(child, 0)
    discard_staged(place)
    current = holds(place / "hookline.db")
    assert current in (("old", 4), ("new", 5)), (count, current)
    kept = [holds(file) for file in place.glob(KEPT_NAME + "*") if not file.name.endswith(("-wal", "-shm"))]
    assert kept == ([] if current[0] == "old" else [("old", 4)]), (count, current, kept)
    assert not [file for file in place.iterdir() if "restoring" in file.name]
    print(current[0])
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0
        break
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is neither fork nor SIGKILL")
async def test_a_kill_at_any_moment_leaves_the_old_database_or_the_new(
    data: Path, backup: Path, tmp_path: Path
) -> None:
    store = await Store.open(data, lambda _: None)
    await add(store, store.endpoints.all()[0].id)
    shutil.copytree(data, tmp_path / "template")  # with a log that is in use
    await store.close()
    command = [sys.executable, "-c", KILLED_EVERYWHERE, *map(str, (tmp_path / "template", backup, tmp_path / "place"))]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    states = done.stdout.split()
    assert len(states) > 15
    assert states == sorted(states, reverse=True), "once it is the new one, it stays so"
    assert set(states) == {"old", "new"}


FULL_DISK = """
import resource, sys
from pathlib import Path
from app.core.errors import HooklineError
from app.db.sqlite.restore import restore

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    restore(Path(sys.argv[1]), Path(sys.argv[2]), lambda *_: None, lambda _: None)
except HooklineError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of a file")
async def test_a_disk_that_fills_up_is_told_in_words_and_changes_nothing(data: Path, backup: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(data), str(backup), "100000"]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot be restored, and nothing was changed. The disk" in done.stdout
    assert endpoint_in(data / "hookline.db") == "old"
    assert names(data) == ["hookline.db", "hookline.lock"]


async def test_a_database_that_is_missing_beside_one_that_was_replaced_is_told(data: Path, backup: Path) -> None:
    kept = restore(data, backup, silent, accept)
    (data / "hookline.db").unlink()
    assert kept is not None
    with pytest.raises(MissingDatabaseError, match=f"{kept.name} beside it shows"):
        require_database(data)


async def test_a_start_deletes_what_a_killed_restore_left(data: Path, backup: Path) -> None:
    stage(data, backup, silent)
    os.link(data / "hookline.db", data / f"{KEPT_NAME}20260101-000000")
    discard_staged(data)
    assert names(data) == ["hookline.db"]


def rewritten(old: str, new: str) -> str:
    """Change the statement that is stored as a table's."""
    return (
        "PRAGMA writable_schema = ON;"
        f" UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE sql LIKE '%{old}%';"
        " PRAGMA writable_schema = OFF"
    )


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "CREATE TRIGGER evil AFTER INSERT ON capture BEGIN DELETE FROM capture WHERE seq = NEW.seq; END",
            "the trigger evil is not Hookline's",
        ),
        ("CREATE VIEW shown AS SELECT * FROM capture", "the view shown is not Hookline's"),
        ("CREATE TABLE other (x)", "the table other is not Hookline's"),
        ("CREATE INDEX slow ON capture (abs(random()))", None),
        ("CREATE INDEX slow ON capture (upper(target))", "the index slow is not Hookline's"),
        ("ALTER TABLE capture ADD COLUMN extra TEXT", "the table capture was changed"),
        ("DROP TRIGGER capture_use_ends", "the trigger capture_use_ends is missing"),
        ("DROP INDEX capture_list; CREATE INDEX capture_list ON capture (id)", "the index capture_list was changed"),
        (rewritten("BETWEEN 1 AND 90", "BETWEEN 1 AND 91"), "the table endpoint was changed"),
    ],
)
async def test_a_backup_with_other_tables_or_triggers_changes_nothing(
    data: Path, backup: Path, statement: str, message: str | None
) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        if message is None:
            with pytest.raises(sqlite3.OperationalError):  # SQLite itself refuses it
                connection.executescript(statement)
            return
        connection.executescript(statement)
    before = contents_of(data)
    with pytest.raises(BackupError, match=f"was changed by another program: {message}"):
        restore(data, backup, silent, accept)
    assert contents_of(data) == before


async def test_damaged_bodies_are_counted_in_the_question(data: Path, backup: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    file = shutil.copyfile(backup, tmp_path / "copy" / "hookline.db")
    ids = [name for (name,) in query(file.parent, "SELECT id FROM capture")]
    damage.change_body(file.parent, ids[0])
    damage.lose_body(file.parent, ids[1])
    asked: list[BackupContents] = []
    restore(data, file, silent, asked.append)
    assert asked[0].damaged_bodies == 2
    assert endpoint_in(data / "hookline.db") == "new"

"""The data folder: one holder at a time, named; a damaged database is set aside, never overwritten."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import DataFolderError, FolderInUseError, MissingDatabaseError
from app.data_folder.database_files import require_database, set_aside
from app.data_folder.folder_lock import lock_folder, locked_by
from app.db.sqlite.store import Store
from tests.db.helpers import files

HOLDER = """
import sys
from pathlib import Path
from app.data_folder.folder_lock import lock_folder
lock = lock_folder(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    lock = lock_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert set(files(folder).values()) == {0o600}
    lock.release()
    lock.release()
    lock_folder(folder).release()


def test_a_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    command, here = [sys.executable, "-c", HOLDER, tmp_path], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=here) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for _ in range(2):
            with pytest.raises(FolderInUseError) as caught:
                lock_folder(tmp_path)
            assert caught.value.pid == holder.pid
            assert str(holder.pid) in str(caught.value)
        holder.kill()
    lock_folder(tmp_path).release()  # a killed holder holds nothing


def test_in_one_process_a_folder_is_held_once_too(tmp_path: Path) -> None:
    lock = lock_folder(tmp_path)
    with pytest.raises(FolderInUseError) as caught:
        lock_folder(tmp_path)
    assert caught.value.pid == os.getpid()
    lock.release()


@pytest.mark.skipif(sys.platform == "win32", reason="a locked file cannot be deleted there")
def test_a_deleted_lock_file_lets_no_second_program_in(tmp_path: Path) -> None:
    command, here = [sys.executable, "-c", HOLDER, tmp_path], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=here) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for _ in range(2):  # the second time there is a lock file again, another one
            (tmp_path / "hookline.lock").unlink(missing_ok=True)
            with pytest.raises(FolderInUseError, match=str(holder.pid)):
                lock_folder(tmp_path)
            assert locked_by(tmp_path) == (True, holder.pid)
        (tmp_path / "hookline.lock").unlink(missing_ok=True)
        assert locked_by(tmp_path) == (True, holder.pid)
        holder.kill()
    assert locked_by(tmp_path)[0] is False
    lock_folder(tmp_path).release()


@pytest.mark.skipif(sys.platform == "win32", reason="it locks in another way")
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOLCK, "is on a network disk whose lock service does not respond. Start that service"),
        (errno.EOPNOTSUPP, "is on a file system that cannot lock files, so two programs could write to it at once"),
        (errno.EIO, "cannot be used: Input/output error. Check its permissions and the disk"),
    ],
)
def test_a_file_system_without_locks_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(DataFolderError, match=text) as caught:
        lock_folder(tmp_path, "It is set by HOOKLINE_DATA_DIR.")
    assert not isinstance(caught.value, FolderInUseError)
    assert str(caught.value).startswith(f"{tmp_path} is on" if number != errno.EIO else "The data folder")
    assert str(caught.value).endswith("with --data-dir. It is set by HOOKLINE_DATA_DIR.")


def test_a_folder_that_cannot_be_used_does_not_stay_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exists(path: Path) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr("os.path.exists", exists)
        with pytest.raises(DataFolderError, match="Input/output error") as caught:
            lock_folder(tmp_path)
    lock_folder(tmp_path).release()
    assert caught.value.__cause__ is not None, "which keeps what the failed attempt had open"


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    for folder in (tmp_path / "data", tmp_path / "data" / "below"):
        with pytest.raises(DataFolderError, match="is a file, not a folder"):
            lock_folder(folder)


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(DataFolderError, match="cannot be used"):
        lock_folder(Path("/proc/hookline"))


async def test_setting_aside_keeps_every_byte_and_makes_room(tmp_path: Path) -> None:
    for round_ in (1, 2):
        (tmp_path / "hookline.db").write_bytes(b"broken %d" % round_)
        (tmp_path / "hookline.db-wal").write_bytes(b"log %d" % round_)
        aside = set_aside(tmp_path)
        assert aside.read_bytes() == b"broken %d" % round_
        assert aside.with_name(aside.name + "-wal").read_bytes() == b"log %d" % round_
        store = await Store.open(tmp_path, lambda _: None)
        await store.close()
    assert {"hookline.db.damaged-1", "hookline.db.damaged-2"} < set(files(tmp_path))


def test_there_must_be_something_to_set_aside(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="no database"):
        set_aside(tmp_path)


def test_a_folder_that_was_not_released_says_so_until_it_was_checked(tmp_path: Path) -> None:
    lock = lock_folder(tmp_path)
    assert not lock.was_unclean
    lock.release(unchecked=True)
    for unchecked in (True, False):
        lock = lock_folder(tmp_path)
        assert lock.was_unclean
        lock.release(unchecked=unchecked)
    lock = lock_folder(tmp_path)
    assert not lock.was_unclean
    lock.release()


@pytest.mark.parametrize("trace", ["search.db", "hookline.reserve", "hookline.db.before-4"])
def test_a_database_is_missing_where_another_file_shows_that_there_was_one(tmp_path: Path, trace: str) -> None:
    (tmp_path / trace).write_bytes(b"something")
    for _ in range(2):
        with pytest.raises(MissingDatabaseError, match=trace) as caught:
            require_database(tmp_path)
        assert str(tmp_path / "hookline.db") in str(caught.value)
        (tmp_path / "hookline.db").touch()  # an empty one is as good as none
    (tmp_path / "hookline.db").write_bytes(b"whatever it is, it is there")
    require_database(tmp_path)


def test_a_new_folder_needs_no_database_whatever_was_put_into_it_by_hand(tmp_path: Path) -> None:
    for name in ("settings.json", "api-token", "window.ini", "hookline.db.before-4.part", "hookline.lock"):
        (tmp_path / name).write_bytes(b"something")
    require_database(tmp_path)

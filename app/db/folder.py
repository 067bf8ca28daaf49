"""The data folder: held by one Hookline at a time, and a damaged database set aside without losing it."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from filelock import FileLock, Timeout

from app.core.errors import DataFolderError, FolderInUseError, MissingDatabaseError
from app.db.connection import FILE_NAME, companions
from app.db.disk_reserve import FILE_NAME as RESERVE_NAME
from app.db.disk_reserve import INDEX_NAME, make_room_to_start, size_of

log = logging.getLogger(__name__)

LOCK_NAME = "hookline.lock"
PID_NAME = "hookline.pid"


class FolderHold:
    """This process's hold on a data folder, until released.

    `was_left` says that the last one to hold it did not release it: it was killed, or the system went down.
    """

    def __init__(self, lock: FileLock, pid_file: Path, *, was_left: bool) -> None:
        self._lock, self._pid_file, self.was_left = lock, pid_file, was_left

    def release(self, *, unchecked: bool = False) -> None:
        """Let others have the folder, even one that can be written no more. Twice is harmless.

        `unchecked` leaves it to the next one to look for the damage of an unclean stop.
        """
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                if not unchecked:
                    self._pid_file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the process's end lets go of it anyway
                self._lock.release()


def hold_folder(folder: Path, note: str = "") -> FolderHold:
    """Create `folder` if need be (mode 0700) and hold it; FolderInUseError or DataFolderError when that cannot be.

    `note` says why it is this folder; it ends the message when the folder cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(folder / LOCK_NAME, timeout=0, mode=0o600, thread_local=False)
        lock.acquire()
        was_left = os.path.exists(folder / PID_NAME)
        make_room_to_start(folder)
        _write_pid(folder / PID_NAME)
    except Timeout:
        pid = _pid(folder / PID_NAME)
        who = f"process {pid}" if pid else "another process"
        message = f"{folder} is in use by Hookline ({who}). Close it, or choose another folder with --data-dir."
        raise FolderInUseError(message, folder, pid) from None
    except OSError as error:
        raise DataFolderError(
            f"The data folder {folder} cannot be used: {error.strerror or error}. Check its permissions and the disk,"
            f" or choose another with --data-dir.{note and ' '}{note}",
            folder,
        ) from error
    return FolderHold(lock, folder / PID_NAME, was_left=was_left)


def require_database(folder: Path) -> None:
    """MissingDatabaseError when there is no database, though other files are here that only a used folder has.

    Settings, token and window geometry are none: they may be put into a new folder by hand. A small store has no
    search index, but each program that captured has left its reserve file.
    """
    path = folder / FILE_NAME
    if size_of(path):
        return
    known = [folder / INDEX_NAME, folder / RESERVE_NAME, *sorted(folder.glob(f"{FILE_NAME}.before-*[0-9]"))]
    traces = [file.name for file in known if size_of(file) is not None]
    if traces and not size_of(companions(path)[0]):
        beside = f"{traces[0]} beside it shows" if len(traces) == 1 else f"{' and '.join(traces[:2])} beside it show"
        raise MissingDatabaseError(
            f"{path} is missing, but {beside} that there was one. Put it back, or start with a new, empty database.",
            folder,
        )


def set_aside(folder: Path) -> Path:
    """Rename the database and its companions to names not yet taken; the database's new path.

    DataFolderError when there is none, or it cannot be renamed.
    """
    path = folder / FILE_NAME
    files = [file for file in (path, *companions(path)) if file.exists()]
    if not files:
        raise DataFolderError(f"There is no database in {folder} to move aside.", folder)
    number = 1
    while any(file.exists() for file in _aside(path, number)):
        number += 1
    target, *_ = _aside(path, number)
    try:
        # The database last: while it is at its place, an attempt that broke off can be made again.
        for file in reversed(files):
            file.rename(target.with_name(target.name + file.name.removeprefix(FILE_NAME)))
    except OSError as error:
        raise DataFolderError(
            f"{path} cannot be moved aside: {error.strerror}. Check its permissions.", folder
        ) from error
    return target


def _aside(path: Path, number: int) -> tuple[Path, ...]:
    target = path.with_name(f"{path.name}.damaged-{number}")
    return target, *companions(target)


def _write_pid(file: Path) -> None:
    """Say who holds the folder. That is for a message alone, so a full disk keeps nobody from starting."""
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, str(os.getpid()).encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        log.info("%s cannot be written: %s", file, error.strerror)


def _pid(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return None

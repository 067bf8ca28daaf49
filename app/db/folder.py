"""The data folder: held by one Hookline at a time, and a damaged database set aside without losing it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from filelock import FileLock, Timeout

from app.core.errors import DataFolderError, FolderInUseError
from app.db.connection import FILE_NAME, companions
from app.db.disk_reserve import make_room_to_start

LOCK_NAME = "hookline.lock"
PID_NAME = "hookline.pid"


class FolderHold:
    """This process's hold on a data folder, until released."""

    def __init__(self, lock: FileLock, pid_file: Path) -> None:
        self._lock, self._pid_file = lock, pid_file

    def release(self) -> None:
        """Let others have the folder. Twice is harmless."""
        if self._lock.is_locked:
            self._pid_file.unlink(missing_ok=True)
            self._lock.release()


def hold_folder(folder: Path, note: str = "") -> FolderHold:
    """Create `folder` if need be (mode 0700) and hold it; FolderInUseError or DataFolderError when that cannot be.

    `note` says why it is this folder; it ends the message when the folder cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(folder / LOCK_NAME, timeout=0, mode=0o600, thread_local=False)
        lock.acquire()
        try:
            make_room_to_start(folder)
            _write_pid(folder / PID_NAME)
        except BaseException:
            lock.release()
            raise
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
    return FolderHold(lock, folder / PID_NAME)


def set_aside(folder: Path) -> Path:
    """Rename the database and its companions to names not yet taken; the database's new path.

    DataFolderError when there is none, or it cannot be renamed.
    """
    path = folder / FILE_NAME
    files = [file for file in (path, *companions(path)) if file.exists()]
    if not files:
        raise DataFolderError(f"There is no database in {folder} to set aside.", folder)
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
            f"{path} cannot be set aside: {error.strerror}. Check its permissions.", folder
        ) from error
    return target


def _aside(path: Path, number: int) -> tuple[Path, ...]:
    target = path.with_name(f"{path.name}.damaged-{number}")
    return target, *companions(target)


def _write_pid(file: Path) -> None:
    descriptor = os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, str(os.getpid()).encode())
    finally:
        os.close(descriptor)


def _pid(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return None

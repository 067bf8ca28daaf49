"""The data folder: locked by one Hookline at a time."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
from pathlib import Path

from filelock import FileLock, Timeout

from app.core.errors import DataFolderError, FolderInUseError
from app.data_folder.database_files import INDEX_NAME, START_MIN_FREE, empty_for_small_file, free_bytes

log = logging.getLogger(__name__)

_LOCK_NAME = "hookline.lock"
_PID_NAME = "hookline.pid"

_NO_LOCKS = {
    errno.ENOLCK: "is on a network disk whose lock service does not respond. Start that service (on NFS: lockd)",
    errno.EOPNOTSUPP: "is on a file system that cannot lock files, so two programs could write to it at once",
}


class FolderLock:
    """This process's lock on a data folder, until released.

    `was_unclean` says that the last process did not release its lock: it was killed, or the system went down.
    """

    def __init__(self, lock: FileLock, descriptor: int | None, pid_file: Path, *, was_unclean: bool) -> None:
        self._lock, self._descriptor, self._pid_file, self.was_unclean = lock, descriptor, pid_file, was_unclean

    def release(self, *, unchecked: bool = False) -> None:
        """Release the lock, even if the folder can no longer be written. Twice is harmless.

        With `unchecked`, the next start still checks for damage from an unclean stop.
        """
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                if not unchecked:
                    self._pid_file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the end of the process releases it anyway
                self._lock.release()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_folder(folder: Path, reason: str = "") -> FolderLock:
    """Create `folder` if need be (mode 0700) and lock it; FolderInUseError or DataFolderError when that fails.

    `reason` says why it is this folder; it ends the message when the folder cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.ExitStack() as undo:
            lock = FileLock(folder / _LOCK_NAME, timeout=0, mode=0o600, thread_local=False)
            lock.acquire()
            undo.callback(lock.release)
            try:
                descriptor = _hold_folder(folder)
            except BlockingIOError:
                raise Timeout(lock.lock_file) from None
            if descriptor is not None:
                undo.callback(os.close, descriptor)
            unclean = was_unclean(folder)
            make_room_to_start(folder)
            _write_pid(folder / _PID_NAME)
            undo.pop_all()
    except Timeout:
        pid = _recorded_pid(folder)
        who = f"process {pid}" if pid else "another process"
        message = f"{folder} is in use by Hookline ({who}). Close it, or choose another folder with --data-dir."
        raise FolderInUseError(message, folder, pid) from None
    except OSError as error:
        if file := next(filter(os.path.isfile, (folder, *folder.parents)), None):
            message = f"{file} is a file, not a folder. Choose another data folder with --data-dir."
        elif why := _NO_LOCKS.get(error.errno or 0):
            message = f"{folder} {why}, or choose another folder with --data-dir."
        else:
            message = (
                f"The data folder {folder} cannot be used: {error.strerror or error}. Check its permissions and the"
                " disk, or choose another with --data-dir."
            )
        raise DataFolderError(f"{message}{reason and ' '}{reason}", folder) from error
    return FolderLock(lock, descriptor, folder / _PID_NAME, was_unclean=unclean)


def _hold_folder(folder: Path) -> int | None:
    """A descriptor that locks the folder itself: a lock file that is deleted would let a second program in. None where
    folders cannot be locked; BlockingIOError when another program has it."""
    if sys.platform == "win32":
        return None  # a file that is locked cannot be deleted there
    import fcntl  # only on POSIX

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # NFS locks only files that are open for writing
        os.close(descriptor)
        return None
    return descriptor


def _write_pid(file: Path) -> None:
    """Record the process that uses the folder. It is needed for a message only, so a full disk does not prevent a
    start."""
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, str(os.getpid()).encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        log.info("%s cannot be written: %s", file, error.strerror)


def _recorded_pid(folder: Path) -> int | None:
    """The process that last locked the folder, if it is known."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / _PID_NAME).read_text())
    return None


def make_room_to_start(folder: Path) -> None:
    """Make room for what a start writes before the database is open: on a full disk, empty the reserve's file, or else
    delete the search index, which can be rebuilt."""
    free = free_bytes(folder)
    if free is None or free >= START_MIN_FREE or empty_for_small_file(folder):
        return
    for name in (INDEX_NAME, f"{INDEX_NAME}-wal"):
        with contextlib.suppress(OSError):
            (folder / name).unlink()
            log.warning("the disk is full: %s was deleted to make room, and is made again when there is some", name)


def locked_by(folder: Path) -> tuple[bool, int | None]:
    """Whether a program has the folder, and its process id if it is known."""
    held = _is_locked(folder / _LOCK_NAME) or _is_held(folder)
    return held, _recorded_pid(folder) if held else None


def _is_locked(file: Path) -> bool:
    """Whether a program has the lock file."""
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0, mode=0o600, thread_local=False):
            return False
    except Timeout:
        return True


def _is_held(folder: Path) -> bool:
    """Whether a program has the folder though its lock file was deleted."""
    if not folder.is_dir():
        return False
    try:
        descriptor = _hold_folder(folder)
    except BlockingIOError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return False


def was_unclean(folder: Path) -> bool:
    """Whether the last program on a folder that is not in use was killed."""
    return os.path.exists(folder / _PID_NAME)

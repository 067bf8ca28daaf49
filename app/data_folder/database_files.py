"""The files of the database in the data folder: their names and sizes, and whether they are there.

A damaged database is moved aside without losing it. The reserve file's only purpose is to occupy disk space
(`disk_reserve.py` says why): when a write, or a start, finds no space, it is emptied and the write is retried; once
there is space again, it is refilled. It is a plain file because that works on every file system: on one that copies on
write, a log kept at its full size owns no free blocks, and only Linux can reserve blocks beyond the end of a file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from app.core.errors import DataFolderError, MissingDatabaseError
from app.core.sizes import GIB, KIB, MIB

FILE_NAME = "hookline.db"
INDEX_NAME = "search.db"
RESERVE_NAME = "hookline.reserve"
RESERVE_MAX = 16 * MIB
"""Enough for the largest step of deleting, however full the disk is."""
RESERVE_MIN = 128 * KIB
"""Enough to start and to delete a few requests: the smallest size that the file is refilled to at a stop."""
START_MIN_FREE = 1024 * 1024
"""With less free disk space than this, a start may fail halfway."""
SMALL_DISK, SHARE = 5 * GIB, 20


def companions(path: Path) -> tuple[Path, Path]:
    """The files SQLite keeps beside the database: its log and the log's index."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def size_of(file: Path) -> int | None:
    """None when the file does not exist or cannot be examined."""
    try:
        return file.stat().st_size
    except OSError:
        return None


def size_on_disk(path: Path) -> int:
    """The bytes of the database with its log and its search index."""
    return sum(size_of(file) or 0 for file in (path, companions(path)[0], path.with_name(INDEX_NAME)))


def file_identity(file: Path | str) -> tuple[int, int] | None:
    """What stays the same while a file is renamed, None when there is none."""
    try:
        stat = os.stat(file)  # a Path costs three times as much, and this runs at each commit
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def unused_name(path: Path, kind: str) -> Path:
    """A name beside the database for one of this `kind`, with the time in it: nothing has it, nor what SQLite would
    keep beside it."""
    name = path.with_name(f"{path.name}.{kind}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
    names = chain((name,), (name.with_name(f"{name.name}-{number}") for number in count(2)))
    return next(one for one in names if not any(file.exists() for file in _with_companions(one)))


def require_database(folder: Path) -> None:
    """MissingDatabaseError when there is no database, though other files are here that only a used folder has.

    Settings, token and window geometry do not count: a user may have put them into a new folder. A small store has no
    search index, but every program that captured has left its reserve file.
    """
    path = folder / FILE_NAME
    if size_of(path):
        return
    # Migrations, restores and damage leave copies of earlier databases.
    copies = (sorted(folder.glob(f"{FILE_NAME}.{kind}-*[0-9]")) for kind in ("before", "replaced", "rescued"))
    known = [folder / INDEX_NAME, folder / RESERVE_NAME, *chain.from_iterable(copies)]
    traces = [file.name for file in known if size_of(file) is not None]
    if traces and not size_of(companions(path)[0]):
        beside = f"{traces[0]} beside it shows" if len(traces) == 1 else f"{' and '.join(traces[:2])} beside it show"
        raise MissingDatabaseError(
            f"{path} is missing, but {beside} that there was one. Put it back, or start with a new, empty database.",
            folder,
        )


def set_aside(folder: Path) -> Path:
    """Rename the database and its companion files to unused names; returns the database's new path.

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
        # The database last: while it has its name, an interrupted attempt can be repeated.
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


def remove_database(path: Path) -> None:
    """Delete a database file with its companions, as far as they exist."""
    for file in _with_companions(path):
        file.unlink(missing_ok=True)


def _with_companions(path: Path) -> tuple[Path, ...]:
    """The database last."""
    return *companions(path), path.with_name(path.name + "-journal"), path


def sync_folder(folder: Path) -> None:
    """Sync the entries of `folder` to the disk, where the system does not do it itself."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def reserve_size(setting: int, total: int) -> int:
    """Bytes kept free on a disk of `total` bytes: the setting, but on a small disk 5 % of it at most."""
    return setting if total >= SMALL_DISK else min(setting, total // SHARE)


def empty_for_small_file(folder: Path) -> bool:
    """On a full disk, empty the reserve's file for a small file that has to be written; whether that freed space."""
    free = free_bytes(folder)
    return free is not None and free < START_MIN_FREE and empty_file(folder / RESERVE_NAME)


def disk_space(folder: Path) -> tuple[int, int] | None:
    """Total and free bytes of the disk; None when the folder cannot be reached."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.total, usage.free


def free_bytes(folder: Path) -> int | None:
    usage = disk_space(folder)
    return None if usage is None else usage[1]


def fill_file(file: Path, size: int) -> bool:
    """Extend the file to `size` allocated bytes; False, and the file is unchanged, when that fails."""
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        present = os.fstat(descriptor).st_size
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.lseek(descriptor, present, os.SEEK_SET)
                for start in range(present, size, MIB):
                    os.write(descriptor, os.urandom(min(size - start, MIB)))  # zeros would be compressed to nothing
        except OSError:
            os.ftruncate(descriptor, present)
            raise
        finally:
            os.close(descriptor)
        return True
    return False


def empty_file(file: Path) -> bool:
    """Truncate the file to free its blocks; False when it has none. The file stays, to be refilled."""
    with contextlib.suppress(OSError):
        if file.stat().st_size:
            os.truncate(file, 0)
            return True
    return False

"""The files of the database in the data folder: their names and sizes, and whether they are there.

A damaged database is moved aside without losing it.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.core.errors import DataFolderError, MissingDatabaseError
from app.data_folder.reserve_file import FILE_NAME as RESERVE_NAME

FILE_NAME = "hookline.db"
INDEX_NAME = "search.db"


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


def require_database(folder: Path) -> None:
    """MissingDatabaseError when there is no database, though other files are here that only a used folder has.

    Settings, token and window geometry do not count: a user may have put them into a new folder. A small store has no
    search index, but every program that captured has left its reserve file.
    """
    path = folder / FILE_NAME
    if size_of(path):
        return
    known = [folder / INDEX_NAME, folder / RESERVE_NAME, *_copies(folder)]
    traces = [file.name for file in known if size_of(file) is not None]
    if traces and not size_of(companions(path)[0]):
        beside = f"{traces[0]} beside it shows" if len(traces) == 1 else f"{' and '.join(traces[:2])} beside it show"
        raise MissingDatabaseError(
            f"{path} is missing, but {beside} that there was one. Put it back, or start with a new, empty database.",
            folder,
        )


def _copies(folder: Path) -> list[Path]:
    """What migrations, restores and damage have left of earlier databases."""
    return [
        copy for kind in ("before", "replaced", "rescued") for copy in sorted(folder.glob(f"{FILE_NAME}.{kind}-*[0-9]"))
    ]


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
    for file in (*companions(path), path.with_name(path.name + "-journal"), path):
        file.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync the entries of `folder` to the disk, where the system does not do it itself."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

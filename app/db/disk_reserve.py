"""Disk space that captures leave alone, so that deleting, retention, settings, start and stop work on a full disk.

Captures are refused while less than the reserve is free. That does not help when other programs fill the disk: SQLite
can delete nothing without room for its log and the log's index, whose sizes change with every checkpoint, and neither
survives a stop. So the data folder also holds a file whose only purpose is the blocks it owns. A write, or a start,
that finds no room empties it and is tried again; once there is room, it is filled again. A plain file, because that is
the same on every file system: a log kept at its full size owns no free block on one that copies on write, and
reserving blocks behind the end of a file is Linux's alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from app.core.sizes import GIB, KIB, MIB
from app.core.text import size_text
from app.db.connection import AUTOCHECKPOINT, NO_ROOM, checkpoint
from app.db.writer_jobs import Add, Job

log = logging.getLogger(__name__)

FILE_NAME = "hookline.reserve"
INDEX_NAME = "search.db"
MOST_IN_FILE = 16 * MIB
"""Enough for the largest step of deleting, however full the disk is."""
LEAST_IN_FILE = 128 * KIB
"""Enough to start and to delete a few requests: what is filled again at a stop, if there is no more."""
PLENTY = 16 * MIB
LEFT_OVER = 64 * KIB
"""What the file leaves to small files of the folder when it takes back what there is."""
SMALL_DISK, SHARE = 5 * GIB, 20
LOOK_S = 0.25
"""How long a measurement holds: other programs write too."""
GROUP = 64 * KIB
"""Pages that any commit writes to the log, however small its requests are."""
ROW = 2 * KIB
"""A request's row, its index entries and an ordinary head."""
NEAR = 64 * MIB
"""With less than this left each head is measured, not estimated."""
SHRINK = 256 * KIB
"""A log smaller than this is not worth a checkpoint."""


def reserve_of(setting: int, total: int) -> int:
    """Bytes kept free on a disk of `total` bytes: what the setting says, on a small disk 5 % of it at most."""
    return setting if total >= SMALL_DISK else min(setting, total // SHARE)


class DiskReserve:
    """Decides which captures have room. Used on the writer's thread alone, save for `has_plenty`.

    `setting` gives the configured size. Sizes are bytes; `low` says that captures are refused, `reason` why.
    """

    def __init__(self, path: Path, setting: Callable[[], int]) -> None:
        self._path, self._setting = path, setting
        self._log = path.with_name(path.name + "-wal")
        self._file = path.with_name(FILE_NAME)
        self._keeps_file = False
        self._page_size = 0
        self._measured = -LOOK_S
        self._reserve = self._kept = 0
        self._left = 0
        """What captures may still write before the disk is measured again."""
        self._needed = 0
        """The largest write that was refused since there was room."""
        self.low = False
        self.reason: str | None = None

    def begin(self, connection: sqlite3.Connection) -> None:
        """Create the reserve's file. A command that opens the store for a moment needs none."""
        self._keeps_file = True
        self.look(connection)
        if self._left < GROUP:
            self._refuse(GROUP)

    def has_plenty(self) -> bool:
        """Whether there is room for the search index, which can wait. Called on any thread."""
        usage = _usage(self._path.parent)
        return usage is None or usage[1] >= max(PLENTY, 2 * reserve_of(self._setting(), usage[0]))

    def hold_back(
        self, connection: sqlite3.Connection, adds: list[Add], jobs: list[Job]
    ) -> tuple[list[Add], list[Job], list[Add | Job]]:
        """Split captures and jobs into those that have room and those that have none."""
        costly = sum([job.cost for job in jobs])
        if not adds and not costly:
            return adds, jobs, []
        cost = GROUP + costly + sum([_size(add) for add in adds])
        stale = time.monotonic() - self._measured > LOOK_S
        if stale or (cost > self._left and not self.low):
            self.look(connection, cost)
        if not self.low and self._left - cost > NEAR:
            self._left -= cost
            return adds, jobs, []
        self._left -= GROUP
        kept_jobs = [job for job in jobs if not job.cost or self._reserve_bytes(job.cost)]
        kept_adds = [add for add in adds if self._reserve_bytes(_size(add))]
        if len(kept_adds) == len(adds) and len(kept_jobs) == len(jobs):
            return adds, jobs, []
        kept = {id(item) for item in (*kept_adds, *kept_jobs)}
        held_back: list[Add | Job] = [*jobs, *adds]
        return kept_adds, kept_jobs, [item for item in held_back if id(item) not in kept]

    def look(self, connection: sqlite3.Connection, cost: int = 0) -> None:
        """Measure the disk; where there is room again, captures are taken again."""
        self._measure(connection)
        if self._left < max(cost, self._resume_at()) and self._log_size() > SHRINK and self._owns_enough():
            # The log holds pages twice until they are in the database: that may be all the room that is missing.
            _checkpoint(connection, "TRUNCATE")
            self._measure(connection)
        if self._left >= self._resume_at() and self._owns_enough(fill=True):
            self.low, self.reason, self._needed = False, None, 0

    def make_room(self, connection: sqlite3.Connection) -> bool:
        """A write found the disk full: let it have what the log no longer needs, then the reserve's file; whether
        there is any use in trying again."""
        free = _free(self._path.parent)
        if free is None or free > MOST_IN_FILE:
            return False  # it is not the disk that is full: a limit, a quota
        self._refuse(GROUP)
        emptied = _empty(self._file)
        return _checkpoint(connection, "PASSIVE") or emptied

    def tidy(self, connection: sqlite3.Connection) -> None:
        """While there is little room, keep the log short, so that it need not grow for what is deleted next, and take
        back what a write left of the file before others do."""
        if self.low:
            if self._log_size() > SHRINK:
                _checkpoint(connection, "PASSIVE")
            self._take_back()

    def close(self) -> None:
        """Fill the reserve's file with the space that closing the database freed: the next start may need it."""
        self._take_back()

    def _take_back(self) -> None:
        usage, held_back = _usage(self._path.parent), self._file_size()
        if usage is None or held_back is None:
            return
        total, free = usage
        size = min(MOST_IN_FILE, reserve_of(self._setting(), total), held_back + free - LEFT_OVER)
        while size >= max(LEAST_IN_FILE, held_back + 1) and not _fill(self._file, size):
            size -= size // 8  # the file system wants some for itself

    def _reserve_bytes(self, cost: int) -> bool:
        if self.low or cost > self._left:
            self._refuse(cost)
            return False
        self._left -= cost
        return True

    def _refuse(self, cost: int) -> None:
        self.low = True
        self._needed = max(self._needed, cost)
        if self.reason is None:
            free, needed = (self._kept + 2 * left for left in (self._left, self._resume_at()))
            self.reason = (
                f"The disk has {size_text(max(0, free))} free, and capturing needs {size_text(needed)}."
                " Delete requests or other files."
            )

    def _resume_at(self) -> int:
        """So much must be left for captures to begin again; some more than was refused, or they would stop at once."""
        return self._needed + self._needed // 4 + min(self._reserve // 4, MOST_IN_FILE) if self.low else 0

    def _measure(self, connection: sqlite3.Connection) -> None:
        self._measured = time.monotonic()
        usage = _usage(self._path.parent)
        in_file = size_of(self._path)
        if usage is None or in_file is None:
            self._left = 2 * NEAR  # unknown: the write will say what is wrong
            return
        if not self._page_size:
            (self._page_size,) = connection.execute("PRAGMA page_size").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        total, free = usage
        reserve = reserve_of(self._setting(), total)
        if reserve != self._reserve:
            self._reserve = reserve
            # When others fill the disk, the file must have room for all that is in the log alone, and some more.
            pages_in_log = min(AUTOCHECKPOINT, self._file_target() // 2 // self._page_size)
            connection.execute(f"PRAGMA wal_autocheckpoint = {max(1, pages_in_log)}")
        # Pages that are in the log alone: the next checkpoint makes the database file that much larger.
        self._kept = self._reserve + max(0, pages * self._page_size - in_file)
        if self._keeps_file:
            self._kept += max(0, self._file_target() - (self._file_size() or 0))
        # By half: what is captured stands in the log first, and then in the database as well.
        self._left = (free - self._kept) // 2

    def _owns_enough(self, *, fill: bool = False) -> bool:
        """Whether the file owns its blocks; `fill` it if it does not. Without it, no block of the log is given away."""
        size = self._file_target()
        return not self._keeps_file or (self._file_size() or 0) >= size or (fill and _fill(self._file, size))

    def _file_target(self) -> int:
        return min(MOST_IN_FILE, self._reserve)

    def _file_size(self) -> int | None:
        return size_of(self._file)

    def _log_size(self) -> int:
        return size_of(self._log) or 0


def make_room_to_start(folder: Path) -> None:
    """A start writes a little before the database is open: on a full disk, empty the reserve's file for it, or else
    delete the search index, which can be made again."""
    free = _free(folder)
    if free is None or free >= NO_ROOM or give_up(folder):
        return
    for name in (INDEX_NAME, f"{INDEX_NAME}-wal"):
        with contextlib.suppress(OSError):
            (folder / name).unlink()
            log.warning("the disk is full: %s was deleted to make room, and is made again when there is some", name)


def give_up(folder: Path) -> bool:
    """On a full disk, empty the reserve's file for a small one that has to be written; whether that made room."""
    free = _free(folder)
    return free is not None and free < NO_ROOM and _empty(folder / FILE_NAME)


def _usage(folder: Path) -> tuple[int, int] | None:
    """Bytes of the disk, and bytes free; None when the folder cannot be reached."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.total, usage.free


def _free(folder: Path) -> int | None:
    usage = _usage(folder)
    return None if usage is None else usage[1]


def size_of(file: Path) -> int | None:
    """None when there is no such file, or it cannot be looked at."""
    try:
        return file.stat().st_size
    except OSError:
        return None


def _size(add: Add) -> int:
    _, capture, tail, _, _, _, whole = add
    return ROW + whole - capture.size + len(tail)


def _checkpoint(connection: sqlite3.Connection, mode: str) -> bool:
    with contextlib.suppress(sqlite3.Error):
        return checkpoint(connection, mode)
    return False


def _fill(file: Path, size: int) -> bool:
    """Give the file `size` bytes that are its own; False when that cannot be, and it is as it was."""
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        held_back = os.fstat(descriptor).st_size
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.lseek(descriptor, held_back, os.SEEK_SET)
                for start in range(held_back, size, MIB):
                    os.write(descriptor, os.urandom(min(size - start, MIB)))  # zeros would be compressed to nothing
        except OSError:
            os.ftruncate(descriptor, held_back)
            raise
        finally:
            os.close(descriptor)
        return True
    return False


def _empty(file: Path) -> bool:
    """Give the file's blocks away; False when it has none. It stays, to be filled again."""
    with contextlib.suppress(OSError):
        if file.stat().st_size:
            os.truncate(file, 0)
            return True
    return False

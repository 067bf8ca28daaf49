"""Disk space that captures leave free, so that deleting, retention, settings, start and stop work on a full disk.

Captures are refused while less than the reserve is free. That is not enough when other programs fill the disk: SQLite
cannot delete anything without space for its log and the log's index, whose sizes change with every checkpoint, and
which do not outlive a stop. So the data folder also contains a file whose only purpose is to occupy space. When a
write, or a start, finds no space, the file is emptied and the write is retried; once there is space again, the file is
refilled. It is a plain file because that works on every file system: on one that copies on write, a log kept at its
full size owns no free blocks, and only Linux can reserve blocks beyond the end of a file.
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
from app.db.connection import AUTOCHECKPOINT, START_MIN_FREE, checkpoint
from app.db.writer_jobs import Add, Job

log = logging.getLogger(__name__)

FILE_NAME = "hookline.reserve"
INDEX_NAME = "search.db"
FILE_MAX = 16 * MIB
"""Enough for the largest step of deleting, however full the disk is."""
FILE_MIN = 128 * KIB
"""Enough to start and to delete a few requests: the smallest size that the file is refilled to at a stop."""
AMPLE = 16 * MIB
LEFT_FREE = 64 * KIB
"""Bytes left free for small files of the folder when the file is refilled."""
SMALL_DISK, SHARE = 5 * GIB, 20
MEASURE_S = 0.25
"""How long a measurement is used: other programs write too."""
COMMIT_COST = 64 * KIB
"""Bytes of pages that any commit writes to the log, however small its requests are."""
ROW_COST = 2 * KIB
"""Bytes of a request's row, its index entries and an ordinary head."""
EXACT_BELOW = 64 * MIB
"""With less than this available, each capture is checked by its size."""
LOG_MIN = 256 * KIB
"""A smaller log is not worth a checkpoint."""


def reserve_size(setting: int, total: int) -> int:
    """Bytes kept free on a disk of `total` bytes: the setting, but on a small disk 5 % of it at most."""
    return setting if total >= SMALL_DISK else min(setting, total // SHARE)


class DiskReserve:
    """Decides which captures have room. Used on the writer's thread only, except `has_ample_space`.

    `setting` returns the configured size in bytes. `low`: captures are being refused, for `reason`.
    """

    def __init__(self, path: Path, setting: Callable[[], int]) -> None:
        self._path, self._setting = path, setting
        self._log = path.with_name(path.name + "-wal")
        self._file = path.with_name(FILE_NAME)
        self._keeps_file = False
        self._page_size = 0
        self._measured = -MEASURE_S
        self._reserve = self._not_for_captures = 0
        self._available = 0
        """Bytes that captures may still write before the disk is measured again."""
        self._needed = 0
        """The largest write that was refused since there was room."""
        self.low = False
        self.reason: str | None = None

    def begin(self, connection: sqlite3.Connection) -> None:
        """Create the reserve's file. A command that opens the store only briefly needs none."""
        self._keeps_file = True
        self.check(connection)

    def check(self, connection: sqlite3.Connection) -> None:
        """Measure the disk, and refuse captures if there is no room for any."""
        self.measure(connection)
        if self._available < COMMIT_COST:
            self._refuse(COMMIT_COST)

    def has_ample_space(self) -> bool:
        """Whether there is room for the search index, which can wait. Called on any thread."""
        usage = _usage(self._path.parent)
        return usage is None or usage[1] >= max(AMPLE, 2 * reserve_size(self._setting(), usage[0]))

    def admit(
        self, connection: sqlite3.Connection, adds: list[Add], jobs: list[Job]
    ) -> tuple[list[Add], list[Job], list[Add | Job]]:
        """Split captures and jobs into those that have room and those that have none."""
        costly = sum([job.cost for job in jobs])
        if not adds and not costly:
            return adds, jobs, []
        cost = COMMIT_COST + costly + ROW_COST * len(adds) + sum([add[-1] for add in adds])
        stale = time.monotonic() - self._measured > MEASURE_S
        if stale or (cost > self._available and not self.low):
            self.measure(connection, cost)
        if not self.low and self._available - cost > EXACT_BELOW:
            self._available -= cost
            return adds, jobs, []
        self._available -= COMMIT_COST
        kept_jobs = [job for job in jobs if not job.cost or self._allocate(job.cost)]
        kept_adds = [add for add in adds if self._allocate(ROW_COST + add[-1])]
        if len(kept_adds) == len(adds) and len(kept_jobs) == len(jobs):
            return adds, jobs, []
        kept = {id(item) for item in (*kept_adds, *kept_jobs)}
        rejected: list[Add | Job] = [*jobs, *adds]
        return kept_adds, kept_jobs, [item for item in rejected if id(item) not in kept]

    def measure(self, connection: sqlite3.Connection, cost: int = 0) -> None:
        """Measure the disk, and accept captures again if there is room."""
        self._measure(connection)
        if self._available < max(cost, self._resume_at()) and self._log_size() > LOG_MIN and self._is_filled():
            # Pages in the log are stored twice until they are in the database: a checkpoint may free what is missing.
            _checkpoint(connection, "TRUNCATE")
            self._measure(connection)
        if self._available >= self._resume_at() and self._is_filled(fill=True):
            self.low, self.reason, self._needed = False, None, 0

    def free_space(self, connection: sqlite3.Connection) -> bool:
        """A write found the disk full: free what the log no longer needs, then the reserve's file. Returns whether a
        retry makes sense."""
        free = _free(self._path.parent)
        if free is None or free > FILE_MAX:
            return False  # the disk is not full: it is a limit or a quota
        self._refuse(COMMIT_COST)
        emptied = _empty(self._file)
        return _checkpoint(connection, "PASSIVE") or emptied

    def maintain(self, connection: sqlite3.Connection) -> None:
        """While there is little room, keep the log short, so that it need not grow for the next deletion, and refill
        the file before other programs take the space."""
        if self.low:
            if self._log_size() > LOG_MIN:
                _checkpoint(connection, "PASSIVE")
            self._refill()

    def close(self) -> None:
        """Refill the file with the space that closing the database freed: the next start may need it."""
        self._refill()

    def _refill(self) -> None:
        usage, present = _usage(self._path.parent), self._file_size()
        if usage is None or present is None:
            return
        total, free = usage
        size = min(FILE_MAX, reserve_size(self._setting(), total), present + free - LEFT_FREE)
        while size >= max(FILE_MIN, present + 1) and not _fill(self._file, size):
            size -= size // 8  # the file system needs some for itself

    def _allocate(self, cost: int) -> bool:
        if self.low or cost > self._available:
            self._refuse(cost)
            return False
        self._available -= cost
        return True

    def _refuse(self, cost: int) -> None:
        self.low = True
        self._needed = max(self._needed, cost)
        if self.reason is None:
            free, needed = (self._not_for_captures + 2 * left for left in (self._available, self._resume_at()))
            self.reason = (
                f"The disk has {size_text(max(0, free))} free, and capturing needs {size_text(needed)}."
                " Delete requests or other files."
            )

    def _resume_at(self) -> int:
        """Bytes that must be available before captures are accepted again: somewhat more than was refused, or they
        would stop at once."""
        return self._needed + self._needed // 4 + min(self._reserve // 4, FILE_MAX) if self.low else 0

    def _measure(self, connection: sqlite3.Connection) -> None:
        self._measured = time.monotonic()
        usage = _usage(self._path.parent)
        in_file = size_of(self._path)
        if usage is None or in_file is None:
            self._available = 2 * EXACT_BELOW  # unknown: the write will report what is wrong
            return
        if not self._page_size:
            (self._page_size,) = connection.execute("PRAGMA page_size").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        total, free = usage
        reserve = reserve_size(self._setting(), total)
        if reserve != self._reserve:
            self._reserve = reserve
            # When other programs fill the disk, the file must have room for everything that is only in the log, and
            # some more.
            pages_in_log = min(AUTOCHECKPOINT, self._file_target() // 2 // self._page_size)
            connection.execute(f"PRAGMA wal_autocheckpoint = {max(1, pages_in_log)}")
        # Pages that are only in the log: the next checkpoint makes the database file that much larger.
        self._not_for_captures = self._reserve + max(0, pages * self._page_size - in_file)
        if self._keeps_file:
            self._not_for_captures += max(0, self._file_target() - (self._file_size() or 0))
        # Half of it, because a capture is written to the log first, and then to the database as well.
        self._available = (free - self._not_for_captures) // 2

    def _is_filled(self, *, fill: bool = False) -> bool:
        """Whether the file has its full size; with `fill`, extend it first. While it has not, the log is not
        truncated."""
        size = self._file_target()
        return not self._keeps_file or (self._file_size() or 0) >= size or (fill and _fill(self._file, size))

    def _file_target(self) -> int:
        return min(FILE_MAX, self._reserve)

    def _file_size(self) -> int | None:
        return size_of(self._file)

    def _log_size(self) -> int:
        return size_of(self._log) or 0


def make_room_to_start(folder: Path) -> None:
    """Make room for what a start writes before the database is open: on a full disk, empty the reserve's file, or else
    delete the search index, which can be rebuilt."""
    free = _free(folder)
    if free is None or free >= START_MIN_FREE or empty_for_small_file(folder):
        return
    for name in (INDEX_NAME, f"{INDEX_NAME}-wal"):
        with contextlib.suppress(OSError):
            (folder / name).unlink()
            log.warning("the disk is full: %s was deleted to make room, and is made again when there is some", name)


def empty_for_small_file(folder: Path) -> bool:
    """On a full disk, empty the reserve's file for a small file that has to be written; whether that freed space."""
    free = _free(folder)
    return free is not None and free < START_MIN_FREE and _empty(folder / FILE_NAME)


def _usage(folder: Path) -> tuple[int, int] | None:
    """Total and free bytes of the disk; None when the folder cannot be reached."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.total, usage.free


def _free(folder: Path) -> int | None:
    usage = _usage(folder)
    return None if usage is None else usage[1]


def size_of(file: Path) -> int | None:
    """None when the file does not exist or cannot be examined."""
    try:
        return file.stat().st_size
    except OSError:
        return None


def _checkpoint(connection: sqlite3.Connection, mode: str) -> bool:
    with contextlib.suppress(sqlite3.Error):
        return checkpoint(connection, mode)
    return False


def _fill(file: Path, size: int) -> bool:
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


def _empty(file: Path) -> bool:
    """Truncate the file to free its blocks; False when it has none. The file stays, to be refilled."""
    with contextlib.suppress(OSError):
        if file.stat().st_size:
            os.truncate(file, 0)
            return True
    return False

"""Disk space that captures leave free, so that deleting, retention, settings, start and stop work on a full disk.

Captures are refused while less than the reserve is free. That is not enough when other programs fill the disk: SQLite
cannot delete anything without space for its log and the log's index, whose sizes change with every checkpoint, and
which do not outlive a stop. So the data folder also contains a file whose only purpose is to occupy space
(`database_files.py`).
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from app.core.sizes import KIB, MIB
from app.core.text import size_text
from app.data_folder.database_files import (
    RESERVE_MAX,
    RESERVE_MIN,
    RESERVE_NAME,
    disk_space,
    empty_file,
    fill_file,
    free_bytes,
    reserve_size,
    size_of,
)
from app.db.sqlite.connection import AUTOCHECKPOINT, checkpoint
from app.db.writer_thread import Add, Job

log = logging.getLogger(__name__)

AMPLE = 16 * MIB
LEFT_FREE = 64 * KIB
"""Bytes left free for small files of the folder when the file is refilled."""
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


class DiskReserve:
    """Decides which captures have room. Used on the writer's thread only, except `has_ample_space`.

    `setting` returns the configured size in bytes. `low`: captures are being refused, for `reason`.
    """

    def __init__(self, path: Path, setting: Callable[[], int]) -> None:
        self._path, self._setting = path, setting
        self._log = path.with_name(path.name + "-wal")
        self._file = path.with_name(RESERVE_NAME)
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
        usage = disk_space(self._path.parent)
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
        free = free_bytes(self._path.parent)
        if free is None or free > RESERVE_MAX:
            return False  # the disk is not full: it is a limit or a quota
        self._refuse(COMMIT_COST)
        emptied = empty_file(self._file)
        return _checkpoint(connection, "PASSIVE") or emptied

    def maintain(self, connection: sqlite3.Connection) -> None:
        """While there is little room, keep the log short, so that it need not grow for the next deletion, and refill
        the file before other programs take the space."""
        if self.low:
            if self._log_size() > LOG_MIN:
                _checkpoint(connection, "PASSIVE")
            self.refill()

    def refill(self) -> None:
        """Extend the file as far as there is space for it."""
        usage, present = disk_space(self._path.parent), self._file_size()
        if usage is None or present is None:
            return
        total, free = usage
        size = min(RESERVE_MAX, reserve_size(self._setting(), total), present + free - LEFT_FREE)
        while size >= max(RESERVE_MIN, present + 1) and not fill_file(self._file, size):
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
        return self._needed + self._needed // 4 + min(self._reserve // 4, RESERVE_MAX) if self.low else 0

    def _measure(self, connection: sqlite3.Connection) -> None:
        self._measured = time.monotonic()
        usage = disk_space(self._path.parent)
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
        return not self._keeps_file or (self._file_size() or 0) >= size or (fill and fill_file(self._file, size))

    def _file_target(self) -> int:
        return min(RESERVE_MAX, self._reserve)

    def _file_size(self) -> int | None:
        return size_of(self._file)

    def _log_size(self) -> int:
        return size_of(self._log) or 0


def _checkpoint(connection: sqlite3.Connection, mode: str) -> bool:
    with contextlib.suppress(sqlite3.Error):
        return checkpoint(connection, mode)
    return False

"""Copies a database to one new file while another connection writes to it.

SQLite's backup starts again whenever another connection has written, so at three hundred captures a second it never
ends. A read transaction that is held open around it gives all its steps one snapshot. Meanwhile the log cannot start
over, but it grows only by what is captured in those seconds. The copy is synced as it grows: if all of it were synced
at the end, a capture that is committed then would wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from app.core.backup import Report
from app.core.errors import BackupError
from app.core.sizes import MIB
from app.db.sqlite.connection import snapshot, trouble

STEP_PAGES = 256
SYNC_EVERY = 16 * MIB


def copy_database(source: Path, target: Path, report: Report) -> tuple[int, int]:
    """Copy `source` to the new file `target`, mode 0600, and sync it; returns the `file_identity` of what was written.

    Raises sqlite3.Error, OSError or what `report` raises; then there may be part of a file.
    """
    with snapshot(source) as stored:
        return copy_snapshot(stored, target, report)


def copy_snapshot(stored: sqlite3.Connection, target: Path, report: Report) -> tuple[int, int]:
    """As `copy_database`, of what a connection sees in its read transaction."""
    target.unlink(missing_ok=True)
    descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600)
    synced = 0
    try:
        with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
            (page_size,) = stored.execute("PRAGMA page_size").fetchone()
            # Nobody else uses the file, and half of it is of no use after a crash.
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")

            def progress(_: int, remaining: int, total: int) -> None:
                nonlocal synced
                done = (total - remaining) * page_size
                if done - synced >= SYNC_EVERY:
                    os.fsync(descriptor)
                    synced = done
                report("copying", done, total * page_size)

            stored.backup(copy, pages=STEP_PAGES, progress=progress)
        os.fsync(descriptor)
        written = os.fstat(descriptor)
        return written.st_dev, written.st_ino
    finally:
        # After the connections: closing any descriptor of a file releases this process's locks on it.
        os.close(descriptor)


def size_of_copy(source: Path) -> int:
    """The bytes that a copy takes now."""
    with snapshot(source) as stored:
        (pages,), (page_size,) = (stored.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        return int(pages * page_size)


@contextlib.contextmanager
def backup_errors(failure: str) -> Iterator[None]:
    """Raise what the disk and SQLite report as a BackupError that begins with `failure`, a sentence without its full
    stop."""
    try:
        yield
    except sqlite3.Error as error:
        reason = trouble(error)
        if reason is None:
            raise
        raise BackupError(f"{failure}. {reason}") from error
    except OSError as error:
        raise BackupError(f"{failure}: {error.strerror or error}. Check the permissions and the disk.") from error

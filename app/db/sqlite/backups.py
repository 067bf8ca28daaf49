"""Backs the database up into one file while Hookline uses it: one backup at a time, on a thread of its own.

SQLite's backup starts again whenever another connection has written, so at three hundred captures a second it never
ends. A read transaction that is held open around it gives all its steps one snapshot. Meanwhile the log cannot start
over, but it grows only by what is captured in those seconds. The copy is synced as it grows: if all of it were synced
at the end, a capture that is committed then would wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread

from msgspec.structs import replace

from app.core.backup import Backup, BackupStep, Report, WorkCancelledError, damaged_text
from app.core.errors import BackupError
from app.core.file_names import kind_unless_file
from app.core.sizes import MIB
from app.core.text import size_text
from app.data_folder.database_files import file_identity, remove_database, reserve_size, sync_folder
from app.db.sqlite.connection import snapshot, trouble
from app.db.sqlite.damage import damaged_bodies, find_damage

log = logging.getLogger(__name__)

UNFINISHED_NAME = "backup.part"
"""In the data folder while a backup is written: the path of its part, and of those that could not be removed, with a
zero byte after each."""


class Backups:
    """Backups of the database at `path`. `disk_reserve` returns the setting in bytes. Used on the loop's thread."""

    def __init__(self, path: Path, disk_reserve: Callable[[], int]) -> None:
        self._path, self._disk_reserve = path, disk_reserve
        self.latest: Backup | None = None
        """The running backup, else the last one of this run."""
        self._task: asyncio.Task[None] | None = None
        self._cancelling = Flag()
        self._unfinished, self._cleaning = path.with_name(UNFINISHED_NAME), Lock()

    async def start(self, path: Path, *, overwrite: bool = False) -> Backup:
        """Begin to write a backup to `path`; BackupError when it cannot be made there, or another one is running."""
        if self.latest is not None and self.latest.state == "running":
            raise BackupError(f"A backup to {self.latest.path} is being written. Wait for it, or cancel it.")
        self._cancelling.clear()
        before, self.latest = self.latest, Backup(path=str(path))
        try:
            with backup_errors(_failure(path)):
                await asyncio.to_thread(self._require_place, path, overwrite)
        except BaseException:
            self.latest = before
            raise
        self._task = asyncio.create_task(self._run(path, overwrite), name="backup")
        return self.latest

    async def cancel(self) -> Backup | None:
        """End the running backup, if any, and delete what it wrote; returns the latest. Twice is harmless."""
        self._cancelling.set()
        await self.wait()
        return self.latest

    async def wait(self) -> None:
        """Until no backup is running."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def clean_up(self) -> None:
        """Remove what a killed backup left, on a thread that nobody waits for: its disk may not respond."""
        Thread(target=self._remove_unfinished, name="hookline-backup-cleanup", daemon=True).start()

    async def _run(self, path: Path, overwrite: bool) -> None:
        try:
            with backup_errors(_failure(path)):
                size, damaged = await asyncio.to_thread(self._write, path, overwrite)
        except WorkCancelledError:
            self._end(state="cancelled")
        except BackupError as error:
            log.warning("the backup failed: %s", error)
            self._end(state="failed", problem=str(error))
        except BaseException:
            self._end(state="failed", problem="The backup failed because of an internal error; see Hookline's log.")
            raise
        else:
            self._end(state="done", size=size, damaged_bodies=len(damaged))
            if damaged:
                log.warning("%s: %s The first request is %s.", path, damaged_text(len(damaged)), damaged[0])

    def _end(self, **changed: object) -> None:
        assert self.latest is not None
        self.latest = replace(self.latest, **changed)

    # -- on the backup's thread ----------------------------------------------------------------------------------

    def _require_place(self, path: Path, overwrite: bool) -> None:
        folder = path.parent
        if not folder.is_dir():
            raise BackupError(f"There is no folder {folder}. Create it, or choose another place for the backup.")
        if path.is_dir():
            raise BackupError(f"{path} is a folder. Name a file in it, such as {path / 'hookline-backup.db'}.")
        if folder.samefile(self._path.parent):
            raise BackupError(f"A backup in the data folder {folder} would be lost with it. Choose another folder.")
        _require_name(path, overwrite)
        needed, free = _size_of_copy(self._path), shutil.disk_usage(folder).free
        if folder.stat().st_dev == self._path.stat().st_dev:
            free -= self._reserve()
        if free < needed:
            raise BackupError(
                f"The backup needs {size_text(needed)}, and the disk of {folder} has {size_text(max(0, free))} for it."
                " Free some space, or choose another disk."
            )

    def _write(self, path: Path, overwrite: bool) -> tuple[int, list[str]]:
        """Returns the size of the finished file, and the requests in it whose bodies are damaged: the others must not
        remain without a backup because of them."""
        half = part_of(path)
        self._record([*self._remove_unfinished(), half])
        try:
            written = copy_database(self._path, half, self._report)
            if file_identity(half) != written:
                raise BackupError(f"Another program is writing a backup to {path}, too. Choose another name.")
            if problem := find_damage(half, self._report, thorough=False):
                raise BackupError(f"The copy is damaged ({problem}), so no backup was made. Run hookline doctor.")
            damaged = damaged_bodies(half, self._report)
            size = half.stat().st_size
            _give_name(half, path, overwrite)
            return size, damaged
        finally:
            self._remove_unfinished(half)

    def _remove_unfinished(self, *others: Path) -> Sequence[Path]:
        """Remove the recorded parts of backups and `others`; returns those whose folder cannot be reached now."""
        with self._cleaning:
            recorded: list[Path] = []
            with contextlib.suppress(OSError):
                recorded = [Path(os.fsdecode(name)) for name in self._unfinished.read_bytes().split(b"\0")[:-1]]
            left = [half for half in dict.fromkeys((*recorded, *others)) if not _is_gone(half)]
            if left or recorded:
                self._record(left)
            return left

    def _record(self, parts: Sequence[Path]) -> None:
        try:
            if parts:
                descriptor = os.open(self._unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
                with open(descriptor, "wb") as file:
                    file.write(b"".join(os.fsencode(part) + b"\0" for part in parts))
            else:
                self._unfinished.unlink(missing_ok=True)
        except OSError as error:  # a full disk must not prevent a backup to another
            log.info("%s cannot be written: %s", self._unfinished, error.strerror)

    def _report(self, step: BackupStep, done: int, total: int) -> None:
        if self._cancelling.is_set():
            raise WorkCancelledError
        assert self.latest is not None
        self.latest = replace(self.latest, step=step, done_bytes=done, total_bytes=total)
        # The log grows while the snapshot is held, and captures come first.
        if shutil.disk_usage(self._path.parent).free < self._reserve():
            raise BackupError(
                f"The backup was stopped because the disk of {self._path.parent} is nearly full, and capturing needs"
                " what is left. Free some space, then try again."
            )

    def _reserve(self) -> int:
        return reserve_size(self._disk_reserve(), shutil.disk_usage(self._path.parent).total)


def part_of(path: Path) -> Path:
    """Where the backup stands until it is complete."""
    return path.with_name(f".{path.name}.part")


def _is_gone(half: Path) -> bool:
    """Remove the part of a backup, and nothing else that the record may name; False when that has to be tried
    again."""
    if not half.is_absolute() or not (half.name.startswith(".") and half.name.endswith(".part")):
        return True
    try:
        if not half.parent.is_dir():
            return False  # a disk that is not connected
        if kind_unless_file(half) is None:
            remove_database(half)
    except OSError:
        return False
    return True


def _require_name(path: Path, overwrite: bool) -> None:
    """BackupError unless the backup may have this name now."""
    kind = kind_unless_file(path)
    if kind is not None:
        raise BackupError(f"{path} is {kind}. Only a file can be replaced by a backup: choose another name.")
    if path.exists() and not overwrite:
        raise _existing(path)


def _give_name(half: Path, path: Path, overwrite: bool) -> None:
    """Rename the finished file; a name that was taken meanwhile is not overwritten where the system can tell."""
    if overwrite:
        _require_name(path, overwrite)
        half.replace(path)
    else:
        try:
            os.link(half, path)
        except FileExistsError:
            raise _existing(path) from None
        except OSError:  # a file system without hard links
            if path.exists():
                raise _existing(path) from None
            half.replace(path)
    sync_folder(path.parent)


def _existing(path: Path) -> BackupError:
    return BackupError(f"{path} exists already. Choose another name, or replace it (--force).")


def _failure(path: Path) -> str:
    return f"The backup {path} cannot be written"


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


def _size_of_copy(source: Path) -> int:
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

"""Puts a backup in the place of the database, which is kept under another name.

`stage` copies the backup beside the database, checks the copy and migrates it; `RestoreStaging` does that while the
store is in use. `swap` exchanges the two, once the store is closed. A kill at any moment leaves the old database or the
new one in its place:

1. What is in the old database's log is moved into its file, so that no log is left. SQLite would take the old log for
   the new file's.
2. The old file gets a second name, a hard link. Now nothing can be lost.
3. The new file takes over the first name, in one step.

The search index goes before, because it is of the old requests; a start makes it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag

from peewee import SQL, fn

from app.core.backup import BackupContents, BackupStep, Report, WorkCancelledError
from app.core.clock import DAY_US, now_us
from app.core.errors import BackupError, DamagedDatabaseError
from app.core.file_names import kind_unless_file
from app.core.text import size_text
from app.data_folder.database_files import (
    FILE_NAME,
    INDEX_NAME,
    START_MIN_FREE,
    companions,
    file_identity,
    remove_database,
    reserve_size,
    size_of,
    sync_folder,
    unused_name,
)
from app.data_folder.folder_lock import lock_folder
from app.db.models import CaptureModel, DeliveryModel, EndpointModel
from app.db.sqlite.backups import backup_errors, copy_database
from app.db.sqlite.connection import BUSY_S, FILE_SIZE_MIN, checkpoint, open_writer, reader_database, snapshot
from app.db.sqlite.damage import damaged_bodies, find_damage
from app.db.sqlite.schema import MIGRATIONS, OLDEST, applied, schema_problem

STAGED_NAME = f"{FILE_NAME}.restoring"
KEPT = "replaced"
KEPT_NAME = f"{FILE_NAME}.{KEPT}-"


def restore(folder: Path, file: Path, report: Report, confirm: Callable[[BackupContents], None]) -> Path | None:
    """Put the backup `file` in the place of the database in `folder`; returns where the old one is, None without one.

    `confirm` gets what the checked backup holds; what it raises keeps the old database. BackupError when the file
    cannot be restored, FolderInUseError while a Hookline runs on the folder.
    """
    _require_backup(folder, file)
    lock = lock_folder(folder)
    done = False
    try:
        confirm(stage(folder, file, report))
        kept = swap(folder)
        done = True
        return kept
    finally:
        discard_staged(folder)
        # A checked database needs no check at the next start.
        lock.release(unchecked=lock.was_unclean and not done)


def restore_staged(folder: Path) -> Path | None:
    """Lock the folder, and `swap` what was staged in it before; a failure leaves the old database in its place."""
    lock = lock_folder(folder)
    try:
        return swap(folder)
    finally:
        discard_staged(folder)
        lock.release()


def stage(folder: Path, file: Path, report: Report, spare: int = START_MIN_FREE) -> BackupContents:
    """Copy the backup `file` beside the database, check and migrate the copy; returns what it holds.

    `spare` bytes of the disk have to stay free. The caller holds the folder's lock.
    """
    staged = folder / STAGED_NAME
    migrations = len(_require_backup(folder, file)) - 1
    try:
        with backup_errors(_failure(file)):
            _require_room(folder, file, spare, copies=2 if migrations < len(MIGRATIONS) else 1)
            copy_database(file, staged, report)
            if problem := find_damage(staged, report, thorough=True):
                raise BackupError(f"{file} is damaged: {problem}. Choose another backup; nothing was changed.")
            open_writer(staged).close()
            with snapshot(staged) as connection:
                if problem := schema_problem(connection):
                    raise BackupError(
                        f"{file} was changed by another program: {problem}. Choose another backup; nothing was changed."
                    )
            _remove_copies(folder)  # the backup itself is the copy from before the migration
            contents = _contents(staged, len(damaged_bodies(staged, report)))
            sync_folder(folder)
            return contents
    except DamagedDatabaseError as error:
        discard_staged(folder)
        raise _not_a_backup(file) from error
    except BaseException:
        discard_staged(folder)
        raise


class RestoreStaging:
    """One backup at a time. `disk_reserve` returns the setting in bytes. Used on the loop's thread."""

    def __init__(self, folder: Path, disk_reserve: Callable[[], int]) -> None:
        self._folder, self._disk_reserve = folder, disk_reserve
        self._cancelling = Flag()
        self._is_running = False
        self.progress: tuple[BackupStep, int, int] = ("copying", 0, 0)
        """The step, the bytes done and all bytes."""

    async def stage(self, file: Path) -> BackupContents | None:
        """Check the backup `file` and stage it; returns what it holds, None if it was cancelled. When it
        raises a HooklineError, nothing has changed."""
        if self._is_running:
            raise BackupError("Another backup is being checked. Wait for it, or cancel it.")
        self._is_running = True
        self._cancelling.clear()
        self.progress = ("copying", 0, 0)
        staging = asyncio.create_task(asyncio.to_thread(self._stage, file), name="staging of a backup")
        try:
            return await asyncio.shield(staging)
        except WorkCancelledError:
            return None
        except asyncio.CancelledError:  # Hookline is closing, and would wait for the thread
            self.cancel()
            await asyncio.gather(staging, return_exceptions=True)
            await self.discard()
            raise
        finally:
            self._is_running = False

    def cancel(self) -> None:
        """End the staging; nothing stays of it."""
        self._cancelling.set()

    async def discard(self) -> None:
        """Delete what was staged."""
        await asyncio.to_thread(discard_staged, self._folder)

    def _stage(self, file: Path) -> BackupContents:
        spare = reserve_size(self._disk_reserve(), shutil.disk_usage(self._folder).total)
        return stage(self._folder, file, self._report, spare)

    def _report(self, step: BackupStep, done: int, total: int) -> None:
        if self._cancelling.is_set():
            raise WorkCancelledError
        self.progress = (step, done, total)


def swap(folder: Path) -> Path | None:
    """Put the staged database in the place of the other; returns where that is now, None without one."""
    path, staged = folder / FILE_NAME, folder / STAGED_NAME
    if not staged.exists():
        raise BackupError(f"The backup that was checked is gone from {folder}. Restore it again; nothing was changed.")
    with backup_errors(f"{path} cannot be replaced, and nothing was changed"):
        remove_database(folder / INDEX_NAME)
        kept = unused_name(path, KEPT)
        found = bool(size_of(path))
        if found:
            _empty_log(path)
            _keep(path, kept)
        found |= _exchange(staged, path, kept)
    try:
        sync_folder(folder)
    except OSError as error:
        where = f"{path} is the backup now" + (f", and the previous database is {kept}" if found else "")
        raise BackupError(
            f"{where}, but the disk has not confirmed it: {error.strerror or error}. Check it."
        ) from error
    return kept if found else None


def discard_staged(folder: Path) -> None:
    """Delete what a restore that was not finished left behind."""
    with contextlib.suppress(OSError):
        remove_database(folder / STAGED_NAME)
        _remove_copies(folder)
        current = file_identity(folder / FILE_NAME)
        for kept in folder.glob(f"{KEPT_NAME}*"):
            if file_identity(kept) == current:  # killed between the second step and the third
                kept.unlink()


def _require_backup(folder: Path, file: Path) -> list[str]:
    """The migrations in the file; BackupError or NewerDatabaseError if it cannot be restored."""
    with backup_errors(_failure(file)):
        if not file.is_file():
            kind = "a folder" if file.is_dir() else kind_unless_file(file)
            what = "does not exist" if kind is None else f"is {kind}"
            raise BackupError(f"{file} {what}. Name a file that hookline backup has written.")
        if file_identity(file) == file_identity(folder / FILE_NAME):
            raise BackupError(f"{file} is the database in use. Name a file that hookline backup has written.")
        if file.stat().st_size < FILE_SIZE_MIN:  # SQLite would take it for an empty database
            raise _not_a_backup(file)
        try:
            with snapshot(file) as connection:
                names = applied(connection, file, [name for name, _ in MIGRATIONS])
        except DamagedDatabaseError:
            names = []
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            names = []
        if OLDEST not in names:
            raise _not_a_backup(file)
        return names


def _require_room(folder: Path, file: Path, spare: int, *, copies: int) -> None:
    needed, free = file.stat().st_size * copies, shutil.disk_usage(folder).free - spare
    if free < needed:
        raise BackupError(
            f"Restoring needs {size_text(needed)}, and the disk of {folder} has {size_text(max(0, free))} for it. Free"
            " some space; nothing was changed."
        )


def _contents(staged: Path, damaged: int) -> BackupContents:
    # What can still be restored is restored by the start.
    visible = CaptureModel.endpoint.not_in(EndpointModel.select(EndpointModel.id).where(SQL("removed")))
    past = CaptureModel.received_at < now_us() - EndpointModel.retention_days * DAY_US
    expired = CaptureModel.select().join(EndpointModel, on=CaptureModel.endpoint == EndpointModel.id)
    newest = CaptureModel.select(fn.max(CaptureModel.received_at)).where(visible)
    with contextlib.closing(reader_database(staged)) as database:
        database.connect()
        return BackupContents(
            size=staged.stat().st_size,
            endpoints=EndpointModel.select().where(SQL("removed = 0")).count(database),
            requests=CaptureModel.select().where(visible).count(database),
            newest_at=newest.scalar(database),
            expired=expired.where(past & visible).count(database),
            queued=DeliveryModel.select().where(DeliveryModel.state == "queued").count(database),
            damaged_bodies=damaged,
        )


def _empty_log(path: Path) -> None:
    """Move the log's content into the file, and so delete the log. A damaged database is not opened for writing: SQLite
    would delete its log without having read it."""
    try:
        with snapshot(path):
            pass
    except sqlite3.DatabaseError:
        return
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
        if not checkpoint(connection, "TRUNCATE"):
            raise BackupError(f"Another program has {path} open. Close that program; nothing was changed.")


def _keep(path: Path, kept: Path) -> None:
    """Give the file a second name; where the file system has no hard links, a copy."""
    try:
        try:
            os.link(path, kept)
        except OSError:
            shutil.copyfile(path, kept)
            kept.chmod(0o600)
            with kept.open("r+b") as copy:
                os.fsync(copy.fileno())
        sync_folder(path.parent)
    except OSError:
        kept.unlink(missing_ok=True)
        raise


def _exchange(staged: Path, path: Path, kept: Path) -> bool:
    """Let the staged file take over the name; returns whether a log was moved away for it.

    OSError when that fails and all is as before, BackupError when a log could not be moved back.
    """
    moved: list[tuple[Path, Path]] = []
    try:
        for file in (*companions(path), path.with_name(f"{FILE_NAME}-journal")):
            if file.exists():  # of a database that cannot be read: it stays with its log
                away = kept.with_name(kept.name + file.name.removeprefix(FILE_NAME))
                file.replace(away)
                moved.append((file, away))
        staged.replace(path)
    except OSError as error:
        left = [(file, away) for file, away in moved if not _moved_back(file, away)]
        if staged.exists():  # so `path` is still the old database, which needs no second name
            with contextlib.suppress(OSError):
                kept.unlink(missing_ok=True)
        if left:
            reason = error.strerror or error
            renames = ", and ".join(f"{away} to {file.name}" for file, away in left)
            raise BackupError(
                f"{path} was not replaced: {reason}. It is the old database, but its log was moved and could not be"
                f" moved back. Before you start Hookline, rename {renames}."
            ) from error
        raise
    return bool(moved)


def _moved_back(file: Path, away: Path) -> bool:
    try:
        away.replace(file)
    except OSError:
        return False
    return True


def _remove_copies(folder: Path) -> None:
    for copy in folder.glob(f"{STAGED_NAME}.before-*"):
        copy.unlink(missing_ok=True)


def _not_a_backup(file: Path) -> BackupError:
    return BackupError(f"{file} is damaged, or not a database of Hookline. Choose another backup; nothing was changed.")


def _failure(file: Path) -> str:
    return f"{file} cannot be restored, and nothing was changed"

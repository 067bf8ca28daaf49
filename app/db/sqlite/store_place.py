"""A data folder that a store is copied from or to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from peewee import SqliteDatabase

from app.core.errors import FolderInUseError, StoreCopyError
from app.core.sizes import exact_size
from app.core.text import size_text
from app.data_folder.database_files import (
    FILE_NAME,
    companions,
    remove_database,
    require_database,
    reserve_size,
    size_of,
    size_on_disk,
)
from app.data_folder.folder_lock import FolderLock, lock_folder
from app.data_folder.private_files import SETTINGS_NAME, load_settings
from app.db.counts import RESPONSES
from app.db.raw_sql import raw
from app.db.sqlite.connection import open_writer, quiet_uri, trouble
from app.db.sqlite.schema import MIGRATIONS, applied


class DataFolder:
    """As `StorePlace` says. Its lock is held meanwhile."""

    trouble = staticmethod(trouble)

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.name, self._folder, self._read_only = str(folder), folder, read_only
        self._path = folder / FILE_NAME
        self.database, self.is_new = SqliteDatabase(str(self._path), autoconnect=False), True

    @contextmanager
    def opened(self) -> Iterator[None]:
        if self._read_only and not size_of(self._path):
            raise StoreCopyError(f"There is no Hookline data in {self.name}. Check the folder; nothing was copied.")
        lock = self._lock()
        try:
            require_database(self._folder)
            self._used = " ".join(map(_last_change, (self._path, companions(self._path)[0])))
            if size_of(self._path):
                self._connect(SqliteDatabase(quiet_uri(self._path), uri=True, autoconnect=False))
                self._check_version()
            yield
        finally:
            self._close()
            lock.release(unchecked=lock.was_unclean)

    def used(self) -> str:
        return self._used

    def require_room(self, uses: Mapping[int, int]) -> None:
        if self._folder.exists() and not self._folder.is_dir():
            raise StoreCopyError(f"{self.name} is a file. Name the data folder that it is in; nothing was copied.")
        settings, has_limit = load_settings(self._folder), (self._folder / SETTINGS_NAME).exists()
        responses = uses[RESPONSES]
        stored = sum(uses.values()) - responses
        disk = shutil.disk_usage(next(one for one in (self._folder, *self._folder.parents) if one.exists()))
        free = disk.free - reserve_size(settings.disk_reserve, disk.total) + size_on_disk(self._path)
        if free < stored + responses:
            raise StoreCopyError(
                f"The copy takes about {size_text(stored + responses)}, and the disk of {self.name} has"
                f" {size_text(max(0, free))} for it. Free some space; nothing was copied."
            )
        for setting, limit, needed in (
            ("storage_limit", settings.storage_limit if has_limit else None, stored),
            ("response_limit", settings.response_limit, responses),
        ):
            if limit is not None and needed > limit:
                raise StoreCopyError(
                    f"The copy takes {size_text(needed)}, more than the {setting} of {self.name},"
                    f" {exact_size(limit)}. Raise that setting there; nothing was copied."
                )

    def create(self) -> None:
        self._close()
        self._connect(open_writer(self._path))

    def make_place(self, seqs: Sequence[int]) -> None:
        """A table has it."""

    def empty(self) -> None:
        self._close()
        remove_database(self._path)
        self.create()

    def _lock(self) -> FolderLock:
        try:
            return lock_folder(self._folder)
        except FolderInUseError as error:
            who = f"process {error.pid}" if error.pid else "another process"
            raise StoreCopyError(
                f"{self.name} is in use by Hookline ({who}). Close it first; nothing was copied."
            ) from error

    def _check_version(self) -> None:
        known = [name for name, _ in MIGRATIONS]
        names = applied(raw(self.database), self._path, known)
        self.is_new = not names
        if self._read_only and set(known) - set(names):
            raise StoreCopyError(
                f"{self.name} was written by an older Hookline. Start this one on it once; nothing was copied."
            )

    def _connect(self, database: SqliteDatabase) -> None:
        self.database = database
        if database.is_closed():
            database.connect()

    def _close(self) -> None:
        self.database.close()


def _last_change(file: Path) -> str:
    """Without a byte, a log is none."""
    return f"{file.stat().st_mtime_ns}" if size_of(file) else ""

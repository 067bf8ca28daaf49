"""Connections to the database file: it is checked before it is opened for writing, then opened with the pragmas
below."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import peewee
from peewee import SqliteDatabase

from app.core.errors import DamagedDatabaseError, DataFolderError
from app.data_folder.database_files import START_MIN_FREE, companions
from app.db.models import AccountModel
from app.db.raw_sql import raw
from app.db.sqlite.schema import MIGRATIONS, Migration, applied, migrate

BUSY_S = 2.0
AUTOCHECKPOINT = 2_000
"""Pages in the log that trigger a checkpoint."""
FILE_SIZE_MIN = 512
"""Bytes of the smallest non-empty database: one page of the smallest size."""

_PRAGMAS = [
    # Takes effect only while the file holds no table, and only ahead of the journal mode.
    ("auto_vacuum", "incremental"),
    ("journal_mode", "wal"),
    ("foreign_keys", "on"),
    ("secure_delete", "fast"),
    ("cache_size", -16_000),
    ("temp_store", "memory"),
    ("wal_autocheckpoint", AUTOCHECKPOINT),
    ("journal_size_limit", 32 * 1024 * 1024),
]
_WRITER_STATEMENTS = 400
"""Kept prepared: inserts of any number of rows into four tables (`ManyRows`), and all others."""
_READ_PRAGMAS = [("query_only", "on"), ("cache_size", -8_000), ("temp_store", "memory")]

# sqlite3 looks for an adapter of every value that is no int, float, str or bytearray, and makes exceptions while it
# finds none: a microsecond, five times as long as the rest, and a capture has six such values. These change nothing.
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(bytes, bytes)
sqlite3.register_adapter(type(None), lambda none: none)

_LOCKED_TEXT = "Another program has locked the database. Close that program."
_DAMAGED_TEXT = f"The database file is damaged. {DamagedDatabaseError.REPAIR}"
_REASONS = {
    sqlite3.SQLITE_FULL: "The disk is full. Free some space.",
    sqlite3.SQLITE_BUSY: _LOCKED_TEXT,
    sqlite3.SQLITE_LOCKED: _LOCKED_TEXT,
    sqlite3.SQLITE_PROTOCOL: _LOCKED_TEXT,
    sqlite3.SQLITE_READONLY: "The database is read-only. Check the permissions of the file and its folder.",
    sqlite3.SQLITE_PERM: "The database cannot be written. Check the permissions of the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "The database cannot be opened. Check the permissions of the file and its folder.",
    sqlite3.SQLITE_IOERR: "The disk reported an error. Check that it is connected, healthy and not full.",
    sqlite3.SQLITE_CORRUPT: _DAMAGED_TEXT,
    sqlite3.SQLITE_NOTADB: _DAMAGED_TEXT,
}
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


class FileMovedError(Exception):
    """The database file was moved or cannot be reached: anything written would be lost. `is_lost`: what was stored is
    only in the files that Hookline still has open."""

    def __init__(self, text: str, *, is_lost: bool = False) -> None:
        super().__init__(text)
        self.is_lost = is_lost


class FileDamagedError(Exception):
    """Another program has overwritten or cut the database file: what is stored could not be read again."""


def trouble(error: BaseException) -> str | None:
    """Why nothing can be stored, in sentences; None when `error` is a bug of the program."""
    if isinstance(error, FileMovedError | FileDamagedError):
        return str(error)
    code = _code(error)
    return None if code is None else _REASONS.get(code)


def is_out_of_space(error: BaseException) -> bool:
    """Whether a full disk may be the cause: SQLite reports an input or output error when the log's index cannot
    grow."""
    return _code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def is_unreadable(error: BaseException) -> bool:
    """Whether the file may be damaged, or the disk."""
    return _code(error) in (*_DAMAGE, sqlite3.SQLITE_IOERR)


def is_damage(error: BaseException | None) -> bool:
    """Whether the error means that the database file is damaged."""
    return error is not None and _code(error) in _DAMAGE


def _code(error: BaseException) -> int | None:
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)  # peewee wraps what sqlite3 raises
    return None if code is None else int(code) & 0xFF


def open_writer(
    path: Path, migrations: Sequence[tuple[str, Migration]] = MIGRATIONS, *, fsync: bool = True
) -> SqliteDatabase:
    """The calling thread's writing connection, to a file that is created or migrated if need be. Without `fsync` a
    commit does not wait for the disk.

    DamagedDatabaseError, NewerDatabaseError or DataFolderError otherwise; an unusable file is left unchanged.
    """
    with _explained(path):
        _check_file(path, [name for name, _ in migrations])
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        pragmas = [("synchronous", "full" if fsync else "off"), *_PRAGMAS]
        database = SqliteDatabase(
            str(path), pragmas=pragmas, timeout=BUSY_S, autoconnect=False, cached_statements=_WRITER_STATEMENTS
        )
        database.connect()
        try:
            _require_wal(database, path)
            migrate(database, path, migrations)
            AccountModel.update(id=AccountModel.id).execute(database)
            _set_number(raw(database))
            for file in (path, *companions(path)):
                if file.exists():
                    file.chmod(0o600)
        except BaseException:
            database.close()
            raise
    return database


def reader_database(path: Path) -> SqliteDatabase:
    """A database that each thread may connect to for reading only."""
    return SqliteDatabase(read_only_uri(path), pragmas=_READ_PRAGMAS, timeout=BUSY_S, autoconnect=False, uri=True)


def read_only_uri(path: Path) -> str:
    """The URI that opens the database for reading only."""
    return f"{path.absolute().as_uri()}?mode=ro"


def quiet_uri(path: Path) -> str:
    """The URI that reads a database which may be in use, without files that SQLite makes beside one."""
    uri = read_only_uri(path)
    return uri if companions(path)[0].exists() else f"{uri}&immutable=1"


@contextlib.contextmanager
def snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """A read transaction on a database that may be in use."""
    connection = sqlite3.connect(quiet_uri(path), uri=True, timeout=BUSY_S, isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # which begins it
        yield connection


def checkpoint(connection: sqlite3.Connection, mode: str) -> bool:
    """Move the log's content into the database file; whether all of it is there now."""
    busy, logged, moved = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return not busy and bool(logged == moved)


def store_number(instance_id: str) -> int:
    """What the header of this store's file has as `user_version`: the database of another store has another."""
    return zlib.crc32(instance_id.encode()) >> 1


def _set_number(connection: sqlite3.Connection) -> None:
    """Have the number in the file itself, not only in the log."""
    (instance_id,) = connection.execute("SELECT instance_id FROM account").fetchone()
    number = store_number(instance_id)
    if connection.execute("PRAGMA user_version").fetchone() != (number,):
        connection.execute(f"PRAGMA user_version = {number}")
        checkpoint(connection, "PASSIVE")


def _check_file(path: Path, known: Sequence[str]) -> None:
    """Reject a file that is not Hookline's or not readable, before anything is opened for writing."""
    log = companions(path)[0]
    logged = log.exists() and log.stat().st_size > 0
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        if logged:
            raise DamagedDatabaseError(
                f"{path} is missing or empty, yet {log.name} holds data. Put the database back beside it,"
                " or move both away to start with an empty one.",
                path.parent,
            )
        return
    if not path.is_file():
        message = f"{path} is not a file. Move it away, or choose another folder with --data-dir."
        raise DataFolderError(message, path.parent)
    if path.stat().st_size < FILE_SIZE_MIN:
        raise damaged(path)  # SQLite would treat it as empty
    if path.with_name(path.name + "-journal").exists():
        return  # interrupted while it was created: only a writing connection can undo that
    mode = "mode=ro" if logged else "immutable=1"  # immutable leaves no companions behind
    uri = f"{path.absolute().as_uri()}?{mode}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as connection:
        applied(connection, path, known)


def damaged(path: Path) -> DamagedDatabaseError:
    """The error for a file that cannot be used."""
    return DamagedDatabaseError(f"{path} is damaged or not a database. It was not changed.", path.parent)


def _require_wal(database: SqliteDatabase, path: Path) -> None:
    (mode,) = raw(database).execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        raise DataFolderError(
            f"{path.parent} is on a file system that does not support SQLite's log (a network drive?)."
            " Choose a folder on a local disk with --data-dir.",
            path.parent,
        )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (peewee.DatabaseError, sqlite3.DatabaseError) as error:
        reason, code = trouble(error), _code(error)
        if reason is None:
            raise
        if code in _DAMAGE:
            raise damaged(path) from error
        if code in _LOCKED:
            message = f"{path} is locked by another program. Close that program, then start Hookline again."
        else:
            # A log that cannot grow is a full disk, but its index that cannot is an error of the disk.
            full = is_out_of_space(error) and shutil.disk_usage(path.parent).free < START_MIN_FREE
            message = f"{path} cannot be used. {_REASONS[sqlite3.SQLITE_FULL] if full else reason}"
        raise DataFolderError(message, path.parent) from error
    except OSError as error:
        message = f"{path} cannot be used: {error.strerror}. Check the folder's permissions and the disk."
        raise DataFolderError(message, path.parent) from error

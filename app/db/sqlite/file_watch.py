"""Notices when another program moves, replaces, overwrites or cuts the database while it is open.

SQLite would not: it writes what is new to its log, and reads the rest from its cache. It writes the database itself
only in a checkpoint, and all of Hookline's are made by the writer. So any other change of the file's size or times was
made by another program. A look costs two `stat` calls. It is made before each commit, and again before
the commit is acknowledged.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from app.data_folder.database_files import companions, file_identity, size_of, unused_name
from app.db.body_parts import keys_of
from app.db.sqlite.connection import BUSY_S, FileDamagedError, FileMovedError, is_damage, read_only_uri, store_number

_MAGIC = b"SQLite format 3\0"
_HEADER_SIZE = 100

_NEWEST = "SELECT seq, id, endpoint_id, received_at, body_key FROM capture ORDER BY seq DESC LIMIT 1"
_FOUND_AGAIN = (
    "SELECT (SELECT seq FROM capture WHERE id = :id), (SELECT count(*) FROM capture INDEXED BY capture_list"
    " WHERE endpoint_id = :endpoint AND received_at = :at AND id = :id),"
    " (SELECT total(length(data)) FROM capture_body WHERE key BETWEEN :first AND :last)"
)


class FileWatch:
    """Used on the writer's thread. It keeps the file open: closing a descriptor would end SQLite's locks on it."""

    def __init__(self, path: Path, instance_id: str) -> None:
        self._path, self._file, self._log = path, str(path), str(companions(path)[0])
        self._number = store_number(instance_id)
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._identity, self._log_identity = file_identity(self._file), file_identity(self._log)
        self._page_size = int.from_bytes(self._header()[16:18])
        self._stamp = self._look()
        self.unread = False
        """Whether the file was accepted after what it has was last read: a change during a commit is a checkpoint's,
        or another program's too."""

    def close(self) -> None:
        """After SQLite's connections."""
        os.close(self._descriptor)

    def is_unchanged(self) -> bool:
        """Whether nobody has written to the file since `accept`. FileMovedError when it, or its log, is another one."""
        stamp = self._look()
        self._require(self._log, self._log_identity, _identity(self._log))
        return stamp == self._stamp

    def accept(self) -> None:
        """Take the file as it is now for Hookline's, after a look at its header. FileMovedError, FileDamagedError."""
        stamp = self._look()
        try:
            header, size = self._header(), os.fstat(self._descriptor).st_size
        except OSError as error:
            raise _unreachable(self._file, error) from error
        pages, number = int.from_bytes(header[28:32]), int.from_bytes(header[60:64])
        if not header.startswith(_MAGIC) or int.from_bytes(header[16:18]) != self._page_size:
            raise self._damaged("was overwritten")
        if number != self._number:
            raise self._damaged("was overwritten with another database")
        # A checkpoint that a full disk stops leaves a header that names pages which are still in the log alone.
        is_shorter = size < self._stamp[0]
        if is_shorter and pages * (self._page_size if self._page_size > 1 else 65_536) > size:
            raise self._damaged("was cut")
        self._stamp, self.unread = stamp, True

    def read_back(self, connection: sqlite3.Connection) -> None:
        """FileDamagedError unless a new connection, without the cache of the writer's `connection`, finds what that has
        stored last. sqlite3.Error when it cannot be read for another reason."""
        self.accept()  # first: opening an empty file would delete its log
        try:
            newest = connection.execute(_NEWEST).fetchone()
            uri = read_only_uri(self._path)
            with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as other:
                if other.execute(_NEWEST).fetchone() != newest:
                    raise self._damaged("was overwritten")
                if newest is not None:
                    seq, name, endpoint, at, body_key = newest
                    first, last = keys_of(seq, body_key)
                    values = {"id": name, "endpoint": endpoint, "at": at, "first": first, "last": last}
                    if other.execute(_FOUND_AGAIN, values).fetchone()[:2] != (seq, 1):
                        raise self._damaged("was overwritten")
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            raise self._damaged(f"is damaged ({error})") from error
        self.unread = False

    @contextlib.contextmanager
    def kept_log(self) -> Iterator[None]:
        """Close the last connection within this: the log is kept under another name and not moved into a file that is
        not its own."""
        log, index = companions(self._path)
        with contextlib.suppress(OSError):
            if size_of(log):
                shutil.copyfile(log, unused_name(self._path, "log"))
        other = None
        if size_of(self._path):  # SQLite deletes the log of an empty file
            # SQLite moves the log into the file when the last connection is closed, and this one cannot write.
            other = sqlite3.connect(read_only_uri(self._path), uri=True, isolation_level=None)
            with contextlib.suppress(sqlite3.DatabaseError):
                other.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield
        if other is not None:
            other.close()
        for file in (log, index):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)

    def _look(self) -> tuple[int, int, int]:
        """Size and times."""
        found = _stat(self._file)
        self._require(self._file, self._identity, found and (found.st_dev, found.st_ino))
        assert found is not None
        return found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _require(self, file: str, identity: tuple[int, int] | None, found: tuple[int, int] | None) -> None:
        if found == identity:
            return
        text = f"{file} was moved, replaced or deleted. Put it back, or restart Hookline."
        is_lost = file == self._log or os.fstat(self._descriptor).st_nlink == 0
        raise FileMovedError(text, is_lost=is_lost)

    def _header(self) -> bytes:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, _HEADER_SIZE).ljust(_HEADER_SIZE, b"\0")

    def _damaged(self, what: str) -> FileDamagedError:
        return FileDamagedError(
            f"{self._path} {what} while Hookline was using it. Close Hookline, then restore a backup"
            " (hookline restore FILE)."
        )


def _stat(file: str) -> os.stat_result | None:
    try:
        return os.stat(file)  # a Path costs three times as much
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreachable(file, error) from error


def _unreachable(file: str, error: OSError) -> FileMovedError:
    return FileMovedError(f"{file} cannot be reached: {error.strerror}. Check the folder's permissions and the disk.")


def _identity(file: str) -> tuple[int, int] | None:
    found = _stat(file)
    return found and (found.st_dev, found.st_ino)

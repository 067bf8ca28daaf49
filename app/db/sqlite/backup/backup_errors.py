"""What the disk and SQLite report during a backup or a restore, in words."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from app.core.errors import BackupError
from app.db.sqlite.connection import trouble


@contextlib.contextmanager
def backup_errors(failure: str) -> Iterator[None]:
    """Raise them as a BackupError that begins with `failure`, a sentence without its full stop."""
    try:
        yield
    except sqlite3.Error as error:
        reason = trouble(error)
        if reason is None:
            raise
        raise BackupError(f"{failure}. {reason}") from error
    except OSError as error:
        raise BackupError(f"{failure}: {error.strerror or error}. Check the permissions and the disk.") from error

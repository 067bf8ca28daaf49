"""Checks of the database, its search index and the targets in it for `hookline doctor`; both files may be in use, and
neither is changed."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from peewee import PeeweeException, SqliteDatabase

from app.core.backup import BackupStep, Report
from app.core.clock import rfc3339
from app.core.doctor import Finding, ok, problem, warning
from app.core.errors import DamagedDatabaseError, DataFolderError, MissingDatabaseError
from app.core.sizes import MIB
from app.core.text import clock_text, count_of, size_text
from app.data_folder.database_files import FILE_NAME, INDEX_NAME, companions, require_database, size_of, size_on_disk
from app.db.deliveries.targets import NO_TARGETS, forwarding_finding
from app.db.endpoints import FINISH_COPY
from app.db.sqlite.connection import quiet_uri, snapshot, trouble
from app.db.sqlite.damage import damaged_bodies, find_damage
from app.db.sqlite.retention import find_problem, last_seen
from app.db.sqlite.schema import MIGRATIONS, OLDEST, applied, schema_problem

LOG_LARGE = 256 * MIB
QUICK_S = 30.0
"""A check without `--full` ends after this time."""


class _OutOfTimeError(Exception):
    """The check took longer than it may."""


def check_database(folder: Path, *, full: bool) -> Finding:
    """Whether the file is sound, and this version can use it. `full` also checks indexes, parents and the
    SHA-256 of bodies, however long."""
    path = folder / FILE_NAME
    if not size_of(path):
        return _missing(folder)
    end = time.monotonic() + QUICK_S

    def report(step: BackupStep, done: int, total: int) -> None:
        if not full and time.monotonic() > end:
            raise _OutOfTimeError

    try:
        with snapshot(path) as connection:
            names = applied(connection, path, [name for name, _ in MIGRATIONS])
            older = len(MIGRATIONS) - len([name for name in names if name != OLDEST])
            changed = None if older else schema_problem(connection)
            sound = not older and changed is None
            copied = connection.execute("SELECT name FROM unfinished_copy").fetchone() if sound else None
        found = _find_problem(path, report, changed, full=full)
    except _OutOfTimeError:
        advice = "To check all of it, however long that takes: hookline doctor --full"
        return warning(f"{_described(path)}; not checked to its end within {QUICK_S:g} s.", advice)
    except sqlite3.DatabaseError as error:
        return problem(f"{path} cannot be read: {trouble(error) or error}", DamagedDatabaseError.REPAIR)
    except DataFolderError as error:
        return problem(str(error))
    if found is not None:
        return found
    if copied is not None:
        return problem(f"{path} is an unfinished copy of {copied[0]}.", FINISH_COPY)
    log_size = size_of(companions(path)[0]) or 0
    if log_size > LOG_LARGE:
        advice = "Close other programs that have the database open, then restart Hookline."
        return warning(f"{_described(path)}, but its log has grown to {size_text(log_size)}.", advice)
    version = f"; {count_of(older, 'migration')} will be applied at the next start" if older else ""
    return ok(f"{_described(path)}, sound{version}")


def _find_problem(path: Path, report: Report, changed: str | None, *, full: bool) -> Finding | None:
    found = find_damage(path, report, thorough=full)
    if found is not None:
        return problem(f"{path} is damaged: {found}.", DamagedDatabaseError.REPAIR)
    if changed is not None:
        return problem(f"{path} was changed by another program: {changed}.", DamagedDatabaseError.REPAIR)
    if full and (damaged := damaged_bodies(path, report)):
        number = count_of(len(damaged), "damaged body", "damaged bodies")
        text = f"{path} has {number}, not what was received (by their SHA-256). The first is of request"
        advice = "An older backup may have them intact. They are neither forwarded nor replayed."
        return problem(f"{text} {damaged[0]}.", advice)
    return None


def check_index(folder: Path, *, in_use: bool) -> Finding:
    """Whether the search index has all requests. A running Hookline has it for itself."""
    file = folder / INDEX_NAME
    if in_use:
        return ok("in use by the running Hookline")
    if not size_of(file) or not size_of(folder / FILE_NAME):
        return ok("none yet; Hookline makes it while it runs")
    try:
        with snapshot(file) as index, snapshot(folder / FILE_NAME) as store:
            (upto,) = index.execute("SELECT upto FROM state").fetchone()
            (missing,) = store.execute("SELECT count(*) FROM capture WHERE seq > ?", (upto,)).fetchone()
    except (sqlite3.DatabaseError, TypeError) as error:
        return warning(f"{file} cannot be read: {error}.", "Nothing to do: Hookline rebuilds it while it runs.")
    if missing:
        return ok(f"{count_of(missing, 'request')} still to be indexed, while Hookline runs")
    return ok(f"complete, {size_text(size_of(file) or 0)}")


def check_clock(folder: Path, now: int) -> Finding:
    """Whether the clock agrees with what the store last saw."""
    path = folder / FILE_NAME
    if not size_of(path):
        return ok(rfc3339(now))
    try:
        with _connected(path) as database:
            found, seen = find_problem(database, now), last_seen(database)
    except Exception as error:  # a damaged or older database, which another check tells
        return warning(f"It cannot be compared with the database: {error}.", "See the check of the database.")
    if found is not None:
        reason, advice = clock_text(found)
        return warning(reason, f"{advice} To resume: hookline retention resume")
    return ok(f"agrees with the database, which last saw {rfc3339(seen)[:19]}Z" if seen else rfc3339(now))


def check_forwarding(folder: Path) -> Finding:
    """Whether a target is paused or failing."""
    path = folder / FILE_NAME
    if not size_of(path):
        return NO_TARGETS
    try:
        with _connected(path) as database:
            return forwarding_finding(database)
    except (sqlite3.DatabaseError, PeeweeException) as error:
        return warning(f"The targets cannot be read: {error}.", "See the check of the database.")


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(quiet_uri(path), uri=True, autoconnect=False)
    database.connect()
    try:
        yield database
    finally:
        with contextlib.suppress(PeeweeException):
            database.close()


def _missing(folder: Path) -> Finding:
    try:
        require_database(folder)
    except MissingDatabaseError as error:
        return problem(str(error), "Put it back, restore a backup, or start with --new-database.")
    return ok("none yet; it is created at the first start")


def _described(path: Path) -> str:
    return f"{size_text(size_on_disk(path))} with its log and search index"

"""Finds damage in a database that may be in use: by SQLite's own checks, and by the SHA-256 of all bodies;
in the background after an unclean stop, or when damage is suspected.

SQLite keeps no checksums, so its checks find pages that are misplaced, and none whose content has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Event as Flag
from threading import Thread

from app.core.backup import Report
from app.core.events import DatabaseDamaged, Event
from app.core.sizes import MIB
from app.core.text import count_of
from app.data_folder.database_files import companions
from app.db.body_parts import keys_of
from app.db.sqlite.connection import read_only_uri, snapshot

log = logging.getLogger(__name__)

_CHECK_OPERATIONS = 200_000
"""SQLite's operations between two reports of a check, some milliseconds."""
REPORT_EVERY = 4 * MIB
ROW_COST = 4 * 1024
"""A request without a body counts as this many bytes."""
_PARTS = "SELECT data FROM capture_body WHERE key BETWEEN ? AND ? ORDER BY key"


def find_damage(path: Path, report: Report, *, thorough: bool) -> str | None:
    """The first problem of a database, None when it is sound. It may be in use.

    `thorough` also compares indexes with their tables and looks for missing parents. sqlite3.DatabaseError when it
    cannot be opened.
    """
    size = path.stat().st_size
    raised: list[BaseException] = []

    def interrupt() -> bool:
        try:
            report("checking", size, size)
        except BaseException as error:  # a Ctrl-C too: SQLite must not swallow it
            raised.append(error)
        return bool(raised)

    with snapshot(path) as connection:
        connection.set_progress_handler(interrupt, _CHECK_OPERATIONS)
        interrupt()
        try:
            found = _first_problem(connection, thorough=thorough)
        except sqlite3.DatabaseError as error:
            found = str(error)
        connection.set_progress_handler(None, 0)
        if raised:
            raise raised[0]
    return found


def _first_problem(connection: sqlite3.Connection, *, thorough: bool) -> str | None:
    """As `find_damage`."""
    check = "integrity_check" if thorough else "quick_check"
    (found,) = connection.execute(f"PRAGMA {check}(1)").fetchone()
    if found != "ok":
        return str(found).splitlines()[-1]
    missing = connection.execute("PRAGMA foreign_key_check").fetchone() if thorough else None
    return None if missing is None else f"row {missing[1]} of {missing[0]} belongs to none of {missing[2]}"


def damaged_bodies(path: Path, report: Report) -> list[str]:
    """The IDs of the requests whose bodies are damaged, in one pass over a database that may be in use.

    sqlite3.DatabaseError when it cannot be read.
    """
    size = path.stat().st_size
    found, done = [], 0
    with snapshot(path) as connection:
        for seq, body_key, name, digest in connection.execute("SELECT seq, body_key, id, sha256 FROM capture"):
            actual = sha256()
            for (part,) in connection.execute(_PARTS, keys_of(seq, body_key)):
                actual.update(part)
                done += len(part)
            if actual.hexdigest() != digest:
                found.append(name)
            done += ROW_COST
            if done > REPORT_EVERY:
                done = 0
                report("checking", size, size)
    return found


DELAY_S = 5.0
"""The check waits for the start to finish."""
PAUSE_S = 0.05
"""The pause between tables, which leaves the disk to others."""
LOG_MAX = 64 * MIB
"""While a table is read, the log cannot restart. When it has grown to this size, the check is interrupted and retried
later."""
RETRY_S = 30.0
AGAIN_S = 600.0
"""Damage that is suspected sooner after a check began starts no other."""
WATCH_S = 0.5


class IntegrityCheck:
    """`PRAGMA quick_check` on a connection and a thread of its own. Public methods are called on the loop's thread.

    It compares no contents, because SQLite keeps no checksums. It finds pages that are torn, empty or misplaced.
    """

    def __init__(self, path: Path, publish: Callable[[Event], None], has_room: Callable[[], bool]) -> None:
        self._path, self._publish, self._has_room = path, publish, has_room
        self._loop = asyncio.get_running_loop()
        self._thread: Thread | None = None
        self._stopping = Flag()
        self._connection: sqlite3.Connection | None = None
        self._begun_at: float | None = None
        self._ended = False
        self.finished = self.sound = False

    def start(self) -> None:
        """Check, unless that was begun a short time ago; damage is published as DatabaseDamaged."""
        now = time.monotonic()
        if self._begun_at is None or (now - self._begun_at > AGAIN_S and self._ended):
            self._begun_at, self._ended = now, False
            self._thread = Thread(target=self._main, name="hookline-integrity", daemon=True)
            self._thread.start()

    async def stop(self) -> None:
        """Stop at the current table; the next start checks again. Twice is harmless."""
        self._stopping.set()
        if self._thread is None:
            return
        while self._thread.is_alive():
            self._interrupt()
            await asyncio.sleep(0.01)
        self._thread.join()

    # -- on its own threads --------------------------------------------------------------------------------------

    def _main(self) -> None:
        if self._stopping.wait(DELAY_S):
            return
        try:
            with contextlib.closing(sqlite3.connect(read_only_uri(self._path), uri=True)) as connection:
                problems = self._check(connection)
        except sqlite3.OperationalError as error:
            log.warning("the database could not be checked: %s", error)
            return
        except sqlite3.DatabaseError as error:
            problems = [str(error)]  # damaged where the tables are named
        finally:
            self._connection = None
            self._ended = True
        if problems is not None:
            self._loop.call_soon_threadsafe(self._report, problems)

    def _check(self, connection: sqlite3.Connection) -> list[str] | None:
        """The problems found; None when it was stopped."""
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA cache_size = -2000")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        self._connection = connection
        Thread(target=self._watch_log, name="hookline-integrity-log", daemon=True).start()
        problems: list[str] = []
        for table in tables:
            while not self._stopping.wait(PAUSE_S):
                try:
                    found = [str(text) for (text,) in connection.execute(f"PRAGMA quick_check({table})")]
                except sqlite3.DatabaseError as error:
                    if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_INTERRUPT:
                        log.debug("checking %s is put off", table)
                        self._stopping.wait(RETRY_S)
                        continue
                    found = [str(error)]
                problems += [f"{table}: {text}" for text in found if text != "ok"]
                break
            if self._stopping.is_set():
                return None
        return problems

    def _watch_log(self) -> None:
        """Interrupt a check that keeps the log from restarting for too long."""
        log_file = companions(self._path)[0]
        while self._connection is not None and not self._stopping.wait(WATCH_S):
            with contextlib.suppress(OSError):
                if log_file.stat().st_size > LOG_MAX or not self._has_room():
                    self._interrupt()

    def _interrupt(self) -> None:
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):  # closed meanwhile
                connection.interrupt()

    # -- on the loop's thread ------------------------------------------------------------------------------------

    def _report(self, problems: list[str]) -> None:
        self.finished, self.sound = True, not problems
        if not problems:
            return
        first = problems[0].splitlines()[-1]
        reason = f"The database is damaged: {count_of(len(problems), 'problem')} found, such as “{first}”."
        log.warning("%s", reason)
        self._publish(DatabaseDamaged(reason=reason))

"""Finds damage in a database that may be in use: by SQLite's own checks, and by the SHA-256 of all bodies.

SQLite keeps no checksums, so its checks find pages that are misplaced, and none whose content has changed.
"""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

from app.core.backup import Report
from app.core.sizes import MIB
from app.db.body_parts import keys_of
from app.db.sqlite.connection import snapshot

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
            found = first_problem(connection, thorough=thorough)
        except sqlite3.DatabaseError as error:
            found = str(error)
        connection.set_progress_handler(None, 0)
        if raised:
            raise raised[0]
    return found


def first_problem(connection: sqlite3.Connection, *, thorough: bool) -> str | None:
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

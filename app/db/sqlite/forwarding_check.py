"""Doctor's look at the targets, in a file that is opened without the store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.core.clock import now_us
from app.core.doctor import Finding, warning
from app.data_folder.database_files import FILE_NAME, size_of
from app.db.deliveries.targets import TROUBLES
from app.db.forwarding_check import FORWARDING, NO_TARGETS, forwarding_finding
from app.db.raw_sql import of_sqlite
from app.db.sqlite.connection import snapshot


def check_forwarding(folder: Path) -> Finding:
    path = folder / FILE_NAME
    if not size_of(path):
        return NO_TARGETS
    try:
        with snapshot(path) as connection:
            troubles = connection.execute(of_sqlite(TROUBLES), {"now": now_us()}).fetchall()
            (count,) = connection.execute("SELECT count(*) FROM target").fetchone()
    except sqlite3.DatabaseError as error:
        return warning(FORWARDING, f"The targets cannot be read: {error}.", "See the check of the database.")
    return forwarding_finding(troubles, count)

"""Doctor's look at the targets, in a file that is opened without the store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.core.clock import now_us
from app.core.doctor import Finding, ok, warning
from app.core.text import count_of
from app.data_folder.database_files import FILE_NAME, size_of
from app.db.deliveries.targets import TROUBLES, to_troubles
from app.db.raw_sql import of_sqlite
from app.db.sqlite.connection import snapshot

FORWARDING = "Forwarding"


def check_forwarding(folder: Path) -> Finding:
    """A warning if a target is paused, or the last delivery to one failed."""
    path = folder / FILE_NAME
    if not size_of(path):
        return ok(FORWARDING, "no targets yet")
    try:
        with snapshot(path) as connection:
            troubles = to_troubles(connection.execute(of_sqlite(TROUBLES), {"now": now_us()}))
            (count,) = connection.execute("SELECT count(*) FROM target").fetchone()
    except sqlite3.DatabaseError as error:
        return warning(FORWARDING, f"The targets cannot be read: {error}.", "See the check of the database.")
    if not troubles:
        return ok(FORWARDING, f"{count_of(count, 'target')}, none is paused or failing" if count else "no targets yet")
    advice = " ".join(dict.fromkeys(trouble.advice + "." for trouble in troubles))
    return warning(FORWARDING, " ".join(trouble.text for trouble in troubles), advice)

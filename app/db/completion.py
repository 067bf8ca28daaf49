"""Slugs, ids and numbers for completing a command line, read from the database file, which is never created or
changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

FILE_NAME = "hookline.db"  # as in connection.py, which would load peewee
IDS_MAX = 50
Names = list[tuple[str, str]]
"""Each with a description."""


def stored_slugs(folder: Path) -> Names:
    """The endpoints' slugs with their names; empty where no store can be read."""
    return _read(folder, "SELECT slug, name FROM endpoint WHERE removed = 0 ORDER BY slug", ())


def stored_ids(folder: Path, beginning: str) -> Names:
    """The newest requests' ids that begin with `beginning`, with method and target; empty where no store can be
    read."""
    statement = (
        "SELECT id, method || ' ' || target FROM capture WHERE id >= ? AND id < ? AND endpoint_id NOT IN"
        " (SELECT id FROM endpoint WHERE removed) ORDER BY id DESC LIMIT ?"
    )
    return _read(folder, statement, (beginning, beginning + "g", IDS_MAX))


def stored_targets(folder: Path) -> Names:
    """The targets' numbers with endpoint and URL; empty where no store can be read."""
    statement = (
        "SELECT CAST(target.id AS TEXT), slug || ' to ' || url FROM target JOIN endpoint ON endpoint.id = endpoint_id"
        " WHERE removed = 0 ORDER BY target.id"
    )
    return _read(folder, statement, ())


def stored_replays(folder: Path) -> Names:
    """The newest replays' ids with their state; empty where no store can be read."""
    statement = "SELECT id, json_extract(progress, '$.state') FROM replay ORDER BY id DESC LIMIT ?"
    return _read(folder, statement, (IDS_MAX,))


def stored_deliveries(folder: Path, beginning: str) -> Names:
    """The newest deliveries' ids that begin with `beginning`, with state and URL; empty where no store can be read."""
    statement = (
        "SELECT id, state || ' ' || url FROM delivery WHERE id >= ? AND id < ? AND endpoint_id NOT IN"
        " (SELECT id FROM endpoint WHERE removed) ORDER BY id DESC LIMIT ?"
    )
    return _read(folder, statement, (beginning, beginning + "g", IDS_MAX))


def _read(folder: Path, statement: str, values: tuple[object, ...]) -> Names:
    path = folder / FILE_NAME
    # Without a log nobody is writing; SQLite would otherwise create one beside the file.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=0.2)) as connection:
            return connection.execute(statement, values).fetchall()
    except sqlite3.Error:
        return []

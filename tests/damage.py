"""Changes stored bodies, as a disk or another program may."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from app.core.model import PART_SIZE
from app.db.body_parts import FIRST_PART


def change_body(folder: Path, capture_id: str, part: int = 0) -> None:
    """Change the last byte of a part of this request's body."""
    _execute(
        folder,
        "UPDATE capture_body SET data = CAST(substr(data, 1, length(data) - 1) || x'58' AS BLOB) WHERE key = ?",
        _key(folder, capture_id, part),
    )


def lose_body(folder: Path, capture_id: str, part: int = 0) -> None:
    """Delete a part of this request's body."""
    _execute(folder, "DELETE FROM capture_body WHERE key = ?", _key(folder, capture_id, part))


def make_unreadable(folder: Path, table: str) -> None:
    """Zero the pages with rows of the table, and nothing else: SQLite reports them as damaged."""
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)
        ).fetchall()
    with (folder / "hookline.db").open("r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * 4096)
            file.write(bytes(4096))


def _key(folder: Path, capture_id: str, part: int) -> int:
    with closing(sqlite3.connect(folder / "hookline.db")) as connection:
        query = f"SELECT {FIRST_PART} FROM capture WHERE id = ?"
        (key,) = connection.execute(query, (capture_id,)).fetchone()
        return int(key) + part * PART_SIZE


def _execute(folder: Path, statement: str, key: int) -> None:
    with closing(sqlite3.connect(folder / "hookline.db")) as connection, connection:
        assert connection.execute(statement, (key,)).rowcount == 1

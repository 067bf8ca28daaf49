"""Changes stored bodies, as a disk or another program may."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from app.core.model import PART_SIZE
from app.db.body_parts import FIRST_PART
from tests.db.helpers import Place, as_asked, connect, query


def change_body(place: Place, capture_id: str, part: int = 0) -> None:
    """Make the last byte of a part of this request's body an X, or a Y where it is one."""
    other = "CASE substr(data, -1) WHEN x'58' THEN x'59' ELSE x'58' END"
    changed = (
        f"CAST(substr(data, 1, length(data) - 1) || {other} AS BLOB)"
        if isinstance(place, Path)
        else "set_byte(data, length(data) - 1, CASE get_byte(data, length(data) - 1) WHEN 88 THEN 89 ELSE 88 END)"
    )
    _change(place, f"UPDATE capture_body SET data = {changed} WHERE key = ? RETURNING key", capture_id, part)


def lose_body(place: Place, capture_id: str, part: int = 0) -> None:
    """Delete a part of this request's body."""
    _change(place, "DELETE FROM capture_body WHERE key = ? RETURNING key", capture_id, part)


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


def _change(place: Place, statement: str, capture_id: str, part: int) -> None:
    ((key,),) = query(place, f"SELECT {FIRST_PART} FROM capture WHERE id = ?", capture_id)
    with closing(connect(place)) as connection, connection:
        assert len(connection.execute(as_asked(place, statement), (key + part * PART_SIZE,)).fetchall()) == 1

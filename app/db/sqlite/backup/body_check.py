"""Compares all stored bodies with the SHA-256 of what was received: SQLite keeps no checksums, so its own checks find
pages that are misplaced, and none whose content has changed."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from app.core.backup import Report
from app.core.sizes import MIB
from app.db.sqlite.body_parts import keys_of
from app.db.sqlite.connection import snapshot

REPORT_EVERY = 4 * MIB
ROW_COST = 4 * 1024
"""A request without a body counts as this many bytes."""
_PARTS = "SELECT data FROM capture_body WHERE key BETWEEN ? AND ? ORDER BY key"


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

"""Compares all stored bodies with the SHA-256 of what was received: SQLite keeps no checksums, so its own checks find
pages that are misplaced, and none whose content has changed."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from app.core.backup import Report
from app.core.sizes import MIB
from app.db.copy import snapshot
from app.db.schema import PARTS_PER_BODY

REPORT_EVERY = 4 * MIB
ROW_COST = 4 * 1024
"""A request without a body counts as this many bytes."""


def damaged_bodies(path: Path, report: Report) -> list[str]:
    """The IDs of the requests whose bodies are damaged, in one pass over a database that may be in use.

    sqlite3.DatabaseError when it cannot be read.
    """
    size = path.stat().st_size
    found, done = [], 0
    with snapshot(path) as connection:
        parts = connection.execute("SELECT key, data FROM capture_body ORDER BY key")
        part = parts.fetchone()
        for seq, name, digest in connection.execute("SELECT seq, id, sha256 FROM capture ORDER BY seq"):
            actual = sha256()
            while part is not None and part[0] < (seq + 1) * PARTS_PER_BODY:
                if part[0] >= seq * PARTS_PER_BODY:  # others belong to no request
                    actual.update(part[1])
                    done += len(part[1])
                part = parts.fetchone()
            if actual.hexdigest() != digest:
                found.append(name)
            done += ROW_COST
            if done > REPORT_EVERY:
                done = 0
                report("checking", size, size)
    return found

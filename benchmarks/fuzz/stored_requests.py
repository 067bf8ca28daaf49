"""What the store holds, read from its file without the program: heads, bodies, sources."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.db.body_parts import keys_of
from app.db.models import decode_headers

_COLUMNS = "seq, id, method, target, http_version, headers, size, sha256, source_address, source_port, complete"


@dataclass(frozen=True)
class StoredRequest:
    """A row with its body; `damage` says what of it does not fit together."""

    seq: int
    id: str
    method: bytes
    target: bytes
    version: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    source: tuple[str, int]
    complete: bool
    damage: str = ""

    @property
    def head(self) -> str:
        """For people."""
        target = self.target if len(self.target) < 120 else self.target[:117] + b"..."
        state = "" if self.complete else ", incomplete"
        return f"{self.id}: {self.method.decode('latin-1')} {target.decode('latin-1')} ({len(self.body)} bytes{state})"


def read_stored(folder: Path, after: int = 0) -> Iterator[StoredRequest]:
    """The requests in the data folder numbered above `after`, in the order of storing."""
    with closing(sqlite3.connect(f"file:{folder / 'hookline.db'}?mode=ro", uri=True, timeout=10)) as database:
        database.execute("BEGIN")
        numbers = database.execute("SELECT seq, body_key FROM capture WHERE seq > ? ORDER BY seq", (after,)).fetchall()
        for number, body_key in numbers:
            row = database.execute(f"SELECT {_COLUMNS} FROM capture WHERE seq = ?", (number,)).fetchone()
            query = "SELECT data FROM capture_body WHERE key BETWEEN ? AND ? ORDER BY key"
            body = b"".join(part for (part,) in database.execute(query, keys_of(number, body_key)))
            yield _stored(row, body)


def count_stored(folder: Path) -> int:
    """How many requests there are."""
    with closing(sqlite3.connect(f"file:{folder / 'hookline.db'}?mode=ro", uri=True, timeout=10)) as database:
        return int(database.execute("SELECT count(*) FROM capture").fetchone()[0])


def _stored(row: tuple[int, str, str, str, str, bytes, int, str, str, int, int], body: bytes) -> StoredRequest:
    seq, capture_id, method, target, version, headers, size, digest, address, port, complete = row
    damage = ""
    if len(body) != size:
        damage = f"its size is {size} and its body has {len(body)} bytes"
    elif hashlib.sha256(body).hexdigest() != digest:
        damage = "its SHA-256 is not that of its body"
    return StoredRequest(
        seq=seq,
        id=capture_id,
        method=method.encode("latin-1"),
        target=target.encode("latin-1"),
        version=version.encode(),
        headers=tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in decode_headers(headers)),
        body=body,
        source=(address, port),
        complete=bool(complete),
        damage=damage,
    )

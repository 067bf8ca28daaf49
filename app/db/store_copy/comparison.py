"""Compares a copy with the original, as both are read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from typing import NamedTuple

from peewee import Database

from app.core.errors import StoreCopyError
from app.db.body_parts import keys_of
from app.db.queries import visible_sql
from app.db.raw_sql import execute, json_list, stream
from app.db.store_copy.requests import BELONGING, BYTES, ROWS
from app.db.store_copy.rows import LARGE_AT_ONCE, table_of


class Compared(NamedTuple):
    """What is compared of a request."""

    seq: int
    id: str
    endpoint_id: int
    size: int
    sha256: str
    body_key: int | None


class DifferenceError(StoreCopyError):
    """The copy is not what the original is."""


_NEXT = f"SELECT {', '.join(Compared._fields)} FROM capture WHERE seq > ? AND {visible_sql()} ORDER BY seq LIMIT ?"
_BODIES = "SELECT key, data FROM capture_body WHERE key"


def compare_next(source: Database, target: Database, after: int) -> tuple[Sequence[Compared], list[str]]:
    """Compare the next requests numbered above `after`, none if there are no more; also the ids of those whose bodies
    do not match their SHA-256 in either. Raises DifferenceError. Within a transaction of both."""
    originals, copies = (
        [Compared(*row) for row in execute(database, _NEXT, (after, ROWS))] for database in (source, target)
    )
    if originals != copies:
        raise DifferenceError("The requests in the copy are not those of the original.")
    values = (json_list([one.seq for one in copies]),)
    for model, condition in BELONGING.items():
        count = f"SELECT count(*) FROM {table_of(model)} WHERE {condition}"
        if execute(source, count, values).fetchone() != execute(target, count, values).fetchone():
            raise DifferenceError(f"The copy has not as many rows of {table_of(model)} as the original.")
    digests = dict(_digests(target, copies))
    damaged = [one for one in copies if digests[one.seq] != one.sha256]
    for seq, digest in _digests(source, damaged):
        if digest != digests[seq]:
            raise DifferenceError("A body in the copy is not that of the original.")
    return copies, [one.id for one in damaged]


def _digests(database: Database, requests: Sequence[Compared]) -> Iterator[tuple[int, str]]:
    """The SHA-256 of each body as it is stored."""
    short = [one for one in requests if one.body_key is None]
    found = dict.fromkeys((one.seq for one in short), _EMPTY)
    at_once = max(1, min(ROWS, BYTES // max((one.size for one in short), default=1)))
    with closing(stream(database, f"{_BODIES} IN numbers(?)", (json_list(found),), at_once=at_once)) as bodies:
        found.update((key, sha256(data).hexdigest()) for key, data in bodies)
    yield from found.items()
    for one in requests:
        if one.body_key is not None:
            digest, keys = sha256(), keys_of(one.seq, one.body_key)
            with closing(
                stream(database, f"{_BODIES} BETWEEN ? AND ? ORDER BY key", keys, at_once=LARGE_AT_ONCE)
            ) as parts:
                for _, data in parts:
                    digest.update(data)
            yield one.seq, digest.hexdigest()


_EMPTY = sha256().hexdigest()

"""Requests whose mirroring came to an outcome that few have: their own index names them, as the chart's does."""

from __future__ import annotations

from collections.abc import Iterable

from peewee import SqliteDatabase

from app.core.model import MirrorState
from app.core.search.query import Choice, Filter, Term
from app.db.raw import raw
from app.db.schema import MIRROR_CODE

_SEQS = """
SELECT seq FROM capture INDEXED BY capture_mirrored WHERE mirror IN ('d', 'f') AND complete = 1 AND mirror = ?1
UNION ALL SELECT seq FROM capture INDEXED BY capture_incomplete WHERE complete = 0 AND mirror = ?1 LIMIT ?2
"""


def outcome(terms: Iterable[Term]) -> MirrorState | None:
    """The outcome that every request looked for must have, if one is asked for."""
    for term in terms:
        if isinstance(term, Filter) and term.name == "mirror" and isinstance(term.condition, Choice):
            state = MirrorState(term.condition.value)
            if state in (MirrorState.DELIVERED, MirrorState.FAILED):
                return state
    return None


def seqs_of(database: SqliteDatabase, state: MirrorState, most: int) -> frozenset[int] | None:
    """The numbers of the requests with this outcome; None when there are more than `most`."""
    rows = raw(database).execute(_SEQS, (MIRROR_CODE[state], most + 1)).fetchall()
    return frozenset(seq for (seq,) in rows) if len(rows) <= most else None

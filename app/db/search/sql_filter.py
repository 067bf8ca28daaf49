"""What SQLite decides of a search: conditions on columns that leave out only requests that cannot match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from app.core.model import MirrorState, Record
from app.core.search.query import All, Choice, Either, Filter, Network, Not, Query, Range, Term, TimePoint
from app.core.search.walk import walk
from app.db.schema import MIRROR_CODE

Values = tuple[Any, ...]
Sql = tuple[str, Values]
TRUE: Sql = ("1", ())
LAST = 2**63 - 1

_MARKS = {
    "unread": "capture.is_read = 0",
    "read": "capture.is_read = 1",
    "incomplete": "capture.complete = 0",
    "starred": "EXISTS (SELECT 1 FROM capture_star WHERE capture_star.capture_seq = capture.seq)",
    "noted": "EXISTS (SELECT 1 FROM capture_note WHERE capture_note.capture_seq = capture.seq)",
}
_WHOLE = "SELECT seq FROM capture INDEXED BY capture_mirrored WHERE mirror IN ('d', 'f') AND complete = 1"
_CUT = "SELECT seq FROM capture INDEXED BY capture_incomplete WHERE complete = 0"
_WAITING = "SELECT capture_seq AS seq FROM delivery INDEXED BY delivery_queued WHERE state = 'queued'"
_RARE = {
    ("is", "incomplete"): (_CUT,),
    ("is", "starred"): ("SELECT capture_seq AS seq FROM capture_star",),
    ("is", "noted"): ("SELECT capture_seq AS seq FROM capture_note",),
    ("mirror", MirrorState.QUEUED.value): (_WAITING,),
    ("mirror", MirrorState.DELIVERED.value): (f"{_WHOLE} AND mirror = 'd'", f"{_CUT} AND mirror = 'd'"),
    ("mirror", MirrorState.FAILED.value): (f"{_WHOLE} AND mirror = 'f'", f"{_CUT} AND mirror = 'f'"),
}
"""Where the numbers of all requests with a mark, or with an outcome of their mirroring, stand together."""
_RARE_OTHERS = {
    ("mirror", MirrorState.NONE.value): (_WAITING, _WHOLE, f"{_CUT} AND mirror IN ('d', 'f')"),
}
"""Where those stand that have not."""


class SqlFilter(Record, frozen=True):
    """`where` is met by every request to be found, and, when `exact`, by no other.

    Otherwise SQLite answers the conditions `columns` for each row; each has the place of its filter in the search text.
    """

    terms: tuple[Term, ...]
    where: Sql
    exact: bool
    columns: tuple[tuple[int, Sql], ...]
    rare: tuple[str, ...]
    """Together they select the number of every request to be found, and maybe of others; empty: nothing does that."""
    since: int
    """Nothing received before this is found."""
    before: int
    """Nothing received at this time or later is found."""


def plan(query: Query, now: int) -> SqlFilter:
    """What SQLite can do for a search made at `now`."""
    narrowed = [_narrow(term, now) for term in query.terms]
    exact = all(whole for _, whole in narrowed)
    return SqlFilter(
        terms=query.terms,
        where=_join(" AND ", [sql for sql, _ in narrowed]),
        exact=exact,
        columns=() if exact else tuple(_columns(query, now)),
        rare=_rare(query.terms),
        since=max([0, *_times(query, "since", now)]),
        before=min([LAST, *_times(query, "before", now)]),
    )


def _times(query: Query, name: str, now: int) -> Iterator[int]:
    for term in query.terms:
        if isinstance(term, Filter) and term.name == name and isinstance(term.condition, TimePoint):
            yield term.condition.us(now)


def _rare(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """Of the first of these terms that has such selects: all must be met, so that one leaves few enough."""
    return next(filter(None, map(_rare_of, terms)), ())


def _rare_of(term: Term) -> tuple[str, ...]:
    if isinstance(term, Filter) and isinstance(term.condition, Choice):
        return _RARE.get((term.name, term.condition.value), ())
    if isinstance(term, Not) and isinstance(term.term, Filter) and isinstance(term.term.condition, Choice):
        return _RARE_OTHERS.get((term.term.name, term.term.condition.value), ())
    if isinstance(term, All):
        return _rare(term.terms)
    if isinstance(term, Either):
        parts = [_rare_of(part) for part in term.terms]
        return tuple(select for part in parts for select in part) if all(parts) else ()
    return ()


def _choice(column: str) -> Callable[[Filter, int], Sql | None]:
    def make(term: Filter, now: int) -> Sql | None:
        assert isinstance(term.condition, Choice)
        return f"capture.{column} = ?", (term.condition.value,)

    return make


def _named(column: str) -> Callable[[Filter, int], Sql | None]:
    def make(term: Filter, now: int) -> Sql | None:
        assert isinstance(term.condition, Choice)
        # Not looked at yet is no name: `-provider:stripe` finds it, as any other that Stripe did not send.
        return f"ifnull(capture.{column}, '') = ? COLLATE NOCASE", (term.condition.value,)

    return make


def _range(column: str) -> Callable[[Filter, int], Sql | None]:
    def make(term: Filter, now: int) -> Sql | None:
        assert isinstance(term.condition, Range)
        low, high = term.condition.low, term.condition.high
        parts = [(f"capture.{column} >= ?", (low,)) for _ in [0] if low is not None]
        parts += [(f"capture.{column} <= ?", (high,)) for _ in [0] if high is not None]
        return _join(" AND ", parts)

    return make


def _mirror(term: Filter, now: int) -> Sql | None:
    assert isinstance(term.condition, Choice)
    return "capture.mirror = ?", (MIRROR_CODE[MirrorState(term.condition.value)],)


def _moment(operator: str) -> Callable[[Filter, int], Sql | None]:
    def make(term: Filter, now: int) -> Sql | None:
        assert isinstance(term.condition, TimePoint)
        return f"capture.received_at {operator} ?", (term.condition.us(now),)

    return make


def _mark(term: Filter, now: int) -> Sql | None:
    assert isinstance(term.condition, Choice)
    return _MARKS[term.condition.value], ()


def _source(term: Filter, now: int) -> Sql | None:
    assert isinstance(term.condition, Network)
    if "/" in term.condition.network:
        return None
    return "capture.source_address = ?", (term.condition.network,)


COLUMNS: dict[str, Callable[[Filter, int], Sql | None]] = {
    "method": _choice("method"),
    "provider": _named("provider"),
    "event": _named("event"),
    "status": _range("reply_status"),
    "mirror": _mirror,
    "size": _range("size"),
    "since": _moment(">="),
    "before": _moment("<"),
    "is": _mark,
    "from": _source,
}
"""The filters that columns answer; None from a function: this one they cannot."""


def _column(term: Filter, now: int) -> Sql | None:
    make = COLUMNS.get(term.name)
    return make(term, now) if make else None


def _narrow(term: Term, now: int) -> tuple[Sql, bool]:
    """A condition that holds wherever the term is met, and whether it holds nowhere else."""
    if isinstance(term, Filter):
        sql = _column(term, now)
        return (sql, True) if sql else (TRUE, False)
    if isinstance(term, Not):
        inner, whole = _narrow(term.term, now)
        return ((f"NOT ({inner[0]})", inner[1]), True) if whole else (TRUE, False)
    if isinstance(term, All | Either):
        parts = [_narrow(part, now) for part in term.terms]
        whole = all(exact for _, exact in parts)
        joined = _join(" AND " if isinstance(term, All) else " OR ", [sql for sql, _ in parts])
        return joined, whole
    return TRUE, False


def _join(operator: str, parts: list[Sql]) -> Sql:
    if not parts:
        return TRUE
    return operator.join(f"({text})" for text, _ in parts), tuple(value for _, values in parts for value in values)


def _columns(query: Query, now: int) -> Iterator[tuple[int, Sql]]:
    for leaf in walk(query.terms):
        sql = _column(leaf.term, now) if isinstance(leaf.term, Filter) else None
        if sql:
            yield leaf.term.start, sql

"""The part of a search that the database evaluates: conditions on columns, which exclude only requests that cannot
match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from app.core.model import DeliveryState
from app.core.record import Record
from app.core.search.query import All, Choice, Either, Filter, Network, Not, Query, Range, Term, TimePoint, flatten
from app.db.models import DELIVERY_CODE
from app.db.raw_sql import json_list
from app.db.search.index_terms import folded

Values = tuple[Any, ...]
Sql = tuple[str, Values]
Tagged = Callable[[str], Collection[int]]
"""Returns the endpoints with a tag."""
TRUE: Sql = ("true", ())
LAST = 2**63 - 1

_MARKS = {
    "unread": "capture.is_read = 0",
    "read": "capture.is_read = 1",
    "incomplete": "capture.complete = 0",
    "starred": "EXISTS (SELECT 1 FROM capture_star WHERE capture_star.capture_seq = capture.seq)",
    "noted": "EXISTS (SELECT 1 FROM capture_note WHERE capture_note.capture_seq = capture.seq)",
}
_ENDED = "SELECT seq FROM capture INDEXED BY capture_forwarded WHERE delivery IN ('d', 'u', 'f') AND complete = 1"
_INCOMPLETE = "SELECT seq FROM capture INDEXED BY capture_incomplete WHERE complete = 0"
_WAITING = "SELECT capture_seq AS seq FROM delivery INDEXED BY delivery_queued WHERE state = 'queued'"
_SPARSE = {
    ("is", "incomplete", True): (_INCOMPLETE,),
    ("is", "starred", True): ("SELECT capture_seq AS seq FROM capture_star",),
    ("is", "noted", True): ("SELECT capture_seq AS seq FROM capture_note",),
    ("delivery", DeliveryState.QUEUED.value, True): (_WAITING,),
    ("delivery", DeliveryState.NONE.value, False): (_WAITING, _ENDED, f"{_INCOMPLETE} AND delivery IN ('d', 'u', 'f')"),
    **{
        ("delivery", state.value, True): tuple(
            f"{some} AND delivery = '{DELIVERY_CODE[state]}'" for some in (_ENDED, _INCOMPLETE)
        )
        for state in (DeliveryState.DELIVERED, DeliveryState.NOT_SENT, DeliveryState.FAILED)
    },
}
"""Selects of the numbers of all requests with a mark, or with a delivery result, or of all others (False), each from a
small table or index."""


class SqlFilter(Record, frozen=True):
    """`where` holds for every match, and if `exact`, for nothing else.

    Otherwise the database evaluates the conditions `columns` for each row, each with the position of its filter in the
    query.
    """

    terms: tuple[Term, ...]
    where: Sql
    exact: bool
    columns: tuple[tuple[int, Sql], ...]
    sparse_selects: tuple[str, ...]
    """Together they select the number of every match, and maybe of other requests; empty when there are no such
    selects."""
    since: int
    """All matches were received at this time or later."""
    before: int
    """All matches were received before this time."""


def to_sql_filter(query: Query, now: int, tagged: Tagged, *, without_secrets: bool = False) -> SqlFilter:
    """The part of a search made at `now` that the database can evaluate. A search `without_secrets` uses no column
    that can tell one."""
    columns = {
        leaf.term.start: sql
        for leaf in flatten(query.terms)
        if isinstance(leaf.term, Filter)
        and not (without_secrets and leaf.term.name in SECRET)
        and (sql := _column(leaf.term, now, tagged)) is not None
    }
    narrowed, exact = _narrow_all(" AND ", query.terms, columns)
    return SqlFilter(
        terms=query.terms,
        where=narrowed,
        exact=exact,
        columns=() if exact else tuple(columns.items()),
        sparse_selects=_sparse_selects(query.terms),
        since=max([0, *_times(query, "since", now)]),
        before=min([LAST, *_times(query, "before", now)]),
    )


def _times(query: Query, name: str, now: int) -> Iterator[int]:
    """The ends of the time that all matches are of: what is not before a time is since it, and the reverse."""
    for term in query.terms:
        inner = term.term if isinstance(term, Not) else term
        if not isinstance(inner, Filter) or not isinstance(inner.condition, TimePoint):
            continue
        if (inner.name == name) is (inner is term):
            yield inner.condition.us(now)


def _sparse_selects(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """The selects of the first term that has any: all terms must match, so one narrows the search enough."""
    return next(filter(None, map(_sparse_selects_of, terms)), ())


def _sparse_selects_of(term: Term) -> tuple[str, ...]:
    inner = term.term if isinstance(term, Not) else term
    if isinstance(inner, Filter) and isinstance(inner.condition, Choice):
        return _SPARSE.get((inner.name, inner.condition.value, inner is term), ())
    if isinstance(term, All):
        return _sparse_selects(term.terms)
    if isinstance(term, Either):
        parts = [_sparse_selects_of(part) for part in term.terms]
        return tuple(select for part in parts for select in part) if all(parts) else ()
    return ()


COLUMNS = {
    "method": "capture.method = ?",
    # One not identified yet has no name: `-provider:stripe` finds it, like any other that Stripe did not send.
    "provider": "lower(coalesce(capture.provider, '')) = ?",
    "event": "lower(coalesce(capture.event, '')) = ?",
    "tag": "capture.endpoint_id IN numbers(?)",
    "delivery": "capture.delivery = ?",
    "from": "capture.source_address = ?",
    "since": "capture.received_at >= ?",
    "before": "capture.received_at < ?",
    "status": "capture.response_status",
    "size": "capture.size",
    "is": "",
}
"""The filters that columns can decide: the condition on a value, or the column whose range it is; `is:` has one for
each of its values."""


SECRET = frozenset(["event"])
"""Of these filters a request without its secrets has a value of its own: the event may be from what is redacted."""


def _column(term: Filter, now: int, tagged: Tagged) -> Sql | None:
    """The condition on a column; None where that cannot decide the filter."""
    sql, condition = COLUMNS.get(term.name), term.condition
    if sql is None:
        return None
    if isinstance(condition, Range):
        ends = ((">=", condition.low), ("<=", condition.high))
        return join(" AND ", [(f"{sql} {sign} ?", (end,)) for sign, end in ends if end is not None])
    if isinstance(condition, TimePoint):
        return sql, (condition.us(now),)
    if isinstance(condition, Network):
        return None if "/" in condition.network else (sql, (condition.network,))
    assert isinstance(condition, Choice)
    if term.name == "is":
        return _MARKS[condition.value], ()
    if term.name == "delivery":
        return sql, (DELIVERY_CODE[DeliveryState(condition.value)],)
    if term.name == "tag":
        return sql, (json_list(tagged(condition.value)),)
    return sql, (condition.value if term.name == "method" else folded(condition.value),)


def _narrow(term: Term, columns: Mapping[int, Sql]) -> tuple[Sql, bool]:
    """A condition that holds wherever the term does, and whether it holds nowhere else. `columns`: the conditions on
    columns, by the positions of their filters."""
    if isinstance(term, Filter) and term.start in columns:
        return columns[term.start], True
    if isinstance(term, Not):
        inner, exact = _narrow(term.term, columns)
        return ((f"NOT ({inner[0]})", inner[1]), True) if exact else (TRUE, False)
    if isinstance(term, All | Either):
        return _narrow_all(" AND " if isinstance(term, All) else " OR ", term.terms, columns)
    return TRUE, False


def _narrow_all(operator: str, terms: Iterable[Term], columns: Mapping[int, Sql]) -> tuple[Sql, bool]:
    """The same for several terms."""
    parts = [_narrow(part, columns) for part in terms]
    return join(operator, [sql for sql, _ in parts]), all(exact for _, exact in parts)


def join(operator: str, parts: list[Sql]) -> Sql:
    """All conditions in one; `TRUE` without any."""
    if not parts:
        return TRUE
    return operator.join(f"({text})" for text, _ in parts), tuple(value for _, values in parts for value in values)

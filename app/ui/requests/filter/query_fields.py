"""Decides which changes of marks can add existing requests to a filtered list."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.search.query import Choice, Filter, Query, flatten

_OPPOSITE = {"read": "unread", "unread": "read"}


def mark_adds_matches(query: Query | None, mark: str, given: bool = True) -> bool:
    """Whether the query may match a request only since it was `given` a mark of `is:`, or since it lost it."""
    asked = set(_marks(query)) if query is not None else set()
    return (mark, given) in asked or (_OPPOSITE.get(mark, ""), not given) in asked


def _marks(query: Query) -> Iterator[tuple[str, bool]]:
    """The marks of `is:` filters, and whether requests with the mark are meant, or those without."""
    for leaf in flatten(query.terms):
        term = leaf.term
        if isinstance(term, Filter) and term.name == "is" and isinstance(term.condition, Choice):
            yield term.condition.value, not leaf.negated

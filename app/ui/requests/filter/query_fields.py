"""Which marks bring a request into a filtered list that was not in it before."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.search.query import All, Choice, Either, Filter, Not, Query, Term

_OPPOSITE = {"read": "unread", "unread": "read"}


def gains(query: Query | None, mark: str, given: bool = True) -> bool:
    """Whether the query may find a request only since it was `given` a mark of `is:`, or since it lost it."""
    asked = set(_marks(query.terms, wanted=True)) if query is not None else set()
    return (mark, given) in asked or (_OPPOSITE.get(mark, ""), not given) in asked


def _marks(terms: tuple[Term, ...], *, wanted: bool) -> Iterator[tuple[str, bool]]:
    """The marks that are asked for, and whether they are wanted or not."""
    for term in terms:
        if isinstance(term, Filter) and term.name == "is" and isinstance(term.condition, Choice):
            yield term.condition.value, wanted
        elif isinstance(term, Not):
            yield from _marks((term.term,), wanted=not wanted)
        elif isinstance(term, All | Either):
            yield from _marks(term.terms, wanted=wanted)

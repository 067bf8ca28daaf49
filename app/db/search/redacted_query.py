"""What of a query is asked of requests without their secrets."""

from __future__ import annotations

from msgspec.structs import replace

from app.core.redaction.secret import HOLE
from app.core.search.query import Filter, JsonTest, Leaf, Not, Query, Term, Word, flatten

SHOWN_EVENT = "shown event"


def shown_events(query: Query) -> Query:
    """The query with `event:` as a condition on what is shown: SQLite looks at the column."""
    return replace(query, terms=tuple(map(_shown, query.terms)))


def _shown(term: Term) -> Term:
    if isinstance(term, Word):
        return term
    if isinstance(term, Filter):
        return replace(term, name=SHOWN_EVENT) if term.name == "event" else term
    if isinstance(term, Not):
        return replace(term, term=_shown(term.term))
    return replace(term, terms=tuple(map(_shown, term.terms)))


def indexed_terms(query: Query) -> tuple[Term, ...]:
    """The terms that the search index, which knows the secrets, may narrow a search by: what matches without the
    secrets matches with them. That is not so of exclusions, and of a text with a hole."""
    if HOLE in query.text:
        return ()
    return tuple(term for term in query.terms if not any(map(_excludes, flatten((term,)))))


def _excludes(leaf: Leaf) -> bool:
    condition = leaf.term.condition if isinstance(leaf.term, Filter) else None
    return leaf.negated or (isinstance(condition, JsonTest) and condition.operator == "!=")

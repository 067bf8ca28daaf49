"""Every word and filter of a query, wherever it stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.core.model import Record
from app.core.search.query import All, Either, Filter, Not, Term, Word


class Leaf(Record, frozen=True):
    """A word or filter. `negated`: it stands in an odd number of `Not`."""

    term: Word | Filter
    negated: bool


def walk(terms: Iterable[Term], *, negated: bool = False) -> Iterator[Leaf]:
    """The words and filters in the order they were written, those in groups and behind a minus included."""
    for term in terms:
        if isinstance(term, Word | Filter):
            yield Leaf(term=term, negated=negated)
        elif isinstance(term, Not):
            yield from walk((term.term,), negated=not negated)
        else:
            assert isinstance(term, All | Either)
            yield from walk(term.terms, negated=negated)

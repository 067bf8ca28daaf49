"""A query's top-level terms as chips, its words as highlights, and words as text for a query."""

from __future__ import annotations

from app.core.record import Record
from app.core.search.parse import MAX_TEXT, QUOTE, parse
from app.core.search.query import Filter, Not, Query, QueryError, Term, Word, required


class Chip(Record, frozen=True):
    """A top-level term: `text` as written, from `start` to `end`. `name` is that of its filter, if it is one."""

    text: str
    start: int
    end: int
    name: str | None
    negated: bool


def chips(query: Query) -> tuple[Chip, ...]:
    """The terms that must all match, each of which `without` can remove."""
    return tuple(_chip(query.text, term) for term in query.terms)


def without(query: Query, chip: Chip) -> str:
    """The query's text without a chip."""
    left, right = query.text[: chip.start].rstrip(), query.text[chip.end :].lstrip()
    return f"{left} {right}".strip()


def words(query: Query | None) -> tuple[str, ...]:
    """The words to highlight in a matching request; excluded words are left out."""
    return tuple(dict.fromkeys(term.text for term in required(query) if isinstance(term, Word)))


def literal(text: str) -> str:
    """A search for the words of `text`, with their special characters escaped, as many as fit into a search."""
    found = ""
    for word in text.split():
        candidate = f"{found} {quoted(word)}".strip()
        if len(candidate) > MAX_TEXT:
            break
        found = candidate
    return found


def quoted(word: str) -> str:
    """A word as a term without special meaning, quoted if necessary."""
    try:
        terms = parse(word).terms
    except QueryError:
        terms = ()
    if len(terms) == 1 and isinstance(terms[0], Word) and terms[0].text == word and QUOTE not in word:
        plain = not any(sign in word for sign in "()")
        return word if plain else _in_quotes(word)
    return _in_quotes(word)


def _in_quotes(word: str) -> str:
    return QUOTE + word.replace("\\", "\\\\").replace(QUOTE, "\\" + QUOTE) + QUOTE


def _chip(text: str, term: Term) -> Chip:
    inner, negated = term, False
    while isinstance(inner, Not):
        inner, negated = inner.term, not negated
    name = inner.name if isinstance(inner, Filter) else None
    return Chip(text=text[term.start : term.end], start=term.start, end=term.end, name=name, negated=negated)

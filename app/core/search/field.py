"""What a search field makes of its text: the terms as chips, the words to highlight, words as a search, and completions
of filters and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.core.record import Record
from app.core.search.filters import FILTERS
from app.core.search.parse import MAX_TEXT, QUOTE, parse
from app.core.search.query import Filter, Not, Query, QueryError, Term, Word, required


def chips(query: Query) -> list[str]:
    """The terms that must all match, as written, each of which `without` can remove. A single word or group needs no
    chip: the field's clear button removes it."""
    terms = query.terms
    if len(terms) == 1 and not _is_filter(terms[0]):
        return []
    return [query.text[term.start : term.end] for term in terms]


def _is_filter(term: Term) -> bool:
    """Also one that is excluded."""
    return _is_filter(term.term) if isinstance(term, Not) else isinstance(term, Filter)


def without(query: Query, number: int) -> str:
    """The query's text without one of its terms."""
    term = query.terms[number]
    left, right = query.text[: term.start].rstrip(), query.text[term.end :].lstrip()
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
    is_word = len(terms) == 1 and isinstance(terms[0], Word) and terms[0].text == word
    if is_word and not any(sign in word for sign in (QUOTE, "(", ")")):
        return word
    return QUOTE + word.replace("\\", "\\\\").replace(QUOTE, "\\" + QUOTE) + QUOTE


COMPLETIONS_MAX = 20


Stored = tuple[str, str]
"""A value and its description."""
_NONE: Mapping[str, Sequence[Stored]] = {}


class Completion(Record, frozen=True):
    """`insert` can replace the text from `start` to `end`; `help` says what it means."""

    insert: str
    help: str
    start: int
    end: int


def completions(text: str, cursor: int, stored: Mapping[str, Sequence[Stored]] = _NONE) -> tuple[Completion, ...]:
    """Filters, or values of the filter being typed, that begin with the text before the cursor.

    `stored` has values by filter, in the order they are offered; those that contain the text elsewhere follow.
    """
    cursor = max(0, min(cursor, len(text)))
    before = text[:cursor]
    if before.replace("\\" + QUOTE, "").count(QUOTE) % 2:
        return ()  # inside quotes there is text, not a filter
    start = cursor
    while start and not before[start - 1].isspace():
        start -= 1
    while start < cursor and before[start] in "-(":
        start += 1
    end = cursor
    while end < len(text) and not text[end].isspace() and text[end] != ")":
        end += 1
    name, colon, typed = before[start:].partition(":")
    if not colon:
        found = [(f"{kind.name}:", kind.help) for kind in FILTERS.values() if kind.name.startswith(name.lower())]
    else:
        kind = FILTERS.get(name.lower())
        values = kind.values if kind else ()
        start += len(name) + 1
        found = [(value, "") for value in values if value.lower().startswith(typed.lower())]
        found += _matching(stored.get(kind.name, ()) if kind else (), typed.lower())
        if any(value == text[start:end] for value, _ in found):
            return ()  # already complete
    return tuple(
        Completion(insert=insert, help=help_, start=start, end=end) for insert, help_ in found[:COMPLETIONS_MAX]
    )


def _matching(stored: Sequence[Stored], typed: str) -> list[Stored]:
    """The values that contain what is typed, quoted if necessary; those that begin with it come first."""
    found = [(value, description) for value, description in stored if typed in value.lower()]
    found.sort(key=lambda value: not value[0].lower().startswith(typed))
    return [(quoted(value), description) for value, description in found]

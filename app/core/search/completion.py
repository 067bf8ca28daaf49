"""Completes filters and their values in a search text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.core.record import Record
from app.core.search.filters import FILTERS
from app.core.search.format import quoted
from app.core.search.parse import QUOTE

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

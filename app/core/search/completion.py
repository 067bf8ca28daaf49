"""What may be typed at a place in a search text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.core.model import Record
from app.core.search.filters import FILTERS
from app.core.search.format import quoted
from app.core.search.tokens import QUOTE

MOST = 20


Stored = tuple[str, str]
"""A value, and what is told of it."""
_NONE: Mapping[str, Sequence[Stored]] = {}


class Completion(Record, frozen=True):
    """`insert` may take the place of the text from `start` to `end`; `help` says what it means."""

    insert: str
    help: str
    start: int
    end: int


def completions(text: str, cursor: int, stored: Mapping[str, Sequence[Stored]] = _NONE) -> tuple[Completion, ...]:
    """Filters, or the values of the filter being written, that begin with what stands before the cursor.

    `stored` has values by filter, in the order they are offered; of them those that hold it elsewhere follow.
    """
    cursor = max(0, min(cursor, len(text)))
    before = text[:cursor]
    if before.replace("\\" + QUOTE, "").count(QUOTE) % 2:
        return ()  # inside quotes stands a text, no filter
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
        found += _of(stored.get(kind.name, ()) if kind else (), typed.lower())
        if any(value == text[start:end] for value, _ in found):
            return ()  # nothing is left to complete
    return tuple(Completion(insert=insert, help=help_, start=start, end=end) for insert, help_ in found[:MOST])


def _of(stored: Sequence[Stored], typed: str) -> list[Stored]:
    """Those with what is typed in them, in quotes where they need them; first those that begin with it."""
    known = [(value.lower(), value, told) for value, told in stored]
    first = [(quoted(value), told) for low, value, told in known if low.startswith(typed)]
    return first + [(quoted(value), told) for low, value, told in known if typed in low and not low.startswith(typed)]

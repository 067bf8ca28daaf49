"""What may be typed at a place in a search text."""

from __future__ import annotations

from app.core.model import Record
from app.core.search.filters import FILTERS
from app.core.search.tokens import QUOTE

MOST = 20


class Completion(Record, frozen=True):
    """`insert` may take the place of the text from `start` to `end`; `help` says what it means."""

    insert: str
    help: str
    start: int
    end: int


def completions(text: str, cursor: int) -> tuple[Completion, ...]:
    """Filters, or the values of the filter being written, that begin with what stands before the cursor."""
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
        if any(value == text[start:end] for value, _ in found):
            return ()  # nothing is left to complete
    return tuple(Completion(insert=insert, help=help_, start=start, end=end) for insert, help_ in found[:MOST])

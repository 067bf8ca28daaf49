"""One difference between two responses, and how values are quoted in it."""

from __future__ import annotations

from typing import Literal

from app.core.bodies.escape import escape
from app.core.record import Record

QUOTED_MAX = 60
"""Characters of a value in the text of a difference."""
_BEFORE = 20


class Difference(Record, frozen=True):
    """`where` is the header's name, the JSON path, or `line 3`; empty for the status and for a whole body.

    `text` is one line that says it all. `first` and `second` are the quoted values; None: not in that response.
    """

    part: Literal["status", "headers", "body"]
    where: str
    text: str
    first: str | None = None
    second: str | None = None


def difference(
    part: Literal["status", "headers", "body"], where: str, first: str | None, second: str | None, label: str = ""
) -> Difference:
    """`label` begins the text; without one, `where` does."""
    name = label or where
    if first is None or second is None:
        which, value = ("second", second) if first is None else ("first", first)
        text = f"{name}, only in the {which} response: {value}"
    else:
        text = f"{name}: {first} → {second}"
    return Difference(part=part, where=where, text=text, first=first, second=second)


def quoted(text: str, at: int = 0) -> str:
    """`“text”` on one line, a cut-out around character `at` if it is long."""
    start = max(0, min(at - _BEFORE, len(text) - QUOTED_MAX))
    end = min(len(text), start + QUOTED_MAX)
    return f"“{'…' if start else ''}{escape(text[start:end])}{'…' if end < len(text) else ''}”"

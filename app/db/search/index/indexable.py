"""Which texts of a request can be part of a term, and which are worth one of their own."""

from __future__ import annotations

import re

LONGEST = 100
"""Characters of what has a term."""
MOST_DIGITS = 3
"""Hardly two requests have the same value with more of them."""
_MANY_DIGITS = re.compile(rf"(?:\D*+\d){{{MOST_DIGITS + 1}}}")


def tellable(text: str) -> bool:
    """Whether it can be part of a term: short, and of characters that can be seen."""
    return len(text) <= LONGEST and text.isprintable()


def repeated(value: str) -> bool:
    """Whether it is of the kind that many requests have, so that it has a term of its own."""
    return tellable(value) and not _MANY_DIGITS.match(value)

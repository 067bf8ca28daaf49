"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable

ALIKE = 0.7
"""With difflib's own 0.6, `bogus` would mean `logs`."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word, in lower case, most similar to this one, if there is one."""
    from difflib import get_close_matches  # start-up time: only who mistypes needs it

    return next(iter(get_close_matches(word.lower(), list(known), 1, ALIKE)), None)

"""What somebody who mistyped a word probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to this one, if there is one."""
    from difflib import get_close_matches  # start-up time: only who mistypes needs it

    return next(iter(get_close_matches(word, list(known), n=1)), None)

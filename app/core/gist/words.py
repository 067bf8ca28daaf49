"""Builds a gist: names shortened and joined, with hidden characters escaped, never longer than a row can show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from app.core.bodies.escape import escape

GIST_MAX = 120
"""Characters of a gist, including the ellipsis."""
NAMES_MAX = 12
"""Maximum names considered: more never fit."""
NAME_MAX = 40
WORDS_MAX = 80
"""Characters of a text's first words."""
DOT, MORE = " · ", "…"

_SPACE = re.compile(r"[\s\x00]+")


def with_detail(label: str, detail: str) -> str:
    """`JSON · id, type`; the label alone without details."""
    return f"{label}{DOT}{detail}" if detail else label


def names(found: Iterable[str], *, more: bool = False) -> str:
    """`id, type, data`; ends in `…` if there are `more`, or more than are considered."""
    texts = list(islice(found, NAMES_MAX + 1))
    visible = [shortened(text, NAME_MAX) for text in texts[:NAMES_MAX]]
    return ", ".join([*visible, MORE] if visible and (more or len(texts) > NAMES_MAX) else visible)


def shortened(text: str, most: int) -> str:
    """At most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + MORE


def first_words(text: str) -> str:
    """The beginning of a text on one line."""
    return shortened(_SPACE.sub(" ", text[: 4 * WORDS_MAX].lstrip()).strip(), WORDS_MAX)


def one_line(gist: str) -> str:
    """The gist on one line, escaped. An escape is never cut in two."""
    text = escape(gist)
    if len(text) <= GIST_MAX:
        return text
    characters, free = [], GIST_MAX - 1
    for character in gist:
        visible = escape(character)
        free -= len(visible)
        if free < 0:
            break
        characters.append(visible)
    return "".join(characters).rstrip(" ,·") + MORE

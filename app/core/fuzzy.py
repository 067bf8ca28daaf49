"""Finds a text by a few of its letters, as palettes do: in order, not next to each other, whatever case or accents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import combining, normalize

from app.core.model import Record

WANTED_MAX, TEXT_MAX = 60, 200
"""Characters that are looked at; more are neither typed nor read."""

STEPS_MAX = 800
"""Letters that are compared to find the best way to scatter what is wanted over one text: a palette asks a thousand."""

_LETTER, _START, _FIRST, _NEXT, _SKIPPED, _BEFORE_MAX, _WHOLE, _ELSEWHERE = 4, 8, 3, 9, 1, 8, 20, 2
"""Points: of each letter, one that begins a word or all or follows the one before; what is skipped costs."""
_NONE = -1_000_000
_BEGINS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]|(?<=[a-z])[A-Z]")
"""Where a word begins in ASCII; as `_begins` has it for all letters."""
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "æ": "ae", "œ": "oe"})


class Match(Record, frozen=True):
    """How well a text fits (more is better), and the places of the letters found in it, ascending, in characters."""

    score: int
    places: tuple[int, ...]


class Folded(Record, frozen=True):
    """A text without case and accents: each letter with its place in the text, and whether a word begins there."""

    letters: str
    at: tuple[int, ...]
    starts: tuple[bool, ...]


def match(wanted: str, text: str, more: Sequence[str] = ()) -> Match | None:
    """How `text` fits what is wanted; None if it does not. Nothing wanted fits everything.

    Each word of `wanted` has to be found: its letters in the text, or the word as it is in one of `more`. Where that
    would be too much to compare, the word has to stand in the text as it is.
    """
    score, places = 0, set[int]()
    inside, steps = fold(text[:TEXT_MAX]), STEPS_MAX
    for word in dict.fromkeys(fold(wanted[:WANTED_MAX]).letters.split()):
        found = _word(word, inside, steps)
        steps -= len(word) * len(inside.letters)
        if found is not None:
            score += found.score
            places.update(found.places)
        elif any(_contains(other[:TEXT_MAX], word) for other in more):
            score += _ELSEWHERE * len(word)
        else:
            return None
    return Match(score=score, places=tuple(sorted(places)))


@lru_cache(maxsize=4096)
def fold(text: str) -> Folded:
    """`text` as it is compared."""
    if text.isascii():
        begins_at = {match.start() for match in _BEGINS.finditer(text)}
        size = range(len(text))
        return Folded(letters=text.lower(), at=tuple(size), starts=tuple([place in begins_at for place in size]))
    letters, at, starts = [], [], []
    before = " "
    for place, character in enumerate(text):
        plain = _plain(character)
        begins = _begins(before, character)
        for letter in plain:
            letters.append(letter)
            at.append(place)
            starts.append(begins)
            begins = False
        before = character if plain else before
    return Folded(letters="".join(letters), at=tuple(at), starts=tuple(starts))


def _plain(character: str) -> str:
    letters = normalize("NFKD", character).casefold()
    return "".join(letter for letter in letters if not combining(letter)).translate(_STROKES)


def _begins(before: str, character: str) -> bool:
    if not character.isalnum():
        return False
    if not before.isalnum() or character.isdigit() != before.isdigit():
        return True
    return character.isupper() and before.islower()


def _contains(text: str, word: str) -> bool:
    """Whether the word stands there as it is; a short one only where a word begins."""
    if text.isascii() and word not in text.lower():
        return False
    inside = fold(text)
    at = inside.letters.find(word)
    return at >= 0 and (len(word) > 2 or inside.starts[at])


def _word(word: str, inside: Folded, steps: int) -> Match | None:
    """The best way to find the letters of `word` in their order; None if too few of them begin or follow anything."""
    if not _in_order(word, inside.letters):
        return None
    way = _together(word, inside)
    if way is None and len(word) * len(inside.letters) <= steps:
        way = _best(word, inside)
    if way is None:
        return None
    score, places = way
    loose = sum(
        not inside.starts[place] and (number == 0 or place != places[number - 1] + 1)
        for number, place in enumerate(places)
    )
    if loose > len(word) // 2:
        return None
    score += (_WHOLE if word == inside.letters else 0) - len(inside.letters) // 6
    return Match(score=score, places=tuple(dict.fromkeys(inside.at[place] for place in places)))


def _together(word: str, inside: Folded) -> tuple[int, list[int]] | None:
    """Score and places of the word where it stands as it is from the beginning of a word on: nothing fits better."""
    at = inside.letters.find(word)
    while at >= 0 and not inside.starts[at]:
        at = inside.letters.find(word, at + 1)
    if at < 0:
        return None
    inner = sum(inside.starts[at + 1 : at + len(word)])
    score = _first(at, inside) + (len(word) - 1) * (_LETTER + _NEXT) + inner * _START
    return score, list(range(at, at + len(word)))


def _best(word: str, inside: Folded) -> tuple[int, list[int]]:
    """Score and places of the best way among all."""
    ends, previous = _table(word, inside)
    end = max(range(len(ends)), key=ends.__getitem__)
    places = [end]
    for step in reversed(previous[1:]):
        places.append(step[places[-1]])
    return ends[end], places[::-1]


def _first(place: int, inside: Folded) -> int:
    """What the first letter of a word is worth here."""
    start = (_START if inside.starts[place] else 0) + (_FIRST if place == 0 else 0)
    return _LETTER + start - min(place, _BEFORE_MAX)


def _in_order(word: str, letters: str) -> bool:
    at = -1
    for letter in word:
        at = letters.find(letter, at + 1)
        if at < 0:
            return False
    return True


def _table(word: str, inside: Folded) -> tuple[list[int], list[list[int]]]:
    """For the last letter the best score that ends at each place; for each letter, where the one before stands."""
    letters, size = inside.letters, len(inside.letters)
    ends: list[int] = []
    previous: list[list[int]] = []
    for number, letter in enumerate(word):
        here, source = [_NONE] * size, [-1] * size
        far, far_at = _NONE, -1
        for place in range(number, size):
            if number and place > 1:
                far -= _SKIPPED
                if ends[place - 2] - _SKIPPED > far:
                    far, far_at = ends[place - 2] - _SKIPPED, place - 2
            if letters[place] != letter:
                continue
            worth = _LETTER + (_START if inside.starts[place] else 0)
            if not number:
                here[place] = _first(place, inside)
            elif place and ends[place - 1] + _NEXT >= far:
                here[place], source[place] = ends[place - 1] + _NEXT + worth, place - 1
            else:
                here[place], source[place] = far + worth, far_at
        ends = here
        previous.append(source)
    return ends, previous

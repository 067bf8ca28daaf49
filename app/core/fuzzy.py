"""Fuzzy search as in command palettes: letters in order, not necessarily adjacent, ignoring case and accents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import combining, normalize

from app.core.record import Record

QUERY_MAX, TEXT_MAX = 60, 200
"""Maximum characters examined."""

STEPS_MAX = 800
"""Maximum comparisons of letters per text: a palette searches a thousand texts."""

_LETTER, _START, _FIRST, _NEXT, _SKIPPED, _BEFORE_MAX, _EXACT, _ELSEWHERE = 4, 8, 3, 9, 1, 8, 20, 2
"""Points: for each letter, at the start of a word or text, after the previous letter; minus skipped letters."""
_NONE = -1_000_000
_BEGINS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]|(?<=[a-z])[A-Z]")
"""The start of a word in ASCII; `_begins` is for all letters."""
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "æ": "ae", "œ": "oe"})


class Match(Record, frozen=True):
    """A higher `score` is better. `positions` are the indices of the letters found, ascending."""

    score: int
    positions: tuple[int, ...]


class Folded(Record, frozen=True):
    """A text without case and accents: letters, the index of each in the text, and whether a word begins there."""

    letters: str
    at: tuple[int, ...]
    starts: tuple[bool, ...]


def match(query: str, text: str, more: Sequence[str] = ()) -> Match | None:
    """How well `text` matches; None if it does not. An empty query matches everything.

    Each word of `query` must be found: its letters in the text, or the whole word in one of `more`. If comparing
    letters would take too long, only the whole word is searched for.
    """
    score, positions = 0, set[int]()
    folded, steps = fold(text[:TEXT_MAX]), STEPS_MAX
    for word in dict.fromkeys(fold(query[:QUERY_MAX]).letters.split()):
        found = _word(word, folded, steps)
        steps -= len(word) * len(folded.letters)
        if found is not None:
            score += found.score
            positions.update(found.positions)
        elif any(_contains(other[:TEXT_MAX], word) for other in more):
            score += _ELSEWHERE * len(word)
        else:
            return None
    return Match(score=score, positions=tuple(sorted(positions)))


@lru_cache(maxsize=4096)
def fold(text: str) -> Folded:
    """The form of `text` that is compared."""
    if text.isascii():
        begins_at = {match.start() for match in _BEGINS.finditer(text)}
        size = range(len(text))
        return Folded(letters=text.lower(), at=tuple(size), starts=tuple([position in begins_at for position in size]))
    letters, at, starts = [], [], []
    before = " "
    for position, character in enumerate(text):
        folded = normalize("NFKD", character).casefold()
        plain = "".join(letter for letter in folded if not combining(letter)).translate(_STROKES)
        begins = _begins(before, character)
        for letter in plain:
            letters.append(letter)
            at.append(position)
            starts.append(begins)
            begins = False
        before = character if plain else before
    return Folded(letters="".join(letters), at=tuple(at), starts=tuple(starts))


def _begins(before: str, character: str) -> bool:
    if not character.isalnum():
        return False
    if not before.isalnum() or character.isdigit() != before.isdigit():
        return True
    return character.isupper() and before.islower()


def _contains(text: str, word: str) -> bool:
    """Whether the text contains the word; a short one only at the start of a word."""
    if text.isascii() and word not in text.lower():
        return False
    folded = fold(text)
    at = folded.letters.find(word)
    return at >= 0 and (len(word) > 2 or folded.starts[at])


def _word(word: str, folded: Folded, steps: int) -> Match | None:
    """The best match for the letters of `word` in order; None if too few of them begin a word or follow the previous
    one."""
    if not _in_order(word, folded.letters):
        return None
    found = _best_adjacent(word, folded)
    if found is None and len(word) * len(folded.letters) <= steps:
        found = _best_scattered(word, folded)
    if found is None:
        return None
    score, positions = found
    isolated = sum(
        not folded.starts[position] and (number == 0 or position != positions[number - 1] + 1)
        for number, position in enumerate(positions)
    )
    if isolated > len(word) // 2:
        return None
    score += (_EXACT if word == folded.letters else 0) - len(folded.letters) // 6
    return Match(score=score, positions=tuple(dict.fromkeys(folded.at[position] for position in positions)))


def _best_adjacent(word: str, folded: Folded) -> tuple[int, list[int]] | None:
    """Score and places of the whole word at the start of a word: no other match is better."""
    at = folded.letters.find(word)
    while at >= 0 and not folded.starts[at]:
        at = folded.letters.find(word, at + 1)
    if at < 0:
        return None
    inner = sum(folded.starts[at + 1 : at + len(word)])
    score = _first_letter_score(at, folded) + (len(word) - 1) * (_LETTER + _NEXT) + inner * _START
    return score, list(range(at, at + len(word)))


def _best_scattered(word: str, folded: Folded) -> tuple[int, list[int]]:
    """Score and places of the best of all matches."""
    ends, previous = _score_table(word, folded)
    end = max(range(len(ends)), key=ends.__getitem__)
    positions = [end]
    for step in reversed(previous[1:]):
        positions.append(step[positions[-1]])
    return ends[end], positions[::-1]


def _first_letter_score(position: int, folded: Folded) -> int:
    """The points for the first letter of a word."""
    start = (_START if folded.starts[position] else 0) + (_FIRST if position == 0 else 0)
    return _LETTER + start - min(position, _BEFORE_MAX)


def _in_order(word: str, letters: str) -> bool:
    at = -1
    for letter in word:
        at = letters.find(letter, at + 1)
        if at < 0:
            return False
    return True


def _score_table(word: str, folded: Folded) -> tuple[list[int], list[list[int]]]:
    """The best score for the last letter at each place; for each letter, the place of the one before."""
    letters, size = folded.letters, len(folded.letters)
    ends: list[int] = []
    previous: list[list[int]] = []
    for number, letter in enumerate(word):
        scores, source = [_NONE] * size, [-1] * size
        spread, spread_at = _NONE, -1
        for position in range(number, size):
            if number and position > 1:
                spread -= _SKIPPED
                if ends[position - 2] - _SKIPPED > spread:
                    spread, spread_at = ends[position - 2] - _SKIPPED, position - 2
            if letters[position] != letter:
                continue
            points = _LETTER + (_START if folded.starts[position] else 0)
            if not number:
                scores[position] = _first_letter_score(position, folded)
            elif position and ends[position - 1] + _NEXT >= spread:
                scores[position], source[position] = ends[position - 1] + _NEXT + points, position - 1
            else:
                scores[position], source[position] = spread + points, spread_at
        ends = scores
        previous.append(source)
    return ends, previous

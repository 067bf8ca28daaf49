"""Splits a search text into tokens. Nothing within quotes has a special meaning."""

from __future__ import annotations

from typing import Literal

from app.core.model import Record
from app.core.search.query import QueryError

QUOTE = '"'
Kind = Literal["text", "(", ")", "-", "OR"]


class Text(Record, frozen=True):
    """Characters without their quotes: which were quoted, and the place of each in the search text."""

    characters: str
    quoted: tuple[bool, ...]
    places: tuple[int, ...]
    end: int

    @property
    def start(self) -> int:
        """In the search text."""
        return self.places[0] if self.places else self.end

    def find(self, characters: str, begin: int = 0) -> int:
        """The first unquoted character that is one of `characters`, -1 if there is none."""
        for at in range(begin, len(self.characters)):
            if self.characters[at] in characters and not self.quoted[at]:
                return at
        return -1

    def part(self, first: int, last: int | None = None) -> Text:
        end = self.end if last is None or last >= len(self.places) else self.places[last]
        cut = slice(first, last)
        return Text(characters=self.characters[cut], quoted=self.quoted[cut], places=self.places[cut], end=end)


class Token(Record, frozen=True):
    """`start` to `end` includes the quotes."""

    kind: Kind
    text: Text
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Raises QueryError for an unclosed quote."""
    found: list[Token] = []
    place, depth = 0, 0
    while place < len(text):
        sign = text[place]
        if sign.isspace():
            place += 1
            continue
        if sign in "(-" or (sign == ")" and depth):
            depth += {"(": 1, ")": -1}.get(sign, 0)
            found.append(Token(kind=_sign(sign), text=_run(text, place, place), start=place, end=place + 1))
            place += 1
            continue
        end = _end(text, place, depth)
        run = _run(text, place, end)
        kind: Kind = "OR" if text[place:end] == "OR" else "text"
        found.append(Token(kind=kind, text=run, start=place, end=end))
        place = end
    return found


def _sign(sign: str) -> Kind:
    return "(" if sign == "(" else ")" if sign == ")" else "-"


def _end(text: str, place: int, depth: int) -> int:
    """The end of the run that begins at `place`: a space, or a closing bracket without an opening one in the run."""
    inner, at = 0, place
    while at < len(text) and not text[at].isspace():
        if text[at] == QUOTE:
            at = _closing(text, at)
        elif text[at] == "(":
            inner += 1
        elif text[at] == ")":
            if depth and not inner:
                break
            inner = max(0, inner - 1)
        at += 1
    return at


def _closing(text: str, opening: int) -> int:
    """The closing quote for the one at `opening`."""
    at = opening + 1
    while at < len(text) and text[at] != QUOTE:
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise QueryError("This quote is not closed.", opening, len(text))
    return at


def _run(text: str, start: int, end: int) -> Text:
    characters, quoted, places = [], [], []
    inside = False
    at = start
    while at < end:
        sign = text[at]
        if sign == QUOTE:
            inside = not inside
        else:
            if inside and sign == "\\" and text[at + 1] in '"\\':
                at += 1
                sign = text[at]
            characters.append(sign)
            quoted.append(inside)
            places.append(at)
        at += 1
    return Text(characters="".join(characters), quoted=tuple(quoted), places=tuple(places), end=end)

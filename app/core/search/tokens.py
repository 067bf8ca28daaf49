"""Splits a search text into tokens. Nothing within quotes has a special meaning."""

from __future__ import annotations

from typing import Literal

from app.core.record import Record
from app.core.search.query import QueryError

QUOTE = '"'
Kind = Literal["text", "(", ")", "-", "OR"]


class Text(Record, frozen=True):
    """Characters without their quotes: which were quoted, and the offset of each in the search text."""

    characters: str
    quoted: tuple[bool, ...]
    offsets: tuple[int, ...]
    end: int

    @property
    def start(self) -> int:
        """In the search text."""
        return self.offsets[0] if self.offsets else self.end

    def find(self, characters: str, begin: int = 0) -> int:
        """The first unquoted character that is one of `characters`, -1 if there is none."""
        for at in range(begin, len(self.characters)):
            if self.characters[at] in characters and not self.quoted[at]:
                return at
        return -1

    def part(self, first: int, last: int | None = None) -> Text:
        end = self.end if last is None or last >= len(self.offsets) else self.offsets[last]
        cut = slice(first, last)
        return Text(characters=self.characters[cut], quoted=self.quoted[cut], offsets=self.offsets[cut], end=end)


class Token(Record, frozen=True):
    """`start` to `end` includes the quotes."""

    kind: Kind
    text: Text
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Raises QueryError for an unclosed quote."""
    found: list[Token] = []
    offset, depth = 0, 0
    while offset < len(text):
        character = text[offset]
        if character.isspace():
            offset += 1
            continue
        if character in "(-" or (character == ")" and depth):
            depth += {"(": 1, ")": -1}.get(character, 0)
            found.append(
                Token(kind=_sign(character), text=_text_of(text, offset, offset), start=offset, end=offset + 1)
            )
            offset += 1
            continue
        end = _end(text, offset, depth)
        content = _text_of(text, offset, end)
        kind: Kind = "OR" if text[offset:end] == "OR" else "text"
        found.append(Token(kind=kind, text=content, start=offset, end=end))
        offset = end
    return found


def _sign(character: str) -> Kind:
    return "(" if character == "(" else ")" if character == ")" else "-"


def _end(text: str, offset: int, depth: int) -> int:
    """The end of the token at `offset`: a space, or a closing bracket without an opening one in the token."""
    inner, at = 0, offset
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


def _text_of(text: str, start: int, end: int) -> Text:
    characters, quoted, offsets = [], [], []
    inside = False
    at = start
    while at < end:
        character = text[at]
        if character == QUOTE:
            inside = not inside
        else:
            if inside and character == "\\" and text[at + 1] in '"\\':
                at += 1
                character = text[at]
            characters.append(character)
            quoted.append(inside)
            offsets.append(at)
        at += 1
    return Text(characters="".join(characters), quoted=tuple(quoted), offsets=tuple(offsets), end=end)

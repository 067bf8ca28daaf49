"""Parses a search text, token by token. `OR` binds closer than a space: `a b OR c` is a, and b or c. Nothing within
quotes has a special meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from app.core.record import Record
from app.core.search.filters import FILTERS, OLD_NAMES, read_condition
from app.core.search.query import QUOTED, All, Either, Filter, Not, Query, QueryError, Term, Text, Word
from app.core.text import closest

MAX_TEXT = 2_000
"""Maximum characters of a search text."""
_STRAY_OR = 'OR must be between two terms; to search for the word, write "OR".'
MAX_DEPTH = 20

_NAME = re.compile(r"[A-Za-z][A-Za-z_]*")
QUOTE = '"'
Kind = Literal["text", "(", ")", "-", "OR"]


class Token(Record, frozen=True):
    """`start` to `end` includes the quotes."""

    kind: Kind
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """Raises QueryError for an unclosed quote."""
    offset, depth = 0, 0
    while offset < len(text):
        start, character = offset, text[offset]
        kind: Kind = "text"
        if character.isspace():
            offset += 1
            continue
        if character == "(":
            kind, offset, depth = "(", offset + 1, depth + 1
        elif character == ")" and depth:
            kind, offset, depth = ")", offset + 1, depth - 1
        elif character == "-":
            kind, offset = "-", offset + 1
        else:
            offset = _end(text, offset, depth)
            kind = "OR" if text[start:offset] == "OR" else "text"
        yield Token(kind=kind, start=start, end=offset)


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
    characters, syntax, offsets = "", "", []
    inside = False
    at = start
    while at < end:
        if text[at] == QUOTE:
            inside = not inside
        else:
            if inside and text[at] == "\\" and text[at + 1] in '"\\':
                at += 1
            characters += text[at]
            syntax += QUOTED if inside else text[at]
            offsets.append(at)
        at += 1
    return Text(characters=characters, syntax=syntax, offsets=tuple(offsets), end=end)


def parse(text: str) -> Query:
    """An empty text matches everything. Raises only QueryError, for an invalid text."""
    if len(text) > MAX_TEXT:
        raise QueryError(f"A search can have at most {MAX_TEXT:,} characters.", MAX_TEXT, len(text))
    return Query(text=text, terms=_Reader(text).terms(0))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._at = 0

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def terms(self, depth: int) -> tuple[Term, ...]:
        """Terms that must all match, up to the end or the closing bracket."""
        found = []
        while (token := self._peek()) is not None and token.kind != ")":
            found.append(self._either(depth))
        return tuple(found)

    def _either(self, depth: int) -> Term:
        terms = [self._term(depth)]
        while (token := self._peek()) is not None and token.kind == "OR":
            self._at += 1
            following = self._peek()
            if following is None or following.kind in (")", "OR"):
                raise QueryError(_STRAY_OR, token.start, token.end)
            terms.append(self._term(depth))
        if len(terms) == 1:
            return terms[0]
        return Either(terms=tuple(terms), start=terms[0].start, end=terms[-1].end)

    def _term(self, depth: int) -> Term:
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "OR":
            raise QueryError(_STRAY_OR, token.start, token.end)
        if depth > MAX_DEPTH:
            raise QueryError(
                f"Brackets and minus signs can be nested at most {MAX_DEPTH} levels deep.", token.start, token.end
            )
        if token.kind == "-":
            return self._not(token, depth)
        if token.kind == "(":
            return self._group(token, depth)
        return _leaf(token, self._text)

    def _not(self, minus: Token, depth: int) -> Term:
        following = self._peek()
        if following is None or following.start != minus.end or following.kind == ")":
            raise QueryError(
                'A minus sign must be directly before a term; to search for it, write "-".', minus.start, minus.end
            )
        term = self._term(depth + 1)
        return Not(term=term, start=minus.start, end=term.end)

    def _group(self, opening: Token, depth: int) -> Term:
        inner = self.terms(depth + 1)
        closing = self._peek()
        if closing is None:
            raise QueryError('This bracket is not closed; to search for it, write "(".', opening.start, opening.end)
        self._at += 1
        if not inner:
            raise QueryError("These brackets are empty.", opening.start, closing.end)
        return All(terms=inner, start=opening.start, end=closing.end)


def _leaf(token: Token, written: str) -> Term:
    text = _text_of(written, token.start, token.end)
    name, colon = text.syntax.partition(":")[0], text.syntax.find(":")
    if colon > 0 and _NAME.fullmatch(name):
        value = text.part(colon + 1)
        if not value.characters.startswith("//"):  # a URL was pasted
            return _filter(name, value, token, written, text.offsets[colon])
    if not text.characters:
        raise QueryError("These quotes are empty.", token.start, token.end)
    return Word(text=text.characters, start=token.start, end=token.end)


def _filter(name: str, value: Text, token: Token, written: str, colon: int) -> Filter:
    kind = FILTERS.get(OLD_NAMES.get(name.lower(), name.lower()))
    if kind is None:
        suggestion = closest(name, FILTERS)
        meant = f"Did you mean {suggestion}:? " if suggestion else ""
        raise QueryError(
            f"Unknown filter {name}:. {meant}To search for the text itself, put it in quotes.",
            token.start,
            colon + 1,
            f"{suggestion}:" if suggestion else None,
        )
    if not value.characters:
        value = Text(characters="", syntax="", offsets=(), end=token.end)
    return Filter(
        name=kind.name,
        source=written[colon + 1 : token.end],
        condition=read_condition(kind, value),
        start=token.start,
        end=token.end,
    )

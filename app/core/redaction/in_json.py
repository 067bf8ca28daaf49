"""Secrets in JSON, also where it is broken or cut off, and in several values one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.redaction.names import NAME_MAX, is_secret
from app.core.redaction.secret import REDACTED, Decoded, Find, Secret, as_sent, decoded, without_secret

# Possessive, so that a text that never ends is read once.
_TOKEN = re.compile(
    r'"(?P<text>(?:[^"\\]|\\(?:.|\Z))*+)(?:"|\Z)|(?P<mark>[{}\[\],])'
    r"|'(?P<single>(?:[^'\\\r\n]|\\.)*+)'|(?P<word>[^\s\"{}\[\],:]++)",
    re.DOTALL | re.ASCII,
)
_COLON = re.compile(r"[ \t\r\n]*+:")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NO_SECRET = frozenset({"true", "false", "null"})
_NAMING = frozenset({"name", "key", "field", "header", "label", "param", "parameter", "variable", "k"})
_VALUED = frozenset({"value", "values", "val", "content", "default", "data", "text", "v"})
DEPTH_MAX = 1_000
"""Deeper levels are counted, but nothing is kept of each."""


@dataclass(slots=True)
class _Level:
    """An object or a list. `names_secret`: a member such as `"name": "password"` says that the value is a secret;
    `value` is where it is, if it came before."""

    is_list: bool
    names_secret: bool = False
    value: Secret | None = None
    values: int = 0


class _Reader:
    """Reads tokens in order. `name` is that of the member whose value comes next."""

    def __init__(self, text: str, find: Find) -> None:
        self._text, self._find = text, find
        self._levels: list[_Level] = []
        self._depth = 0
        self._name: str | None = None
        self._hidden_from = self._hidden_depth = -1

    def secrets(self) -> Iterator[Secret]:
        for token in _TOKEN.finditer(self._text):
            if token["mark"]:
                yield from self._mark(token["mark"], token.start(), token.end())
            elif self._hidden_from < 0:
                yield from self._value(token)
        if self._hidden_from >= 0:
            yield Secret(self._hidden_from, len(self._text), f'"{REDACTED}"')

    def _mark(self, mark: str, begin: int, end: int) -> Iterator[Secret]:
        if mark in "{[":
            if self._hidden_from < 0 and self._is_secret():
                self._hidden_from, self._hidden_depth = begin, self._depth
            self._count()
            self._depth += 1
            if self._hidden_from < 0 and self._depth <= DEPTH_MAX:
                self._levels.append(_Level(mark == "["))
        elif mark in "}]" and self._depth:
            self._depth -= 1
            del self._levels[self._depth :]
            if self._hidden_from >= 0 and self._depth <= self._hidden_depth:
                yield Secret(self._hidden_from, end, f'"{REDACTED}"')
                self._hidden_from = -1
        self._name = None

    def _value(self, token: re.Match[str]) -> Iterator[Secret]:
        """A text, a number or another word: the name of a member, or a value."""
        group = token.lastgroup or ""
        sent, begin = token[group], token.start(group)
        if _COLON.match(self._text, token.end()):
            self._name = _plain(sent[: 2 * NAME_MAX], 0).text
            return
        secret, level = self._is_secret(), self._level
        self._count()
        if secret:
            if sent and sent not in _NO_SECRET:
                plain = _plain(sent[:NAME_MAX], 0).text
                yield Secret(token.start(), token.end(), f'"{_encoded(without_secret(plain))}"')
        else:
            plain_text = _plain(sent, begin)
            yield from as_sent(self._find(plain_text.text), plain_text, _encoded)
            if level is not None:
                yield from self._note(level, plain_text.text, Secret(token.start(), token.end(), f'"{REDACTED}"'))
        self._name = None

    @property
    def _level(self) -> _Level | None:
        return self._levels[-1] if self._levels and self._depth == len(self._levels) else None

    def _is_secret(self) -> bool:
        """Whether the value that comes next is a secret."""
        if self._name is not None and is_secret(self._name):
            return True
        level = self._level
        if level is None or not level.names_secret:
            return False
        return level.values == 1 if level.is_list else (self._name or "").lower() in _VALUED

    def _count(self) -> None:
        if self._level is not None:
            self._level.values += 1

    def _note(self, level: _Level, text: str, whole: Secret) -> Iterator[Secret]:
        """`{"name": "password", "value": …}` in any order, or a list of two in a list, such as a header."""
        name = (self._name or "").lower()
        if level.is_list:
            in_list = len(self._levels) > 1 and self._levels[-2].is_list
            level.names_secret = in_list and level.values == 1 and is_secret(text)
        elif name in _VALUED:
            level.value = whole
        elif name in _NAMING:
            level.names_secret = is_secret(text)
            if level.names_secret and level.value is not None:
                yield level.value


def json_secrets(text: str, find: Find) -> Iterator[Secret]:
    """The values of secret members, objects and lists whole, and what `find` finds in other texts.

    A value whose name comes later is out of order, and can hold others that were found.
    """
    return _Reader(text, find).secrets()


def _plain(sent: str, begin: int) -> Decoded:
    return decoded(sent, begin, _ESCAPE, _character)


def _character(escape: str) -> str:
    return chr(int(escape[2:], 16)) if len(escape) == 6 else _SHORT.get(escape[1], escape[1])


def _encoded(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]

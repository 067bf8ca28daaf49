"""Secrets in JSON, also where it is broken or cut off, and in several values one after the other."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from app.core.redaction.secret import NAME_MAX, REDACTED, Decoded, Find, Secret, as_sent, is_secret, without_secret
from app.core.text import word_set

# Possessive, so that a text that never ends is read once. Words are what no quotes are around; `=` and `=>` stand for
# the colon in what only looks like JSON.
_TOKEN = re.compile(
    r'"(?P<text>[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+)(?:"|\Z)(?P<colon>\s*+(?::|=>?))?|(?P<mark>[{}\[\]])'
    r"|'(?P<single>[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+)'(?P<single_colon>\s*+(?::|=>?))?"
    r"|(?P<word>[^\s\"{}\[\],:=>][^\s\"{}\[\],:=]*+)(?P<word_colon>\s*+(?::|=>?))?",
    re.DOTALL | re.ASCII,
)
_WORD = re.compile(r"[^\s\"{}\[\],]*+")
"""The rest of a secret that has no quotes around it: it may have an equals sign in it."""
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NO_SECRET = word_set("true false null")
_HARMLESS = re.compile(r"(?!-|[BbUu](?:asic |se code ))[^:=<{\[%&|\\]{0,15}+\Z|-?[\d.eE+-]*+\Z", re.ASCII)
"""A value that is too short for a key and no name with a value, or a number."""
_NAMING = word_set("name key field header label title question param parameter variable k path parameterkey")
_VALUED = word_set("value values val default v answer stringvalue string_value new_value old_value parametervalue")
_CONTENT = word_set("content data text")
"""Beside a name of several words, such as `Token bot`, these hold no secret, and neither does an object in them."""
_RAW_HEADERS = "rawheaders"
"""In such a list of Node's, names and values take turns."""
DEPTH_MAX = 1_000
"""Deeper levels are counted, but nothing is kept of each."""


@dataclass(slots=True)
class _Level:
    """An object or a list, which begins at `begin` as the value of the member `name`.

    `secret`: the name of a secret that a member such as `"name": "password"` has; the value beside it is that secret.
    `value` is where it is, if it came before.
    """

    is_list: bool
    begin: int
    name: str
    is_empty: bool = True
    secret: str | None = None
    value: Secret | None = None


class _Reader:
    """Reads tokens in order. `name` is that of the member whose value comes next."""

    def __init__(self, text: str, find: Find) -> None:
        self._text, self._find = text, find
        self._found: list[Secret] = []
        self._levels: list[_Level] = []
        self._depth = 0
        self._name = ""
        self._hidden_from = self._hidden_depth = -1
        self._has_tuples = "('" in text or '("' in text  # of Python's

    def secrets(self) -> list[Secret]:
        for token in _TOKEN.finditer(self._text):
            kind = token.lastgroup or ""
            if kind == "mark":
                self._mark(token[0], token.start(), token.end())
            elif self._hidden_from >= 0:
                continue
            elif kind in _NAMES and not ("=" in token[kind] and self._is_secret(is_scalar=True)):
                self._name = _plain(token[_NAMES[kind]])
            else:
                self._value(token, _NAMES.get(kind, kind))
        if self._hidden_from >= 0:
            self._found.append(Secret(self._hidden_from, len(self._text), f'"{REDACTED}"'))
        return self._found

    def _mark(self, mark: str, begin: int, end: int) -> None:
        if mark in "{[":
            self._open(begin, is_list=mark == "[")
        elif self._depth:
            self._depth -= 1
            self._close(end)
        self._name = ""

    def _open(self, begin: int, *, is_list: bool) -> None:
        if self._hidden_from < 0:
            if self._is_secret(is_scalar=False):
                self._hidden_from, self._hidden_depth = begin, self._depth
            elif self._depth < DEPTH_MAX:
                if level := self._level:
                    level.is_empty = False
                self._levels.append(_Level(is_list, begin, self._name.lower()))
        self._depth += 1

    def _close(self, end: int) -> None:
        if self._hidden_from >= 0:
            if self._depth <= self._hidden_depth:
                self._found.append(Secret(self._hidden_from, end, f'"{REDACTED}"'))
                self._hidden_from = -1
        elif self._depth < len(self._levels):
            ended = self._levels.pop()
            if ended.name in _VALUED and (level := self._level):
                level.value = Secret(ended.begin, end, f'"{REDACTED}"')

    def _value(self, token: re.Match[str], group: str) -> None:
        """A text, a number or another word."""
        sent, level = token[group], self._level
        if self._is_secret(is_scalar=True):
            if sent and sent not in _NO_SECRET:
                word = _WORD.search(self._text, token.end(group))
                end = word.end() if word and group == "word" else token.end()
                self._found.append(Secret(token.start(), end, f'"{_encoded(without_secret(_plain(sent)))}"'))
            self._name = ""
        else:
            if not _HARMLESS.match(sent):
                plain = Decoded(sent, token.start(group), _ESCAPE, _character)
                self._found += as_sent(self._find(plain.text), plain, _encoded)
            name, self._name = self._name, ""
            if level is not None and (level.is_list or name):
                self._note(level, name.lower(), sent, token)
        if level is not None:
            level.is_empty = False

    @property
    def _level(self) -> _Level | None:
        return self._levels[-1] if self._levels and self._depth == len(self._levels) else None

    def _is_secret(self, *, is_scalar: bool) -> bool:
        """Whether the value that comes next is a secret."""
        if not self._name:
            return False
        if is_secret(self._name):
            return True
        level = self._level
        if level is None or level.secret is None:
            return False
        name = self._name.lower()
        return name in _VALUED or (name in _CONTENT and is_scalar and " " not in level.secret)

    def _note(self, level: _Level, name: str, sent: str, token: re.Match[str]) -> None:
        """`{"name": "password", "value": …}` in any order, or a list of two in a list, such as a header."""
        if level.is_list:
            is_pair = level.is_empty and len(self._levels) > 1 and self._levels[-2].is_list
            is_tuple = self._has_tuples and (sent.startswith("('") or self._text[token.start() - 1] == "(")
            if is_pair or is_tuple or level.name == _RAW_HEADERS or (sent.startswith("--") and "=" not in sent):
                self._name = _plain(sent).strip("('")
        elif name in _VALUED:
            level.value = Secret(token.start(), token.end(), f'"{REDACTED}"')
        elif name in _NAMING:
            text = _plain(sent)
            level.secret = text if is_secret(text) else None
            if level.secret and level.value is not None:
                self._found.append(level.value)


_NAMES = {"colon": "text", "single_colon": "single", "word_colon": "word"}


def json_secrets(text: str, find: Find) -> list[Secret]:
    """The values of secret members, objects and lists whole, and what `find` finds in other texts.

    A value whose name comes later is out of order, and can hold others that were found.
    """
    return _Reader(text, find).secrets()


def _plain(sent: str) -> str:
    """The beginning without escapes."""
    short = sent[: 2 * NAME_MAX]
    return Decoded(short, 0, _ESCAPE, _character).text if "\\" in short else short


def _character(escape: str) -> str:
    return chr(int(escape[2:], 16)) if len(escape) == 6 else _SHORT.get(escape[1], escape[1])


def _encoded(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]

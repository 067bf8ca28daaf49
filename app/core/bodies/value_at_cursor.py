"""Finds the value at a position in the displayed lines: the string, number or word there, and its name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from app.core.bodies.formatter import Line

LINE_MAX = 8 * 1024 * 1024
"""Maximum characters of a line that are searched, including its continuations."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)')
_NAMED = re.compile(r"\s*:\s*")
_NAME_BEFORE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\Z')
_WORD = re.compile(r"""[^\s"'<>,;(){}\[\]]+""")
_FIELD = re.compile(r"([\w.\[\]-]+)\s*=\s*(?=[^=\s])")


class Value(NamedTuple):
    """`text` is decoded, without quotes and escapes; `quoted`: it had quotes."""

    text: str
    name: str
    quoted: bool


def value_at(lines: Sequence[Line], number: int, column: int) -> Value | None:
    """The value at a character of a line; on a name, the value with that name."""
    if not 0 <= number < len(lines):
        return None
    first = number
    while first and lines[first].folded:
        column += len(lines[first - 1].text)
        first -= 1
    last = first + 1
    while last < len(lines) and lines[last].folded:
        last += 1
    text = "".join(line.text for line in lines[first:last])
    return _in(text, column) if len(text) <= LINE_MAX else None


def _in(text: str, column: int) -> Value | None:
    end = 0
    for match in _STRING.finditer(text):
        named = _NAMED.match(text, match.end())
        if match.start() <= column <= match.end():
            return _named_by(text, match, named) if named else _string(text, match)
        if named and match.end() < column < named.end():
            return _named_by(text, match, named)
        if match.start() > column:
            break
        end = match.end()
    return _word(text, column, end)


def _string(text: str, match: re.Match[str]) -> Value:
    raw = match.group()
    try:
        meant = str(json.loads(raw))
    except ValueError:
        meant = raw[1:-1]
    return Value(meant, _name_before(text, match.start()), True)


def _named_by(text: str, name: re.Match[str], between: re.Match[str]) -> Value | None:
    match = _STRING.match(text, between.end())
    if match is not None:
        return _string(text, match)
    word = _WORD.match(text, between.end())
    return Value(word.group(), name.group()[1:-1], False) if word else None


def _name_before(text: str, start: int) -> str:
    match = _NAME_BEFORE.search(text, max(0, start - 300), start)
    return match[1] if match else ""


def _word(text: str, column: int, begin: int) -> Value | None:
    """Outside a JSON string: the text up to the next space, quote or bracket; for `name=value`, the value."""
    start = column
    while start > begin and _WORD.match(text, start - 1, start):
        start -= 1
    match = _WORD.match(text, start)
    if match is None:
        return None
    field = _FIELD.match(text, start, match.end())
    if field:
        return Value(text[field.end() : match.end()], field[1], False)
    before = re.search(r"([\w.\[\]-]+) = \Z", text[max(0, start - 300) : start])
    return Value(match.group(), _name_before(text, start) or (before[1] if before else ""), False)

"""Secrets in tables that are drawn with `|`, as in Markdown: below a secret's name in the header, and beside one in a
row."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.core.redaction.secret import Secret, is_secret

STEMS = ("| pin", "| otp", "| pw", "|pin", "|otp", "|pw")
"""Short names, which are words of other texts."""
_LINE = re.compile(r"[^\r\n|]*+\|[^\r\n]*+(?:\r?\n|\Z)")
_ROWS = re.compile(rf"(?:{_LINE.pattern})*+")
_DRAWN = re.compile(r"[ \t>]*+\|")
"""Begins a row with a line at its side."""
_DRAWN_LATER = re.compile(rf"\n{_DRAWN.pattern}")
_RULE = re.compile(r"[ \t>]*+(?=[|+:-])(?=[^\r\n-]*-)(?=[^\r\n|+]*[|+])[ \t|+:-]++(?:\r?\n|\Z)")
"""The line below a header, also as MySQL and psql write it."""
_RULE_PARTS = ("--", "|-", ":-")
"""One of these is in each rule; quick."""
_CELL = re.compile(r"[ \t]*+((?:[^|\\\r\n]|\\[^\r\n])*+)\|?")
_MARKS = " \t*_`~\"'"
_NAME_MAX = 40
_NAME = re.compile(r"[\w.-]++(?: [\w.-]++){0,3}", re.ASCII)
_KEY = re.compile(r"(?=\D*\d)\S{6,}|\[redacted\]")
_VALUE = frozenset({"value", "val", "default", "content"})
_NO_SECRET = frozenset({"", "-", "true", "false", "null", "none", "yes", "no", "string", "integer", "number"})


def table_secrets(text: str, places: Sequence[int]) -> Iterator[Secret]:
    """The secrets in a text's tables, not in order; `places` are where names of secrets may be, in order."""
    if _DRAWN.match(text) or _DRAWN_LATER.search(text):
        yield from _beside(text, places)
    reached = 0
    for header, rule in _headers(text):
        if header >= reached:
            reached = yield from _below(text, header, rule, places)


def _beside(text: str, places: Sequence[int]) -> Iterator[Secret]:
    """The cells after those that name a secret, in rows with a line at their side."""
    end, is_row = 0, False
    for place in places:
        if place >= end:
            line = text.rfind("\n", end, place + 1) + 1 or end
            end = text.find("\n", place) + 1 or len(text)
            is_row = _DRAWN.match(text, line) is not None and not _RULE.match(text, end)
        name = _name_at(text, place) if is_row else None
        if name and (value := _CELL.match(text, name.begin + len(name.sent) + 1)):
            yield from _cell(value).secret


def _name_at(text: str, place: int) -> _Cell | None:
    """The cell of `place`, if it names a secret and another one follows."""
    least = max(0, place - _NAME_MAX)
    begin = max(text.rfind(side, least, place + 1) for side in "|\n") + 1
    end = text.find("|", place + 1, place + _NAME_MAX)
    if end < 0 or begin < least:
        return None
    cell = _Cell(begin, text[begin:end])
    return cell if cell.is_name else None


def _headers(text: str) -> Iterator[tuple[int, int]]:
    """Where the header of each table begins, and the line below it."""
    for rule in sorted({line for part in _RULE_PARTS for line in _lines_with(part, text)}):
        if rule and _RULE.match(text, rule):
            header = text.rfind("\n", 0, rule - 1) + 1
            above = text.rfind("\n", 0, max(0, header - 1)) + 1
            is_first = above == header or _RULE.match(text, above) or not _LINE.match(text, above)
            if is_first and _LINE.match(text, header):
                yield header, rule


def _lines_with(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        at = text.find(part, end) if end >= 0 else -1


def _below(text: str, header: int, rule: int, places: Sequence[int]) -> Generator[Secret, None, int]:
    """In the columns whose names are those of secrets; and in rows with such a name, in the column of values or else
    beside the name. Returns where the table ends, or its header, if `_beside` is enough."""
    cells = _cells(text, header)
    columns = {number for number, cell in enumerate(cells) if cell.is_name}
    # Markdown has no table without a header, so the first name and value may be in it.
    for name, cell in pairwise(cells):
        if name.is_name and _KEY.fullmatch(cell.plain):
            columns = set()
            yield from cell.secret
    value = next((number for number, cell in enumerate(cells) if cell.plain.lower() in _VALUE), None)
    if not columns and value is None and _DRAWN.match(text, header):
        return header
    begin = text.find("\n", rule) + 1 or len(text)
    rows = _ROWS.match(text, begin)
    end = rows.end() if rows else begin
    named = places[bisect_left(places, begin) : bisect_left(places, end)]
    lines = {text.rfind("\n", begin - 1, place + 1) + 1 for place in named if _name_at(text, place)}
    for line in (row.start() for row in _LINE.finditer(text, begin, end)) if columns else lines:
        cells = _cells(text, line)
        found = [number for number, cell in enumerate(cells) if line in lines and number != value and cell.is_name]
        for number in columns.union(number + 1 if value is None else value for number in found):
            yield from cells[number].secret if number < len(cells) else ()
    return end


class _Cell(NamedTuple):
    begin: int
    sent: str
    """Without the spaces around it."""

    @property
    def plain(self) -> str:
        """Without Markdown's marks around it."""
        return self.sent.strip(_MARKS)

    @property
    def is_name(self) -> bool:
        name = self.plain.removesuffix(":")
        return len(name) <= _NAME_MAX and _NAME.fullmatch(name) is not None and is_secret(name)

    @property
    def secret(self) -> tuple[Secret, ...]:
        if self.plain.lower() in _NO_SECRET:
            return ()
        return (Secret(self.begin, self.begin + len(self.sent)),)


def _cells(text: str, begin: int) -> list[_Cell]:
    """Those of the line from `begin` on, without what is before the one at its side."""
    drawn = _DRAWN.match(text, begin)
    end = text.find("\n", begin)
    return list(map(_cell, _CELL.finditer(text, drawn.end() if drawn else begin, end if end >= 0 else len(text))))


def _cell(found: re.Match[str]) -> _Cell:
    return _Cell(found.start(1), found[1].rstrip())

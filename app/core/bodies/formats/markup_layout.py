"""Layout of markup: elements on lines of their own, indented by depth, with text on the line of its tag if it fits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from app.core.bodies.lines import Kind, LineBuilder

INDENT = 2
DEEPEST_INDENT = 40
"""Levels beyond this are not indented further; nesting has no limit."""
SPACE = " \t\r\n\f"
SPACES = re.compile(f"[{SPACE}]+")
_INK = re.compile(f"[^{SPACE}]")

ENTITY = re.compile(r"(&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z_:][\w:.-]{0,63});)")

Last = Literal["open", "text", "block"]
"""Written last: a start tag, text (or an inline element), or a block that fills its line."""


class _Open(NamedTuple):
    name: str
    row: int
    verbatim: bool


class Flow:
    """Writes tags and text to `lines`, and keeps track of open elements."""

    def __init__(self, lines: LineBuilder) -> None:
        self.lines = lines
        self._stack: list[_Open] = []
        self._counts: Counter[str] = Counter()
        self._verbatim = 0
        self._last: Last = "block"
        self._row = 0
        self._blank = True
        # The text ended with a line break, which is written before the next item.
        self._broken = False

    @property
    def depth(self) -> int:
        return len(self._stack)

    @property
    def top(self) -> str | None:
        """The innermost open element."""
        return self._stack[-1].name if self._stack else None

    def is_open(self, name: str) -> bool:
        """At any depth."""
        return self._counts[name] > 0

    def write(self, kind: Kind, text: str) -> None:
        if text:
            self.lines.add(kind, text)
            self._blank = False

    def begin(self, *, inline: bool) -> None:
        """Before a start tag, comment or similar; an `inline` one can stay on the line of the text."""
        if not inline or self._last == "block" or self._broken:
            self._new_line()

    def opened(self, name: str, *, verbatim: bool) -> None:
        """After a start tag; within a `verbatim` element line breaks are kept, and none are added."""
        self._stack.append(_Open(name, self._row, verbatim))
        self._counts[name] += 1
        self._verbatim += verbatim
        self._last = "open"

    def ended(self, *, inline: bool) -> None:
        """After a comment, an empty element or an end tag."""
        self._last = "text" if inline else "block"

    def begin_end(self, name: str) -> int:
        """Before the end tag of an open element. Returns how many elements within it had none."""
        unclosed = 0
        while self.top != name:
            self.drop()
            unclosed += 1
        element = self._stack[-1]
        verbatim = self._verbatim > 0
        self.drop()
        if not verbatim and (self._row != element.row or self._last == "block" or self._broken):
            self._new_line()
        return unclosed

    def drop(self) -> None:
        """End the innermost element, which has no end tag."""
        element = self._stack.pop()
        self._counts[element.name] -= 1
        self._verbatim -= element.verbatim

    def text(self, piece: str, *, fills: bool = False) -> Iterator[None]:
        """Text that `fills` its element is shown even if it is only white space."""
        if self._verbatim:
            yield from self.verbatim("text", piece)
        elif "\n" in piece:
            yield from self._lines_of(piece)
        else:
            self._short(piece, fills)

    def verbatim(self, kind: Kind, piece: str, *, entities: bool = True) -> Iterator[None]:
        """Text whose line breaks are kept."""
        put, at = self._put if entities else self.write, 0
        while (end := piece.find("\n", at)) >= 0:
            put(kind, piece[at:end].removesuffix("\r"))
            self.new_row()
            at = end + 1
            yield
        put(kind, piece[at:])
        self._last = "text"

    def new_row(self, depth: int = 0) -> None:
        """Always begins a new line."""
        self.lines.end_line(INDENT * min(depth, DEEPEST_INDENT))
        self._row += 1
        self._blank = True

    def finish(self) -> None:
        if not self._blank:
            self.lines.end_line()

    def _short(self, piece: str, fills: bool) -> None:
        if not piece.strip(SPACE):
            if self._last == "text" or (fills and self._last == "open"):
                self.write("text", piece)
            return
        if self._last == "block" or self._broken:
            self._new_line()
            piece = piece.lstrip(SPACE)
        self._put("text", piece)
        self._last = "text"

    def _lines_of(self, piece: str) -> Iterator[None]:
        """Puts each line of the text on a line of its own, indented. There can be millions of lines without text."""
        self._broken = self._broken or self._last != "text"
        at = 0
        while ink := _INK.search(piece, at):
            self._broken = self._broken or piece.rfind("\n", at, ink.start()) >= 0
            begin = ink.start() if self._broken else at
            end = piece.find("\n", ink.start())
            at = end if end >= 0 else len(piece)
            if self._broken:
                self._new_line()
            self._put("text", piece[begin:at].rstrip(SPACE) if end >= 0 else piece[begin:])
            self._last = "text"
            yield
        self._broken = self._broken or piece.find("\n", at) >= 0

    def _put(self, kind: Kind, text: str) -> None:
        if kind != "text" or "&" not in text:
            self.write(kind, text)
            return
        for number, part in enumerate(ENTITY.split(text)):
            self.write("literal" if number % 2 else "text", part)

    def _new_line(self) -> None:
        self._broken = False
        if not self._verbatim and not (self._blank and self._row == 0):
            self.new_row(self.depth)

"""The layout of markup: elements on lines of their own by depth, text beside its tag where it fits on that line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from app.core.bodies.lines import Kind, LineBuilder

INDENT = 2
DEEPEST_INDENT = 40
"""Levels that are still indented; nesting itself has no bound."""
SPACE = " \t\r\n\f"
SPACES = re.compile(f"[{SPACE}]+")
_INK = re.compile(f"[^{SPACE}]")

ENTITY = re.compile(r"(&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z_:][\w:.-]{0,63});)")

Last = Literal["open", "text", "block"]
"""What was written last: a start tag, text (or an element within text), or what fills its line."""


class _Open(NamedTuple):
    name: str
    row: int
    verbatim: bool


class Flow:
    """Writes tags and text into `lines`, and knows which elements are open."""

    def __init__(self) -> None:
        self.lines = LineBuilder()
        self._stack: list[_Open] = []
        self._counts: Counter[str] = Counter()
        self._verbatim = 0
        self._last: Last = "block"
        self._row = 0
        self._blank = True
        # Whether the text met a line break, which is written once something follows.
        self._broken = False

    def resume(self, names: Sequence[str]) -> None:
        """These elements are open, and begin on lines that are not written here."""
        for name in names:
            self._stack.append(_Open(name, -1, False))
            self._counts[name] += 1
        self.lines.begin_line(INDENT * min(len(names), DEEPEST_INDENT))

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._stack)

    @property
    def top(self) -> str | None:
        """The innermost element that is open."""
        return self._stack[-1].name if self._stack else None

    @property
    def is_verbatim(self) -> bool:
        """Whether line breaks are kept."""
        return self._verbatim > 0

    def is_open(self, name: str) -> bool:
        """Whether an element of this name is open, however far out."""
        return self._counts[name] > 0

    def write(self, kind: Kind, text: str) -> None:
        """Continue the line."""
        if text:
            self.lines.add(kind, text)
            self._blank = False

    def begin(self, *, inline: bool) -> None:
        """A start tag, comment or the like comes; an `inline` one may stay within the text."""
        if not inline or self._last == "block" or self._broken:
            self._new_line()

    def opened(self, name: str, *, verbatim: bool) -> None:
        """The start tag of an element was written; within a `verbatim` one line breaks are kept, and none added."""
        self._stack.append(_Open(name, self._row, verbatim))
        self._counts[name] += 1
        self._verbatim += verbatim
        self._last = "open"

    def ended(self, *, inline: bool) -> None:
        """A comment, an empty element or an end tag was written."""
        self._last = "text" if inline else "block"

    def begin_end(self, name: str) -> int:
        """The end tag of an element that is open comes; how many within it had none."""
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
        """The innermost element ends without a tag of its own."""
        element = self._stack.pop()
        self._counts[element.name] -= 1
        self._verbatim -= element.verbatim

    def text(self, piece: str, *, first: bool, complete: bool, fills: bool = False) -> None:
        """A piece of text, the `first` of its run or not; `whole` when the run ends with it.

        One that `fills` its element is shown even if it is nothing but white space.
        """
        if self._verbatim:
            self.verbatim("text", piece)
        elif first and complete and "\n" not in piece:
            self._short(piece, fills)
        else:
            self._long(piece, first)

    def verbatim(self, kind: Kind, piece: str, *, entities: bool = True) -> None:
        """Text whose line breaks are kept."""
        parts = piece.split("\n")
        for number, part in enumerate(parts):
            if number:
                self.new_row()
            shown = part if number == len(parts) - 1 else part.removesuffix("\r")
            (self._put if entities else self.write)(kind, shown)
        self._last = "text"

    def new_row(self, depth: int = 0) -> None:
        """Begin a line, whatever the last one holds."""
        self.lines.end_line(INDENT * min(depth, DEEPEST_INDENT))
        self._row += 1
        self._blank = True

    def finish(self) -> None:
        """The last line ends."""
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

    def _long(self, piece: str, first: bool) -> None:
        """Each line of the text on one of its own, at the depth it stands at; there may be millions without any."""
        self._broken = self._broken or (first and self._last != "text")
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
        if piece.find("\n", at) >= 0:
            self._broken = True
        elif at < len(piece) and not self._broken:
            self._put("text", piece[at:])
            self._last = "text"

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

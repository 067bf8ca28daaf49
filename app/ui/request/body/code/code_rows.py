"""Lines and the view's rows that show them: numbers, positions and text, whatever is folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from PySide6.QtGui import QTextBlock
from PySide6.QtWidgets import QPlainTextEdit

from app.core.bodies.folding import Folds
from app.core.bodies.lines import Line
from app.ui.request.body.code.searchable_text import utf16

TAB = 4
"""Characters to the next tab stop."""


class CodeRows:
    """The rows of a view. A place is a position as if nothing were folded, in UTF-16 units, as in `searchable_text`."""

    def __init__(self, view: QPlainTextEdit) -> None:
        self.view = view
        self.lines: list[Line] = []
        self.folds: Folds | None = None
        self._numbers: list[int] = []
        self._starts: list[int] = []
        self._end = 0
        self._numbered, self._before_first = True, 0

    def begin(self, lines: Sequence[Line], first: int | None, *, folding: bool) -> None:
        """Replace the lines; the first has this number, or None if numbers are unknown."""
        self.lines, self._numbers, self._starts, self._end = [], [], [], 0
        self.folds = Folds() if folding else None
        self._numbered = first is not None
        self._before_first = (first or 1) - (not (lines and lines[0].folded))
        self.add(lines)

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines."""
        number = self.last_number()
        for line in lines:
            number += not line.folded
            self._numbers.append(number)
            self._starts.append(self._end)
            self._end += utf16(line.text) + 1
        self.lines.extend(lines)
        if self.folds is not None:
            self.folds.add(lines)

    def last_number(self) -> int:
        """The number of the last line."""
        return self._numbers[-1] if self._numbers else self._before_first

    def number_text(self, line: int) -> str:
        """The text in the gutter."""
        if not 0 <= line < len(self.lines):
            return ""
        if self.lines[line].folded:
            return "\u21aa"
        return str(self._numbers[line]) if self._numbered else ""

    def indent(self, line: int) -> tuple[int, bool]:
        """Columns of leading white space, and whether the line continues a previous one, whose indentation it has."""
        if not 0 <= line < len(self.lines):
            return 0, False
        continued = self.lines[line].folded
        text = self.lines[bisect_left(self._numbers, self._numbers[line]) if continued else line].text
        white = text[: len(text) - len(text.lstrip(" \t"))].expandtabs(TAB)
        return len(white), continued

    def number_of(self, line: int) -> int | None:
        """The line's number, if it is known."""
        return self._numbers[line] if self._numbered and 0 <= line < len(self._numbers) else None

    def with_number(self, number: int) -> tuple[int, int]:
        """The first line with this number, and the line after the last one."""
        return bisect_left(self._numbers, number), bisect_right(self._numbers, number)

    def line_of(self, row: int) -> int:
        """The line that a row shows."""
        return row if self.folds is None else self.folds.line_of(row)

    def row_of(self, line: int) -> int:
        """The row that shows a line, or that it is folded under."""
        return line if self.folds is None else self.folds.row_of(line)

    def block_of(self, line: int) -> QTextBlock:
        """The text block of that row."""
        return self.view.document().findBlockByNumber(self.row_of(line))

    def place_of(self, line: int, column: int) -> int:
        """The place of the character at `column` of the line."""
        return self._starts[line] + utf16(self.lines[line].text[:column])

    def line_at(self, place: int) -> int:
        """The line at a place."""
        return max(0, bisect_right(self._starts, place) - 1)

    def position(self, place: int) -> int | None:
        """Its position in the document; None if it is folded."""
        if self.folds is None or not self.folds.folded:
            return place
        line = self.line_at(place)
        if self.folds.hidden_by(line) is not None:
            return None
        return self.block_of(line).position() + place - self._starts[line]

    def visible_rows(self, bottom: int) -> Iterator[tuple[int, float]]:
        """The rows from the first one in view down to the pixel `bottom`, with their tops."""
        view = self.view
        block = view.firstVisibleBlock()
        while block.isValid():
            top = view.blockBoundingGeometry(block).translated(view.contentOffset()).top()
            if top > bottom:
                return
            yield block.blockNumber(), top
            block = block.next()

"""Lines and the rows of a view that show them: numbers, positions and text, and how lines are folded below a label."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import ceil

from PySide6.QtCore import QObject, QPointF, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QTextBlock, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from app.core.bodies.folding import Folds
from app.core.bodies.formatter import Line
from app.core.search.body_search import Encoding, base64_matches, may_be_encoded, pattern_of
from app.ui.theme.theme import BodyTextStyle
from app.ui.widgets.marked_text import qt_places, utf16

MATCHES_MAX = 10_000
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class SearchableText:
    """Display lines as one text. Qt counts UTF-16 units and treats a fold as a line break, which the text does not
    contain.
    """

    def __init__(self) -> None:
        self._text, self._begun = "", False
        self._folds: list[int] = []
        self._astral: list[int] = []

    def __len__(self) -> int:
        return len(self._text)

    def add(self, lines: Iterable[Line]) -> None:
        """Append these lines."""
        begin = end = len(self._text)
        texts: list[str] = []
        for line in lines:
            if self._begun and line.folded:
                self._folds.append(end)
            text = "\n" + line.text if self._begun and not line.folded else line.text
            texts.append(text)
            end += len(text)
            self._begun = True
        added = "".join(texts)
        if not added.isascii():
            self._astral += [begin + match.start() for match in _ASTRAL.finditer(added)]
        self._text += added

    def find(
        self, words: Iterable[str], written: Sequence[Encoding] = (), begin: int = 0
    ) -> tuple[list[tuple[int, int]], int]:
        """Qt's start and end positions of each match of a word from the character `begin` on, ignoring case, in the
        notation `written`; at most `MATCHES_MAX`. And the number of characters searched so far.
        """
        text = self._text
        pattern = pattern_of(words, written if may_be_encoded(text, written) else ())
        if pattern is None:
            return [], len(text)
        found = [match.span() for match in islice(pattern.finditer(text, begin), MATCHES_MAX)]
        if "mail" in written:
            encoded = islice(base64_matches(text, pattern), MATCHES_MAX)
            found = sorted([*found, *(place for place in encoded if place[0] >= begin)])[:MATCHES_MAX]
        return [(self._position(start), self._position(end, end=True)) for start, end in found], len(text)

    def _position(self, at: int, *, end: bool = False) -> int:
        folds = bisect_left(self._folds, at) if end else bisect_right(self._folds, at)
        return at + folds + bisect_left(self._astral, at)


def qt_spans(line: Line) -> list[tuple[int, int, str]]:
    """The line's spans as (start, length, kind) in UTF-16 units."""
    if not _ASTRAL.search(line.text):
        return [(start, end - start, kind) for start, end, kind in line.spans]
    at = qt_places(line.text)
    return [(at[start], at[end] - at[start], kind) for start, end, kind in line.spans]


TAB = 4
"""Characters to the next tab stop."""


class CodeRows:
    """The rows of a view. A place is a position as if nothing were folded, in UTF-16 units, as in
    `SearchableText`."""

    def __init__(self, view: QPlainTextEdit) -> None:
        self.view = view
        self.lines: list[Line] = []
        self.folds = Folds()
        self.folding = False
        """Whether the lines can be folded."""
        self._numbers: list[int] = []
        self._starts: list[int] = []
        self._end = 0
        self._before_first = 0

    def begin(self, lines: Sequence[Line], first: int, *, folding: bool) -> None:
        """Replace the lines; the first has this number. `folding`: they can be folded."""
        self.lines, self._numbers, self._starts, self._end = [], [], [], 0
        self.folds, self.folding = Folds(), folding
        self._before_first = first - (not (lines and lines[0].folded))
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
        if self.folding:
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
        return str(self._numbers[line])

    def indent(self, line: int) -> tuple[int, bool]:
        """Columns of leading white space, and whether the line continues a previous one, whose indentation it has."""
        if not 0 <= line < len(self.lines):
            return 0, False
        continued = self.lines[line].folded
        text = self.lines[bisect_left(self._numbers, self._numbers[line]) if continued else line].text
        white = text[: len(text) - len(text.lstrip(" \t"))].expandtabs(TAB)
        return len(white), continued

    def with_number(self, number: int) -> tuple[int, int]:
        """The first line with this number, and the line after the last one."""
        return bisect_left(self._numbers, number), bisect_right(self._numbers, number)

    def line_of(self, row: int) -> int:
        """The line that a row shows."""
        return self.folds.line_of(row)

    def row_of(self, line: int) -> int:
        """The row that shows a line, or that it is folded under."""
        return self.folds.row_of(line)

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
        if not self.folds.folded:
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


DEEPEST_SHARE = 0.5
"""Maximum indentation of a continuation, as a share of the width."""
ANY_WIDTH = 1e7
"""Pixels of lines that are not wrapped."""
TOP = 0.25
"""Pixels above the first line; they mark a block as laid out here."""
AROUND = 60
"""Rows on either side of a target that are laid out before scrolling to it."""


class CodeLayout:
    """Lays out lines of code with a fixed line height, and wraps them at their indentation. Call `lay_out` for the rows
    about to be shown, then `lay_out_end`.

    Qt's plain-text layout supports neither, and redoes every block without lines. So Qt lays out a block first, which
    keeps its line count and maximum width, and then it is laid out again here before it is shown.
    """

    def __init__(self, rows: CodeRows, text: BodyTextStyle) -> None:
        self._rows, self._text = rows, text
        self._size_changed = False

    def lay_out(self, block: QTextBlock) -> None:
        view = self._rows.view
        view.document().documentLayout().blockBoundingRect(block)
        layout = block.layout()
        count = layout.lineCount()
        if not count or layout.lineAt(0).y() != 0:
            return
        columns, continued = self._rows.indent(self._rows.line_of(block.blockNumber()))
        margin = view.document().documentMargin()
        wraps = view.lineWrapMode() != QPlainTextEdit.LineWrapMode.NoWrap
        width = view.viewport().width() - 2 * margin if wraps else ANY_WIDTH
        indent = min(columns * QFontMetricsF(view.font()).horizontalAdvance(" "), width * DEEPEST_SHARE)
        height, number = self._text.line_height, 0
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            begin = indent if number or continued else 0.0
            line.setLineWidth(max(1.0, width - begin))
            # The block is to end at its last line: Qt uses the height of the text in it.
            top = number * height + max(TOP, height - ceil(line.height()))
            line.setPosition(QPointF(margin + begin, top))
            number += 1
        layout.endLayout()
        if number != count:
            block.setLineCount(number)
        self._size_changed = True

    def lay_out_around(self, row: int) -> None:
        """Before scrolling to a position, so that it ends up where intended."""
        view = self._rows.view
        first = max(0, row - AROUND)
        for number in range(first, min(view.blockCount(), first + 2 * AROUND)):
            self.lay_out(view.document().findBlockByNumber(number))
        self.lay_out_end()

    def lay_out_end(self) -> None:
        """Qt derives the scroll range from the height of the last page."""
        view = self._rows.view
        rows, block = view.viewport().height() // self._text.line_height + 2, view.document().lastBlock()
        while rows and block.isValid():
            self.lay_out(block)
            block, rows = block.previous(), rows - 1
        if self._size_changed:
            self.tell_size()

    def tell_size(self) -> None:
        """Let the scroll bars follow what is laid out."""
        self._size_changed = False
        layout = self._rows.view.document().documentLayout()
        layout.documentSizeChanged.emit(layout.documentSize())


class CodeFolds(QObject):
    """Does not hide blocks instead: Qt lays them out one by one, which takes seconds."""

    changed = Signal()

    def __init__(self, rows: CodeRows) -> None:
        super().__init__(rows.view)
        self._rows = rows

    def can_fold(self, line: int) -> bool:
        """Whether a line begins a region that can be, or is, folded."""
        return line in self._rows.folds.regions

    def is_folded(self, line: int) -> bool:
        """Whether lines are folded below this one."""
        return line in self._rows.folds.folded

    def text(self, line: int) -> str:
        """The text of the row that begins with this line."""
        text = self._rows.lines[line].text
        return text + "".join(self.label(line)) if self.is_folded(line) else text

    def label(self, line: int) -> tuple[str, str]:
        """The label shown for the lines folded under this one, and their end."""
        return self._rows.folds.label(line, self._rows.lines)

    def toggle(self, line: int) -> None:
        """Fold or unfold the region that begins at this line."""
        (self._unfold if self.is_folded(line) else self._fold)(line)
        self.changed.emit()

    def reveal(self, line: int) -> None:
        """Unfold the regions that hide this line."""
        hidden = False
        while (start := self._rows.folds.hidden_by(line)) is not None:
            self._unfold(start)
            hidden = True
        if hidden:
            self.changed.emit()

    @Slot()
    def fold_here(self) -> None:
        """Fold the region at the cursor."""
        start = self._rows.folds.foldable_at(self._cursor_line())
        if start is not None:
            self._fold(start)
            cursor = QTextCursor(self._rows.block_of(start))
            self._rows.view.setTextCursor(cursor)
            self.changed.emit()

    @Slot()
    def unfold_here(self) -> None:
        """Unfold the region at the cursor."""
        line = self._cursor_line()
        if self.is_folded(line):
            self.toggle(line)

    @Slot()
    def fold_all(self) -> None:
        """Fold everything but the outermost level."""
        self._rebuild(self._rows.folds.inner_regions(), fold=True)

    @Slot()
    def unfold_all(self) -> None:
        self._rebuild(tuple(self._rows.folds.folded), fold=False)

    def selected_text(self) -> str:
        """The selected text, with folded lines and without the labels and breaks added for display."""
        cursor, document = self._rows.view.textCursor(), self._rows.view.document()
        first, last = document.findBlock(cursor.selectionStart()), document.findBlock(cursor.selectionEnd())
        parts: list[str] = []
        for row in range(first.blockNumber(), last.blockNumber() + 1):
            line = self._rows.line_of(row)
            text, folded = self._rows.lines[line].text, self.is_folded(line)
            begin = cursor.selectionStart() - first.position() if row == first.blockNumber() else 0
            end = cursor.selectionEnd() - last.position() if row == last.blockNumber() else None
            parts += ["" if self._rows.lines[line].folded or not parts else "\n", _cut(text, begin, end)]
            if folded and (end is None or end > utf16(text)):
                for hidden in self._rows.lines[line + 1 : self._rows.folds.regions[line].end + 1]:
                    parts += ["" if hidden.folded else "\n", hidden.text]
        return "".join(parts)

    def _cursor_line(self) -> int:
        return self._rows.line_of(self._rows.view.textCursor().blockNumber())

    def _fold(self, line: int) -> None:
        folds = self._rows.folds
        begin, last = self._rows.block_of(line), self._rows.block_of(folds.regions[line].end)
        cursor = QTextCursor(begin)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        cursor.setPosition(last.position() + last.length() - 1, QTextCursor.MoveMode.KeepAnchor)
        folds.fold([line])
        cursor.insertText("".join(self.label(line)))
        self._rows.block_of(line).setUserState(-1)

    def _unfold(self, line: int) -> None:
        folds = self._rows.folds
        region = folds.regions[line]
        block = self._rows.block_of(line)
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + utf16(self._rows.lines[line].text))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        folds.unfold([line])
        texts = [self.text(inner) for inner in folds.visible_lines(line + 1, region.end)]
        cursor.insertText("\n" + "\n".join(texts))
        for row in (self._rows.row_of(line), self._rows.row_of(region.end)):
            self._rows.view.document().findBlockByNumber(row).setUserState(-1)

    def _rebuild(self, starts: Iterable[int], *, fold: bool) -> None:
        """Rewrites the document; the line at the top stays in view."""
        folds, view = self._rows.folds, self._rows.view
        if not self._rows.folding:
            return
        top = self._rows.line_of(view.firstVisibleBlock().blockNumber())
        line = self._cursor_line()
        (folds.fold if fold else folds.unfold)(starts)
        view.setPlainText("\n".join(map(self.text, folds.visible_lines(0, len(self._rows.lines) - 1))))
        view.setTextCursor(QTextCursor(self._rows.block_of(line)))
        view.verticalScrollBar().setValue(self._rows.block_of(top).firstLineNumber())
        self.changed.emit()


def _cut(text: str, begin: int, end: int | None) -> str:
    """From one UTF-16 unit to another."""
    if text.isascii():
        return text[begin:end]
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * begin : None if end is None else 2 * end].decode("utf-16-le", "surrogatepass")

"""Shows lines of styled text, however many: colours are laid on only where the reader looks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.core.bodies.lines import Line, shown_at
from app.core.search.spellings import Written
from app.ui.detail.found_text import FoundText, qt_spans, utf16
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

Selection = QTextEdit.ExtraSelection
NEAR_MATCHES = 200

SHOWN_MAX = 8 * 1024 * 1024
"""Characters of lines that are held at most; the rest of a larger body is for hex and files."""


class CodeView(QPlainTextEdit):
    """Read-only. `set_lines` begins, `add_lines` goes on; `end_near` asks for more."""

    end_near = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: list[Line] = []
        self._numbers: list[int] = []
        self._text = FoundText()
        self._length = 0
        self._formats: dict[str, QTextCharFormat] = {}
        self._dress_number = 0
        self._marked: tuple[Sequence[tuple[int, int]], int] = ((), 0)
        self._wrong: tuple[int, int] | None = None
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setProperty("frameless", True)
        self.setFont(mono_font(SMALL))
        self.setStyleSheet("QPlainTextEdit, QPlainTextEdit:focus { border: none; padding: 0; font-size: 12px; }")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(6)
        self.setTabStopDistance(4 * QFontMetrics(self.font()).horizontalAdvance(" "))
        self.setAccessibleName("Body")
        self._gutter = _Gutter(self)
        self.updateRequest.connect(self._move_gutter)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme.changed.connect(self._dress)
        self._dress(theme.tokens)

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines from the first on."""
        self._lines, self._numbers = [], []
        self._text = FoundText()
        self._length = 0
        self._marked, self._wrong = ((), 0), None
        self._note(lines)
        self.setPlainText("\n".join(line.text for line in lines))
        self._make_room()

    def add_lines(self, lines: Sequence[Line]) -> None:
        """Show more lines below."""
        if not lines:
            return
        self._note(lines)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText("\n" + "\n".join(line.text for line in lines))
        self._make_room()

    def length(self) -> int:
        """Characters shown."""
        return self._length

    def line_count(self) -> int:
        """Lines shown; a folded one is one."""
        return self._numbers[-1] if self._numbers else 0

    def find_all(self, wanted: str, written: Sequence[Written] = ()) -> list[tuple[int, int]]:
        """Positions of `wanted`, for `show_match`, however it is `written`."""
        return self._text.find([wanted], written)

    def find_words(
        self, words: Sequence[str], written: Sequence[Written], begin: int = 0
    ) -> tuple[list[tuple[int, int]], int]:
        """The same for any of the words from the character `begin` on; and where the text ends."""
        return self._text.find(words, written, begin), len(self._text.text())

    def show_match(self, matches: Sequence[tuple[int, int]], current: int, *, move: bool = True) -> None:
        """Mark the matches around the current one, and bring that into view if to `move`; none clears."""
        self._marked = (matches, current)
        selections = _wrong_selections(self.document(), self._wrong, self._theme.tokens)
        near = range(max(0, current - NEAR_MATCHES), min(len(matches), current + NEAR_MATCHES))
        tokens = self._theme.tokens
        for number in near:
            start, end = matches[number]
            selection = Selection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection.cursor = cursor
            marked = QTextCharFormat()
            marked.setBackground(QColor(tokens.accent if number == current else tokens.warning_soft))
            marked.setForeground(QColor(tokens.on_accent if number == current else tokens.warning))
            selection.format = marked
            selections.append(selection)
        self.setExtraSelections(selections)
        if matches and move:
            cursor = QTextCursor(self.document())
            cursor.setPosition(matches[current][0])
            seen = self.viewport().rect().contains(self.cursorRect(cursor))
            self.setTextCursor(cursor)
            if not seen:
                self.centerCursor()

    def mark_place(self, line: int, column: int, *, move: bool) -> None:
        """Underline where something is wrong, if it is shown, and bring that into view if to `move`."""
        first = bisect_left(self._numbers, line)
        folds = self._lines[first : bisect_right(self._numbers, line)]
        if folds:
            number, at = shown_at(folds, column)
            start = self.document().findBlockByNumber(first + number).position() + utf16(folds[number].text[:at])
            self._wrong = (start, start + utf16(folds[number].text[at : at + 1]))
            self.show_match(*self._marked, move=False)
        if move:
            cursor = QTextCursor(self.document())
            cursor.setPosition(self._wrong[0] if self._wrong else len(self.toPlainText()))
            self.setTextCursor(cursor)
            self.centerCursor()
            self.setFocus()

    def createMimeDataFromSelection(self) -> QMimeData:
        """The selected text without the folds that are only for showing."""
        cursor = self.textCursor()
        parts = cursor.selectedText().split("\u2029")
        first = self.document().findBlock(cursor.selectionStart()).blockNumber()
        text = parts[0]
        for number, part in enumerate(parts[1:], first + 1):
            text += ("" if self._lines[number].folded else "\n") + part
        data = QMimeData()
        data.setText(text)
        return data

    def paintEvent(self, event: QPaintEvent) -> None:
        """Colour what is about to be seen, then draw."""
        block = self.firstVisibleBlock()
        bottom = self.viewport().height()
        while block.isValid() and self.blockBoundingGeometry(block).translated(self.contentOffset()).top() < bottom:
            if block.userState() != self._dress_number:
                self._colour(block)
            block = block.next()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge."""
        super().resizeEvent(event)
        area = self.contentsRect()
        self._gutter.setGeometry(QRect(area.left(), area.top(), self._gutter_width(), area.height()))

    def paint_gutter(self, painter: QPainter, exposed: QRect) -> None:
        """Line numbers, and an arrow where a line goes on."""
        tokens = self._theme.tokens
        painter.fillRect(exposed, QColor(tokens.surface))
        painter.setFont(self.font())
        painter.setPen(QColor(tokens.text_faint))
        width = self._gutter_width() - 10
        block = self.firstVisibleBlock()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if place.top() > exposed.bottom():
                break
            number = block.blockNumber()
            if number < len(self._numbers):
                text = "\u21aa" if self._lines[number].folded else str(self._numbers[number])
                line = QRectF(0, place.top(), width, QFontMetrics(self.font()).height())
                painter.drawText(line, Qt.AlignmentFlag.AlignRight, text)
            block = block.next()

    def _note(self, lines: Sequence[Line]) -> None:
        number = self._numbers[-1] if self._numbers else 0
        for line in lines:
            number += not line.folded
            self._numbers.append(number)
            self._length += len(line.text) + 1
        self._lines.extend(lines)
        self._text.add(lines)

    def _gutter_width(self) -> int:
        digits = len(str(self._numbers[-1])) if self._numbers else 1
        return 24 + QFontMetrics(self.font()).horizontalAdvance("0") * max(2, digits)

    def _make_room(self) -> None:
        self.setViewportMargins(self._gutter_width(), 0, 0, 0)
        self.resizeEvent(QResizeEvent(self.size(), self.size()))

    def _colour(self, block: QTextBlock) -> None:
        block.setUserState(self._dress_number)
        ranges = []
        for start, length, kind in qt_spans(self._lines[block.blockNumber()]) if self._lines else ():
            span = QTextLayout.FormatRange()
            span.start, span.length, span.format = start, length, self._formats[kind]
            ranges.append(span)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)

    @Slot(object)
    def _dress(self, tokens: Tokens) -> None:
        self._dress_number += 1
        for kind in ("key", "string", "number", "literal", "punctuation"):
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(QColor(getattr(tokens, f"code_{kind}")))
        self._formats["control"] = QTextCharFormat()
        self._formats["control"].setForeground(QColor(tokens.warning))
        self._formats["control"].setBackground(QColor(tokens.warning_soft))
        self.show_match(*self._marked, move=False)
        self.viewport().update()
        self._gutter.update()

    @Slot(QRect, int)
    def _move_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() - value <= bar.pageStep() and bar.maximum():
            self.end_near.emit()


def _wrong_selections(document: QTextDocument, place: tuple[int, int] | None, tokens: Tokens) -> list[Selection]:
    """The line that is wrong, and from where on, which may be its very end."""
    if place is None:
        return []
    line, spot = Selection(), Selection()
    line.cursor = QTextCursor(document)
    line.cursor.setPosition(place[0])
    line.format.setBackground(QColor(tokens.danger_soft))
    line.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
    spot.cursor = QTextCursor(document)
    spot.cursor.setPosition(place[0])
    spot.cursor.setPosition(place[1], QTextCursor.MoveMode.KeepAnchor)
    spot.format.setForeground(QColor(tokens.on_danger))
    spot.format.setBackground(QColor(tokens.danger))
    return [line, spot]


class _Gutter(QWidget):
    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_gutter(QPainter(self), event.rect())

"""Shows lines of styled text, however many: colours are laid on only where the reader looks."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.bodies.lines import Line
from app.core.search.spellings import Written
from app.ui.request.body.code.code_actions import CodeActions
from app.ui.request.body.code.code_folds import CodeFolds
from app.ui.request.body.code.code_gutter import CodeGutter
from app.ui.request.body.code.code_layout import CodeLayout
from app.ui.request.body.code.code_marks import CodeMarks
from app.ui.request.body.code.code_rows import TAB, CodeRows
from app.ui.request.body.find.found_text import FoundText, qt_spans, utf16
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

SHOWN_MAX = 8 * 1024 * 1024
"""Characters of lines that are held at most; the rest of a larger body is shown from another place on."""


class CodeView(QPlainTextEdit):
    """Read-only. `set_lines` begins, `add_lines` goes on; `end_near` asks for more.

    Places (of matches) are counted as if nothing were folded.
    """

    end_near = Signal()
    menu_opening = Signal(object, object, object)
    """This view, its context menu, which may be added to, and a text cursor where it was asked for."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = FoundText()
        self._length = 0
        self._formats: dict[str, QTextCharFormat] = {}
        self._dress_number = 0
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setProperty("frameless", True)
        self.setProperty("part", "code")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(6)
        self.setAccessibleName("Body")
        self.rows = CodeRows(self)
        self.folds = CodeFolds(self.rows)
        self._layout = CodeLayout(self.rows, theme.body_text)
        self.gutter = CodeGutter(self.rows, self.folds, theme)
        self.actions_here = CodeActions(self, self.folds, theme.body_text)
        self.marks = CodeMarks(self.rows, self.folds, theme, self._layout)
        self.folds.changed.connect(self.gutter.update)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme.changed.connect(self._dress)
        theme.body_text.changed.connect(self._set_text)
        self._set_text()
        self._dress(theme.tokens)

    def set_lines(self, lines: Sequence[Line], first: int | None = 1, *, folding: bool = False) -> None:
        """Show these lines; the first has this number, or no line has one that is known. `folding`: what is indented
        can be folded."""
        self.rows.begin(lines, first, folding=folding)
        self._text = FoundText()
        self.marks.forget()
        self._length = sum(len(line.text) + 1 for line in lines)
        self._text.add(lines)
        self.setPlainText("\n".join(line.text for line in lines))
        if self.blockCount() == 1:
            # Qt has laid it out by now; anew it does so without lines of the document before.
            self.document().firstBlock().clearLayout()
        self._make_room()

    def add_lines(self, lines: Sequence[Line]) -> None:
        """Show more lines below."""
        if not lines:
            return
        self.rows.add(lines)
        self._length += sum(len(line.text) + 1 for line in lines)
        self._text.add(lines)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText("\n" + "\n".join(line.text for line in lines))
        self._make_room()

    @property
    def lines(self) -> Sequence[Line]:
        """The lines there are, those folded away among them; `rows` tells which of them a block shows."""
        return self.rows.lines

    def end_lines(self) -> None:
        """No more lines come: the last of them can be folded, too."""
        if self.rows.folds is not None:
            self.rows.folds.finish()
            self.gutter.update()

    def length(self) -> int:
        """Characters shown."""
        return self._length

    def line_count(self) -> int:
        """Number of the last line shown; a line continued is one."""
        return self.rows.last_number() if self.rows.lines else 0

    def top_line(self) -> int | None:
        """The number of the line at the top, if it has one."""
        return self.rows.number_of(self.rows.line_of(self.firstVisibleBlock().blockNumber()))

    def show_at_top(self, number: int | None) -> None:
        """Scroll so that the line of this number is the first in view, or to the end if it has none."""
        bar = self.verticalScrollBar()
        line = self.rows.with_number(number)[0] if number is not None else len(self.rows.lines)
        bar.setValue(self.rows.block_of(line).firstLineNumber() if line < len(self.rows.lines) else bar.maximum())

    def found_text(self) -> FoundText:
        """What is searched: the text behind the lines."""
        return self._text

    def find_all(self, wanted: str, written: Sequence[Written] = ()) -> list[tuple[int, int]]:
        """Places of `wanted`, for `show_match`, however it is `written`."""
        return self._text.find([wanted], written)

    def find_words(
        self, words: Sequence[str], written: Sequence[Written], begin: int = 0
    ) -> tuple[list[tuple[int, int]], int]:
        """The same for any of the words from the character `begin` on; and where the text ends."""
        return self._text.find(words, written, begin), len(self._text.text())

    def show_match(self, matches: Sequence[tuple[int, int]], current: int, *, move: bool = True) -> None:
        """Mark the matches around the current one, and bring that into view if to `move`, unfolding what hides it; none
        clears."""
        self.marks.show(matches, current, move=move)

    def mark_place(self, line: int, column: int, *, move: bool) -> None:
        """Underline where something is wrong, if it is shown, and bring that into view if to `move`."""
        self.marks.show_wrong(line, column, move=move)

    def createMimeDataFromSelection(self) -> QMimeData:
        """The selected text, with what is folded in it."""
        data = QMimeData()
        data.setText(self.folds.selected_text())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with the text, here, and what others add to it."""
        menu = self.actions_here.menu(event)
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.menu_opening.emit(self, menu, self.textCursor() if by_key else self.cursorForPosition(event.pos()))
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Lay out and colour what is about to be seen, then draw."""
        for row, _ in self.rows.seen(self.viewport().height()):
            block = self.document().findBlockByNumber(row)
            if block.userState() != self._dress_number:
                self._colour(block)
            self._layout.lay_out(block)
        self._layout.lay_out_end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge."""
        super().resizeEvent(event)
        self.gutter.place()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """With Ctrl held, all bodies' text becomes larger or smaller."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._theme.body_text.zoom_by_wheel(event.angleDelta().y())
            event.accept()
        else:
            super().wheelEvent(event)

    def _make_room(self) -> None:
        self.setViewportMargins(self.gutter.room(), 0, 0, 0)
        self.gutter.place()

    def _colour(self, block: QTextBlock) -> None:
        block.setUserState(self._dress_number)
        line = self.rows.line_of(block.blockNumber())
        spans = qt_spans(self.rows.lines[line]) if line < len(self.rows.lines) else []
        if self.folds.is_folded(line):
            end, (what, closer) = utf16(self.rows.lines[line].text), self.folds.label(line)
            spans = [*spans, (end, len(what), "folded"), (end + len(what), utf16(closer), "punctuation")]
        ranges = []
        for start, length, kind in spans:
            span = QTextLayout.FormatRange()
            span.start, span.length, span.format = start, length, self._formats[kind]
            ranges.append(span)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)

    @Slot()
    def _set_text(self) -> None:
        """The size, and whether lines are wrapped."""
        text = self._theme.body_text
        font = mono_font(text.size)
        self.setFont(font)
        self.setTabStopDistance(TAB * QFontMetrics(font).horizontalAdvance(" "))
        widget = QPlainTextEdit.LineWrapMode.WidgetWidth
        self.setLineWrapMode(widget if text.wrap else QPlainTextEdit.LineWrapMode.NoWrap)
        self._make_room()

    @Slot(object)
    def _dress(self, tokens: Tokens) -> None:
        self._dress_number += 1
        for kind in ("key", "string", "number", "literal", "punctuation"):
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(QColor(getattr(tokens, f"code_{kind}")))
        for kind, text, ground in (
            ("control", tokens.warning, tokens.warning_soft),
            ("folded", tokens.text_muted, tokens.pressed),
        ):
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(QColor(text))
            self._formats[kind].setBackground(QColor(ground))
        self.marks.refresh()
        self.viewport().update()
        self.gutter.update()

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() - value <= bar.pageStep() and bar.maximum():
            self.end_near.emit()

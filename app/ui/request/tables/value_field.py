"""A long value in full within its table row: scrolls if it is large, and is copied as it was sent."""

from __future__ import annotations

import re

from PySide6.QtCore import QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.ui.request.body.code.searchable_text import utf16
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button

PADDING = 6
LINK_HEIGHT = 24
CELL_PADDING = 8
"""The padding in pixels that the style sheet leaves on both sides of a widget in a cell."""
MARKS_MAX = 200


class ValueField(QWidget):
    """Shows `text` escaped. `closed` carries the row to shorten again."""

    closed = Signal(int)

    def __init__(self, row: int, text: str, font: QFont, theme: Theme, parent: QWidget, *, first: bool) -> None:
        super().__init__(parent)
        self._row = row
        self.text = _FullText(text, self)
        self.text.setFont(font)
        self.text.setAccessibleName("Whole value")
        self.setFocusProxy(self.text)
        self.less = Button("Show less", theme, self, kind="link")
        self.less.setStyleSheet("QPushButton, QPushButton:focus { padding: 0; border-width: 1px 0; font-size: 12px; }")
        self.less.clicked.connect(self._close)
        column = QVBoxLayout(self)
        left = metrics.SPACE_3 - CELL_PADDING + (metrics.SPACE_1 if first else 0)
        column.setContentsMargins(left, PADDING, 0, 1)
        column.setSpacing(0)
        column.addWidget(self.text, 1)
        column.addWidget(self.less, 0, Qt.AlignmentFlag.AlignLeft)
        self._theme = theme

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark matches of this pattern."""
        text = self.text.toPlainText()
        ground = QColor(self._theme.tokens.warning_fill)
        ground.setAlphaF(0.32)
        selections = []
        for match in pattern.finditer(text) if pattern is not None else ():
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.text.document())
            cursor.setPosition(utf16(text[: match.start()]))
            cursor.setPosition(utf16(text[: match.end()]), QTextCursor.MoveMode.KeepAnchor)
            selection.cursor, selection.format = cursor, QTextCharFormat()
            selection.format.setBackground(ground)
            selections.append(selection)
            if len(selections) == MARKS_MAX:
                break
        self.text.setExtraSelections(selections)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc returns to the table."""
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _close(self) -> None:
        self.closed.emit(self._row)


class _FullText(QPlainTextEdit):
    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._sent = text
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setProperty("frameless", True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setStyleSheet(
            "QPlainTextEdit, QPlainTextEdit:focus { border: none; padding: 0; background: transparent; }"
        )
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        self.setPlainText(escape(text))

    def createMimeDataFromSelection(self) -> QMimeData:
        """The text as sent, not its escapes."""
        cursor = self.textCursor()
        data = QMimeData()
        data.setText(sent_part(self._sent, cursor.selectionStart(), cursor.selectionEnd()))
        return data


def sent_part(text: str, start: int, end: int) -> str:
    """The characters of `text` between `start` and `end` of `escape(text)`, counted as Qt does."""
    part: list[str] = []
    at = 0
    for char in text:
        width = utf16(escape(char))
        if start < at + width and at < end:
            part.append(char)
        at += width
    return "".join(part)

"""The text field of the filter: filter names are coloured, an error is underlined, and keys lead to suggestions and
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QFocusEvent,
    QHideEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QTextCharFormat,
)
from PySide6.QtWidgets import QApplication, QFrame, QLineEdit, QWidget

from app.core.search.field import Completion
from app.core.search.parse import MAX_TEXT
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import SearchField
from app.ui.widgets.layout import vbox
from app.ui.widgets.marked_text import characters, qt_places
from app.ui.widgets.rows import RIGHT, Column, Rows, RowsList, no_tooltip, paint_line

ROWS_VISIBLE = 9
WIDTH_MAX = 440


class Suggestions(QFrame):
    """Opens below `anchor`. `activated` carries the suggestion."""

    activated = Signal(object)
    closed = Signal()

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._anchor = anchor
        self.setProperty("part", "popup")
        column = Column[Completion]("", _insert, tooltip=no_tooltip, spoken=_in_words, paint=partial(_paint, theme))
        self.offered = Rows([column], self)
        self.rows = RowsList("Suggestions", self.offered, metrics.ROW_DENSE, theme, self, rounded=True)
        self.rows.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.rows.clicked.connect(self._accept_current)
        vbox(self.rows, inside=self, margins=4)
        self.hide()

    def offer(self, suggestions: Sequence[Completion]) -> None:
        """Show these suggestions with none selected; an empty list closes."""
        self.offered.set_records(suggestions)
        if not suggestions:
            self.hide()
            return
        window = self._anchor.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        place = self._anchor.mapTo(window, QPoint(0, self._anchor.height() + 2))
        height = min(len(suggestions), ROWS_VISIBLE) * metrics.ROW_DENSE + 10
        self.setGeometry(
            QRect(place, QSize(min(WIDTH_MAX, self._anchor.width()), min(height, window.height() - place.y())))
        )
        self.rows.scrollToTop()
        self.show()
        self.raise_()

    def move_by(self, step: int) -> None:
        """Select the next or previous suggestion, wrapping around."""
        count, row = self.offered.rowCount(), self.rows.current_row()
        self.rows.select_row((row + step) % count if row >= 0 else 0 if step > 0 else count - 1)

    def accept(self, *, first: bool = False) -> bool:
        """Accept the selected suggestion, or else the `first`, or the only one; returns whether there was one."""
        if self.rows.current_row() < 0 and (first or self.offered.rowCount() == 1):
            self.rows.select_row(0)
        return self._accept_current()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    @Slot()
    def _accept_current(self) -> bool:
        suggestion = self.rows.current_record()
        if suggestion is not None:
            self.hide()
            self.activated.emit(suggestion)
        return suggestion is not None


def _insert(suggestion: Completion) -> str:
    return suggestion.insert


def _in_words(suggestion: Completion) -> str:
    return f"{suggestion.insert} {suggestion.help}"


def _paint(theme: Theme, painter: QPainter, rect: QRect, suggestion: Completion) -> None:
    """The completion, then its explanation."""
    tokens, inner = theme.tokens, rect.adjusted(metrics.SPACE_2, 0, -metrics.SPACE_2, 0)
    middle = Qt.TextElideMode.ElideMiddle
    used = paint_line(painter, inner, suggestion.insert, mono_font(SMALL), tokens.text, elide=middle)
    rest = inner.adjusted(used + metrics.SPACE_4, 0, 0, 0)
    paint_line(painter, rest, suggestion.help, ui_font(SMALL), tokens.text_muted, align=RIGHT)


PLACEHOLDER = "Filter: words, method:POST, status:5xx …"

Span = tuple[int, int]
"""Start and end in characters."""


class FilterLine(SearchField):
    """Shows `suggestions` while they are open; otherwise Down moves to the results, and Esc clears the text."""

    entered = Signal()
    """Enter: search for the text now."""
    results_requested = Signal()
    """Down: the user wants to go to the results."""
    leave_requested = Signal()
    """Esc in the empty field."""
    stop_requested = Signal()
    """Esc during a long search."""
    suggestions_requested = Signal()
    """Suggestions were requested for the current text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Filter requests", parent)
        self._theme = theme
        self._keys: Sequence[Span] = ()
        self._wrong: Span | None = None
        self._composing = False
        """Whether an input method shows text in the field that is not yet part of it."""
        self.searching = False
        """Whether there is a search to stop."""
        self.suggestions = Suggestions(theme, self)
        self.setPlaceholderText(PLACEHOLDER)
        self.setMaxLength(MAX_TEXT)
        self.addAction(QAction(theme.icon("search"), "Filter requests", self), QLineEdit.ActionPosition.LeadingPosition)
        theme.changed.connect(self._mark_again)

    def mark(self, keys: Sequence[Span], wrong: Span | None) -> None:
        """Colour these ranges as names of filters, and underline the invalid one."""
        self._keys, self._wrong = keys, wrong
        if self._composing:
            return  # the event below would remove what is being composed
        tokens = self._theme.tokens
        key_format, wrong_format = QTextCharFormat(), QTextCharFormat()
        key_format.setForeground(QColor(tokens.accent_text))
        wrong_format.setForeground(QColor(tokens.danger))
        wrong_format.setUnderlineColor(QColor(tokens.danger))
        wrong_format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        formats = [(span, key_format) for span in keys] + ([(wrong, wrong_format)] if wrong else [])
        at = qt_places(self.text())
        attributes = []
        for (start, end), style in formats:
            first, last = at[min(start, len(at) - 1)], at[min(end, len(at) - 1)]
            place = first - self.cursorPosition()
            kind = QInputMethodEvent.AttributeType.TextFormat
            attributes.append(QInputMethodEvent.Attribute(kind, place, last - first, style))
        # A line edit accepts formats only through input method events; these carry no text.
        QApplication.sendEvent(self, QInputMethodEvent("", attributes))

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace these characters with `text`, as one step that can be undone; the cursor moves behind it."""
        at = qt_places(self.text())
        self.setSelection(at[start], at[end] - at[start])
        self.insert(text)

    def place(self) -> int:
        """The cursor position in characters."""
        return characters(self.text(), self.cursorPosition())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down select a suggestion, Enter accepts it; Esc closes, stops, clears or leaves."""
        key, plain = Qt.Key(event.key()), not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.suggestions_requested.emit()
        elif not plain or not self._move_focus(key):
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """What was to be marked meanwhile is marked once nothing is composed any more."""
        super().inputMethodEvent(event)
        composed, self._composing = self._composing, bool(event.preeditString())
        if composed and not self._composing:
            self._mark_again()

    def focusNextPrevChild(self, onward: bool) -> bool:
        """Tab accepts the selected suggestion, or the first."""
        if onward and self.suggestions.isVisible():
            self.suggestions.accept(first=True)
            return True
        return super().focusNextPrevChild(onward)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Close the suggestions when the user leaves the field."""
        super().focusOutEvent(event)
        self.suggestions.hide()

    def _move_focus(self, key: Qt.Key) -> bool:
        """Whether the key does something here."""
        offered = self.suggestions.isVisible()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and offered:
            self.suggestions.move_by(1 if key == Qt.Key.Key_Down else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and offered and self.suggestions.accept():
            pass
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.suggestions.hide()
            (self.results_requested if key == Qt.Key.Key_Down else self.entered).emit()
        elif key == Qt.Key.Key_Escape and offered:
            self.suggestions.hide()
        elif key == Qt.Key.Key_Escape and self.searching:
            self.stop_requested.emit()
        elif key == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif key == Qt.Key.Key_Escape:
            self.leave_requested.emit()
        else:
            return False
        return True

    @Slot()
    def _mark_again(self) -> None:
        self.mark(self._keys, self._wrong)

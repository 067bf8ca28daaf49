"""The text field of the filter: filter names are coloured, an error is underlined, and keys lead to suggestions and
results.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QFocusEvent,
    QFontMetrics,
    QHideEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QTextCharFormat,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.core.search.completion import Completion
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.accessible import name_clear_button
from app.ui.widgets.layout import vbox

ROWS_VISIBLE = 9
WIDTH_MAX = 440
_COMPLETION = Qt.ItemDataRole.UserRole

Index = QModelIndex | QPersistentModelIndex


class Suggestions(QFrame):
    """Opens below `anchor`. `activated` carries the suggestion."""

    activated = Signal(object)
    closed = Signal()

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._anchor = anchor
        self.setProperty("part", "popup")
        self.rows = QListWidget(self)
        self.rows.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.rows.setMouseTracking(True)
        self.rows.setUniformItemSizes(True)
        self.rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.setAccessibleName("Suggestions")
        self.rows.setItemDelegate(_Row(theme, self.rows))
        self.rows.itemClicked.connect(self._clicked)
        vbox(self.rows, inside=self, margins=4)
        self.hide()

    def offer(self, suggestions: Sequence[Completion]) -> None:
        """Show these suggestions with none selected; an empty list closes."""
        self.rows.clear()
        for suggestion in suggestions:
            item = QListWidgetItem(suggestion.insert)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{suggestion.insert} {suggestion.help}")
            item.setData(_COMPLETION, suggestion)
            self.rows.addItem(item)
        self.rows.setCurrentRow(-1)
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
        count, row = self.rows.count(), self.rows.currentRow()
        self.rows.setCurrentRow((row + step) % count if row >= 0 else 0 if step > 0 else count - 1)

    def accept(self) -> bool:
        """Accept the selected suggestion, or the only one; returns whether there was one."""
        item = self.rows.currentItem()
        if item is None and self.rows.count() == 1:
            item = self.rows.item(0)
        if item is None:
            return False
        self._clicked(item)
        return True

    def accept_first(self) -> None:
        """Accept the selected suggestion, or the first."""
        if not self.accept() and self.rows.count():
            self._clicked(self.rows.item(0))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    @Slot(object)
    def _clicked(self, item: QListWidgetItem) -> None:
        suggestion = item.data(_COMPLETION)
        self.hide()
        self.activated.emit(suggestion)


class _Row(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mono, self._small = mono_font(SMALL), ui_font(SMALL)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """The same height for all rows."""
        return QSize(100, metrics.ROW_DENSE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint the completion, then its explanation."""
        suggestion: Completion = index.data(_COMPLETION)
        tokens, rect = self._theme.tokens, option.rect
        painter.save()
        lit = option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver)
        if lit:
            selected = bool(option.state & QStyle.StateFlag.State_Selected)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.selection if selected else tokens.hover))
            painter.drawRoundedRect(rect, metrics.RADIUS_SMALL, metrics.RADIUS_SMALL)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        inner = rect.adjusted(metrics.SPACE_2, 0, -metrics.SPACE_2, 0)
        painter.setFont(self._mono)
        painter.setPen(QColor(tokens.text))
        mono = QFontMetrics(self._mono)
        typed = mono.elidedText(suggestion.insert, Qt.TextElideMode.ElideMiddle, inner.width())
        painter.drawText(inner, flags, typed)
        used = mono.horizontalAdvance(typed) + metrics.SPACE_4
        fm = QFontMetrics(self._small)
        painter.setFont(self._small)
        painter.setPen(QColor(tokens.text_muted))
        note = fm.elidedText(suggestion.help, Qt.TextElideMode.ElideRight, inner.width() - used)
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignRight, note)
        painter.restore()


LENGTH_MAX = 2_000
PLACEHOLDER = "Filter: words, method:POST, status:5xx …"

Span = tuple[int, int]
"""Start and end in characters."""


class FilterLine(QLineEdit):
    """Shows `suggestions` while they are open; otherwise Down moves to the results, and Esc clears the text."""

    suggestion_accepted = Signal(object)
    """A suggestion was selected."""
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
        super().__init__(parent)
        self._theme = theme
        self._keys: Sequence[Span] = ()
        self._wrong: Span | None = None
        self._composing = False
        """Whether an input method shows text in the field that is not yet part of it."""
        self.searching = False
        """Whether there is a search to stop."""
        self.suggestions = Suggestions(theme, self)
        self.suggestions.activated.connect(self.suggestion_accepted)
        self.setPlaceholderText(PLACEHOLDER)
        self.setAccessibleName("Filter requests")
        self.setMaxLength(LENGTH_MAX)
        self.setClearButtonEnabled(True)
        name_clear_button(self)
        self.addAction(QAction(theme.icon("search"), "Filter requests", self), QLineEdit.ActionPosition.LeadingPosition)
        theme.changed.connect(self._apply_style)

    def mark(self, keys: Sequence[Span], wrong: Span | None) -> None:
        """Colour these ranges as names of filters, and underline the invalid one."""
        self._keys, self._wrong = keys, wrong
        if self._composing:
            return  # the event below would remove what is being composed
        formats = [(span, self._key_format()) for span in keys]
        if wrong is not None:
            formats.append((wrong, self._wrong_format()))
        at = _qt_positions(self.text())
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
        at = _qt_positions(self.text())
        self.setSelection(at[start], at[end] - at[start])
        self.insert(text)

    def place(self) -> int:
        """The cursor position in characters."""
        return len(self.text().encode("utf-16-le")[: 2 * self.cursorPosition()].decode("utf-16-le", "replace"))

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
            self.mark(self._keys, self._wrong)

    def focusNextPrevChild(self, onward: bool) -> bool:
        """Tab accepts the selected suggestion, or the first."""
        if onward and self.suggestions.isVisible():
            self.suggestions.accept_first()
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

    def _key_format(self) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setForeground(QColor(self._theme.tokens.accent_text))
        return style

    def _wrong_format(self) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        style.setUnderlineColor(QColor(self._theme.tokens.danger))
        style.setForeground(QColor(self._theme.tokens.danger))
        return style

    @Slot()
    def _apply_style(self) -> None:
        self.mark(self._keys, self._wrong)


def _qt_positions(text: str) -> list[int]:
    """Qt's position of each character and of the end: Qt counts UTF-16 units."""
    at = [0]
    for character in text:
        at.append(at[-1] + (2 if character > "\uffff" else 1))
    return at

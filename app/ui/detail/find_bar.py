"""Finds text in the body shown: how often, and the way from one place to the next."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app.core.search.spellings import Written
from app.ui.detail.code_view import CodeView
from app.ui.detail.found_text import MATCHES_MAX
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import label


class FindBar(QFrame):
    """Searches `view`. Enter goes on, Shift+Enter back, Esc closes. While it is closed a filter's words are marked."""

    closed = Signal()
    beyond = Signal()
    """The next place is wanted, and what is shown holds none."""
    stop_asked = Signal()
    """What was looked for beyond is not wanted any more."""

    def __init__(self, view: CodeView, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = view
        self._matches: list[tuple[int, int]] = []
        self._current = 0
        self._words: Sequence[str] = ()
        self._searched = 0
        self.whole = True
        """Whether all of the body is shown; otherwise more may be found further on."""
        self.looking = False
        """Whether that is being looked for."""
        self._ended = False
        self.written: Sequence[Written] = ()
        """What the body may be written in."""
        self.setProperty("part", "header")
        self.field = QLineEdit(self)
        self.field.setPlaceholderText("Find in body")
        self.field.setAccessibleName("Find in body")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self.search)
        self.count = label("", "small", self)
        self.hex = Button("Open in Hex", theme, self, kind="link")
        self.hex.hide()
        self.back = IconButton("up", "Previous match", theme, self)
        self.next = IconButton("collapse", "Next match", theme, self)
        self.close_button = IconButton("close", "Close", theme, self)
        self.back.clicked.connect(self.go_back)
        self.next.clicked.connect(self.go_on)
        self.close_button.clicked.connect(self.leave)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_3, 6, metrics.SPACE_2, 6)
        row.setSpacing(metrics.SPACE_1)
        row.addWidget(self.field, 1)
        row.addSpacing(metrics.SPACE_2)
        row.addWidget(self.count)
        row.addWidget(self.hex)
        for button in (self.back, self.next, self.close_button):
            row.addWidget(button)
        self.hide()

    def event(self, event: QEvent) -> bool:
        """Enter is the search's here, whatever command has it around."""
        key = event.key() if isinstance(event, QKeyEvent) else None
        if event.type() == QEvent.Type.ShortcutOverride and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
            return True
        return super().event(event)

    def start(self) -> None:
        """Open, with what was last looked for selected."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.search()

    @Slot()
    def search(self) -> None:
        """Look for the field's text in what is shown now."""
        if not self.isVisible():
            return
        self.stop_asked.emit()
        self._ended = False
        wanted = self.field.text()
        self._matches = self._view.find_all(wanted, self.written)
        self._current = 0
        self._show(wanted)

    def look_again(self) -> None:
        """More is shown than was searched; the place found and what is in view stay."""
        if self.isVisible():
            self._matches = self._view.find_all(self.field.text(), self.written)
            self._show(self.field.text(), move=False)
        elif self.isHidden() and self._words:
            more, self._searched = self._view.find_words(self._words, self.written, self._searched)
            self._matches = (self._matches + more)[:MATCHES_MAX]
            self._view.show_match(self._matches, self._current, move=False)

    def set_words(self, words: Sequence[str]) -> None:
        """Mark these in every body from now on."""
        self._words = words
        self.mark_words(move=False)

    def mark_words(self, *, move: bool = True) -> None:
        """Mark the filter's words in what is shown now, and bring the first into view if to `move`."""
        if not self.isHidden():
            return
        self._matches, self._searched, self._current = [], 0, 0
        if self._words:
            self._matches, self._searched = self._view.find_words(self._words, self.written)
        self._view.show_match(self._matches, 0, move=move)

    @Slot()
    def go_on(self) -> None:
        """To the next place, and round to the first."""
        self._move(1)

    @Slot()
    def go_back(self) -> None:
        """To the place before, and round to the last."""
        self._move(-1)

    @Slot()
    def leave(self) -> None:
        """Close, and mark nothing any more."""
        self.stop_asked.emit()
        self.hide()
        self.mark_words(move=False)
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Shift+Enter, Esc."""
        if event.key() == Qt.Key.Key_Escape and self.looking:
            self.stop_asked.emit()
            self._show(self.field.text(), move=False)
        elif event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._move(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    def found(self) -> int:
        """How many places are known."""
        return len(self._matches)

    def show_place(self, number: int) -> None:
        """Bring this one into view."""
        self._current = number
        self._show(self.field.text())

    def tell(self, text: str, *, to_hex: bool = False) -> None:
        """What goes on beyond what is shown; with the way to hex if what was found can be seen there."""
        self.count.setText(text)
        self.hex.setVisible(to_hex)

    def end_reached(self, *, further: bool) -> None:
        """The body's end was reached; there may have been places `further` on than the view goes."""
        self._ended = True
        self._show(self.field.text(), move=False)
        if further:
            self.tell("No more until the end")

    def _move(self, step: int) -> None:
        last = self._current == len(self._matches) - 1 or not self._matches
        if step > 0 and last and self.field.text() and not (self.whole or self._ended):
            self.beyond.emit()
        elif self._matches:
            self._current = (self._current + step) % len(self._matches)
            self._show(self.field.text())

    def _show(self, wanted: str, *, move: bool = True) -> None:
        found = len(self._matches)
        more = "+" if found == MATCHES_MAX else ""
        place = f"{self._current + 1:,} of {found:,}{more}" if found else "None"
        known = self.whole or self._ended
        self.tell((place if known else f"{place} so far") if wanted else "")
        self.back.setEnabled(bool(found))
        self.next.setEnabled(bool(found) or (bool(wanted) and not known))
        self._view.show_match(self._matches, self._current, move=move)

"""The search bar of a body, and the highlights of the filter's words while it is closed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app.core.search.body_search import Encoding
from app.ui.inspector.body.code.code_rows import MATCHES_MAX
from app.ui.inspector.body.code.code_view import CodeView
from app.ui.inspector.body.find.finder import Finder
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.accessible import name_clear_button
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import label


class FilterMarks:
    """`active` is false while a search of the body marks its matches. `written`: the notation of the body."""

    def __init__(self, view: CodeView) -> None:
        self._view = view
        self._words: Sequence[str] = ()
        self._matches: list[tuple[int, int]] = []
        self._current = self._searched = 0
        self.written: Sequence[Encoding] = ()
        self.active = True

    def set_words(self, words: Sequence[str]) -> None:
        """Highlight these words in every body from now on."""
        self._words = words
        self.mark(move=False)

    def mark(self, *, move: bool = True) -> None:
        """Highlight the words in what is shown, and scroll to the first if `move`."""
        if not self.active:
            return
        self._matches, self._searched, self._current = [], 0, 0
        if self._words:
            self._matches, self._searched = self._view.find_words(self._words, self.written)
        self._view.show_match(self._matches, 0, move=move)

    def mark_more(self) -> None:
        """More lines are shown; the view does not scroll."""
        if self.active and self._words:
            more, self._searched = self._view.find_words(self._words, self.written, self._searched)
            self._matches = (self._matches + more)[:MATCHES_MAX]
            self._view.show_match(self._matches, self._current, move=False)

    def move(self, step: int) -> None:
        """Go to the next or previous match, wrapping around."""
        if self.active and self._matches:
            self._current = (self._current + step) % len(self._matches)
            self._view.show_match(self._matches, self._current)


class FindBar(QFrame):
    """Drives the `finder` of the view shown. Enter goes to the next match, Shift+Enter to the previous one, Esc stops a
    search, then closes. While the bar is closed, `words` are marked.
    """

    closed = Signal()
    words_changed = Signal(object)
    """The words marked in every body, as a sequence."""

    def __init__(self, words: FilterMarks, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.words = words
        self.finder: Finder | None = None
        self.setProperty("part", "header")
        self.field = QLineEdit(self)
        self.field.setPlaceholderText("Find in body")
        self.field.setAccessibleName("Find in body")
        self.field.setClearButtonEnabled(True)
        name_clear_button(self.field)
        self.field.textChanged.connect(self.search)
        self.field.setMinimumWidth(80)
        self.count = label("", "small", self)
        self.hex = Button("Open in Hex", theme, self, kind="link")
        self.hex.hide()
        self.back = IconButton("up", "Previous match", theme, self)
        self.next = IconButton("collapse", "Next match", theme, self)
        self.close_button = IconButton("close", "Close", theme, self)
        self.back.clicked.connect(self.previous_match)
        self.next.clicked.connect(self.next_match)
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
        """Enter belongs to the search here, whatever command uses it elsewhere."""
        key = event.key() if isinstance(event, QKeyEvent) else None
        if event.type() == QEvent.Type.ShortcutOverride and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
            return True
        return super().event(event)

    @property
    def searching(self) -> bool:
        """Whether the body is still being searched."""
        return self.finder is not None and self.finder.busy

    def set_words(self, words: Sequence[str]) -> None:
        """Mark these words in every body from now on, while no search is open."""
        self.words_changed.emit(words)
        self.words.set_words(words)

    def use(self, finder: Finder) -> None:
        """This view is shown, or shows other content: search in it."""
        if self.finder is finder:
            if not self.isHidden():
                finder.view_changed()
            return
        if self.finder is not None:
            self.finder.changed.disconnect(self.show_state)
            self.finder.clear()
        self.finder = finder
        finder.changed.connect(self.show_state)
        self.search()

    def start(self) -> None:
        """Open, with the last search text selected."""
        self.words.active = False
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.search()

    @Slot()
    def search(self) -> None:
        """Search for the field's text in the current view."""
        if not self.isHidden() and self.finder is not None:
            self.finder.search(self.field.text())

    @Slot()
    def next_match(self) -> None:
        """Go to the next match, wrapping around."""
        self._move(1)

    @Slot()
    def previous_match(self) -> None:
        """Go to the previous match, wrapping around."""
        self._move(-1)

    @Slot()
    def leave(self) -> None:
        """Close, and clear the marks."""
        self.dismiss()
        self.words.mark(move=False)
        self.closed.emit()

    def dismiss(self) -> None:
        """Close without emitting `closed`: another body is shown."""
        self.hide()
        self.words.active = True
        if self.finder is not None:
            self.finder.clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.finder is not None and self.finder.busy:
            self.finder.stop()
        elif event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._move(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)

    @Slot()
    def show_state(self) -> None:
        """Show the finder's state."""
        finder = self.finder
        if finder is None:
            return
        self.count.setText(finder.status_text())
        self.hex.setVisible(finder.not_in_view and bool(self.field.text()))
        for button in (self.back, self.next):
            button.setEnabled(finder.total > 0)

    def _move(self, step: int) -> None:
        if self.isHidden():
            self.words.move(step)
        elif self.finder is not None:
            self.finder.step(step)

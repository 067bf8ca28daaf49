"""The search bar of a body."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.search.body_search import encodings_of
from app.ui.inspector.body.body_source import LOADING, BodyLoader
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.finders import (
    UNSEARCHABLE,
    FilterMarks,
    Finder,
    HexFinder,
    LinesFinder,
    TreeFinder,
)
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.tree_view import TreeView
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.fields import SearchField
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import Space, hbox


class FindBar(QFrame):
    """Drives the `finder` of the view shown. Enter goes to the next match, Shift+Enter to the previous one, Esc stops a
    search, then closes. While the bar is closed, a filter's words are marked.

    Call `view_changed` once a view shows a body, or another part of it, and `extended` once it shows more lines.
    """

    closed = Signal()
    words_changed = Signal(object)
    """The words marked in every body, as a sequence."""

    def __init__(
        self, code: CodeView, loader: BodyLoader, theme: Theme, tasks: Tasks, parent: QWidget, *, what: str
    ) -> None:
        super().__init__(parent)
        self._loader, self._tasks = loader, tasks
        self.marks = FilterMarks(code)
        self._lines = LinesFinder(code, loader, self.marks, tasks, self)
        self._finders: dict[QWidget, Finder] = {code: self._lines}
        self.finder: Finder | None = self._lines
        self.setProperty("part", "header")
        self.field = SearchField(f"Find in {what}", self)
        self.field.textChanged.connect(self.search)
        self.field.setMinimumWidth(80)
        self.count = ElidedLabel("", "small", self)
        self.hex = Button("Open in Hex", theme, self, kind="link", run=self._open_hex)
        self.hex.hide()
        self.back = IconButton("up", "Previous match", theme, self, run=self.previous_match)
        self.next = IconButton("collapse", "Next match", theme, self, run=self.next_match)
        self.close_button = IconButton("close", "Close", theme, self, run=self.leave)
        row = ((self.field, 1), Space(metrics.SPACE_2), self.count, self.hex, self.back, self.next, self.close_button)
        hbox(*row, inside=self, spacing=metrics.SPACE_1, margins=(metrics.SPACE_3, 6, metrics.SPACE_2, 6))
        self._lines.changed.connect(self.show_state)
        self.show_state()
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
        self.marks.words = words
        if self.isHidden():
            self.marks.mark(move=False)

    def can_search(self, page: QWidget | None) -> bool:
        """Whether this view can be searched now."""
        if isinstance(page, TreeView):
            return page.view.nodes.tree is not None
        return isinstance(page, CodeView | HexWidget)

    def view_changed(self, page: QWidget, reader: BodyReader, content_type: str) -> None:
        """This view is shown, with the output of `reader`."""
        finder = self._finder(page)
        if finder is self._lines:
            self.marks.written = encodings_of(content_type, (view.name for view in reader.views))
            if self.isHidden():
                self.marks.mark(move=not reader.start_offset)
        if finder is not None and finder is self.finder:
            if not self.isHidden():
                finder.view_changed()
            return
        if self.finder is not None:
            self.finder.clear()
        self.finder = finder
        self.show_state()
        self.search()

    def extended(self) -> None:
        """More lines are shown."""
        if self.isHidden():
            self.marks.mark_more()
        else:
            self._lines.extended()

    def start(self) -> None:
        """Open, with the last search text selected."""
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
        self.marks.mark(move=False)
        self.closed.emit()

    def dismiss(self) -> None:
        """Close without emitting `closed`: another body is shown."""
        self.hide()
        if self.finder is not None:
            self.finder.clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        finder = self.finder
        if event.key() == Qt.Key.Key_Escape and finder is not None and finder.busy and finder.progress != LOADING:
            finder.stop()
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
        self.count.setText(finder.status_text() if finder is not None else UNSEARCHABLE)
        self.hex.setVisible(finder is not None and finder.not_in_view and bool(self.field.text()))
        for button in (self.back, self.next):
            button.setEnabled(finder is not None and finder.total > 0)

    def _finder(self, page: QWidget) -> Finder | None:
        """None if this view cannot be searched."""
        if page not in self._finders and isinstance(page, HexWidget):
            self._add_finder(page, HexFinder(page, self._loader, self._tasks, self))
        elif page not in self._finders and isinstance(page, TreeView):
            self._add_finder(page, TreeFinder(page, self._tasks, self))
        return self._finders.get(page)

    def _add_finder(self, page: QWidget, finder: Finder) -> None:
        self._finders[page] = finder
        finder.changed.connect(self.show_state)

    @Slot()
    def _open_hex(self) -> None:
        """Only for this search: the view selected for bodies of this type stays."""
        source = self._loader.source
        if source is not None:
            self._loader.start(source, "hex")

    def _move(self, step: int) -> None:
        if self.isHidden():
            self.marks.move(step)
        elif self.finder is not None:
            self.finder.step(step)

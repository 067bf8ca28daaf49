"""The search bar of a body, the base of the searches that it drives, and the highlights of the filter's words."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.search.body_search import BodySearch, Encoding
from app.core.text import size_text
from app.ui.inspector.body.body_loader import BodyLoader
from app.ui.inspector.body.body_source import BodySource, plain_pieces
from app.ui.inspector.body.code_rows import MATCHES_MAX
from app.ui.inspector.body.code_view import CodeView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.accessible import name_clear_button
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import Space, hbox

PLACES_MAX = 10_000
"""Matches counted before the user asks for the next one."""
PROGRESS_EVERY = 4 * 1024 * 1024
"""Bytes between progress updates."""
LOADING = "Loading…"
UNSEARCHABLE = "Cannot be searched"


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
        self.forget()
        if self._words:
            self._matches, self._searched = self._view.find_words(self._words, self.written)
        self._view.show_match(self._matches, 0, move=move)

    def forget(self) -> None:
        """No text is shown."""
        self._matches, self._searched, self._current = [], 0, 0

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

    def __init__(self, words: FilterMarks, theme: Theme, parent: QWidget, what: str) -> None:
        super().__init__(parent)
        self.words = words
        self.finder: Finder | None = None
        self.setProperty("part", "header")
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(f"Find in {what}")
        self.field.setAccessibleName(f"Find in {what}")
        self.field.setClearButtonEnabled(True)
        name_clear_button(self.field)
        self.field.textChanged.connect(self.search)
        self.field.setMinimumWidth(80)
        self.count = ElidedLabel("", "small", self)
        self.hex = Button("Open in Hex", theme, self, kind="link")
        self.hex.hide()
        self.back = IconButton("up", "Previous match", theme, self)
        self.next = IconButton("collapse", "Next match", theme, self)
        self.close_button = IconButton("close", "Close", theme, self)
        self.back.clicked.connect(self.previous_match)
        self.next.clicked.connect(self.next_match)
        self.close_button.clicked.connect(self.leave)
        row = ((self.field, 1), Space(metrics.SPACE_2), self.count, self.hex, self.back, self.next, self.close_button)
        hbox(*row, inside=self, spacing=metrics.SPACE_1, margins=(metrics.SPACE_3, 6, metrics.SPACE_2, 6))
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

    def use(self, finder: Finder | None) -> None:
        """This view is shown, or shows other content: search in it. None: it cannot be searched."""
        if finder is not None and self.finder is finder:
            if not self.isHidden():
                finder.view_changed()
            return
        if self.finder is not None:
            self.finder.changed.disconnect(self.show_state)
            self.finder.clear()
        self.finder = finder
        if finder is not None:
            finder.changed.connect(self.show_state)
        self.show_state()
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

    def _move(self, step: int) -> None:
        if self.isHidden():
            self.words.move(step)
        elif self.finder is not None:
            self.finder.step(step)


class Finder(QObject):
    """`search` begins, `step` goes to the next (1) or previous (-1) match and wraps around, `stop` stops counting."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.needle = ""
        self.total = 0
        self.current = 0
        self.more = False
        """Whether there may be more matches than `total`."""
        self.busy = False
        self.not_in_view = False
        """Whether this view cannot show the current match."""
        self.progress = ""
        self.steps = 0
        """Steps to take once there are matches for them."""

    def status_text(self) -> str:
        """`3 of 1,204`, `3 of 10,000+`."""
        if not self.needle:
            return ""
        if self.total:
            return f"{self.current + 1:,} of {self.total:,}{'+' if self.more else ''}"
        return self.progress if self.busy else "No matches so far" if self.more else "No matches"

    def search(self, needle: str) -> None:
        """Find all matches of this text, and go to the first one."""
        raise NotImplementedError

    def step(self, by: int) -> None:
        """Go to another match."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop searching, keeping the matches."""
        raise NotImplementedError

    def clear(self) -> None:
        """Clear the search and its highlights."""
        raise NotImplementedError

    def view_changed(self) -> None:
        """The view shows a body, or another part of it."""
        self.search(self.needle)


class ScanningFinder(Finder):
    """Counts matches in the bytes of the body, off the GUI thread. `places` are offsets in the unpacked body."""

    def __init__(self, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._loader = loader
        self._latest = Latest(self, tasks, "body: find")
        self.places: list[int] = []
        self._scans = False
        """Whether the matches are counted in the bytes."""
        self._ended = False
        self._failed = False
        loader.failed.connect(self._loading_failed)

    def status_text(self) -> str:
        return "Could not read the rest" if self._failed else super().status_text()

    def step(self, by: int) -> None:
        if self._failed:
            self.search(self.needle)
            return
        self.steps += by
        if self._scans and not (self.busy or self._ended) and self.current + self.steps >= self.total:
            self.scan_on()
        self.take_steps()
        self.changed.emit()

    def stop(self) -> None:
        """Stop searching."""
        self._latest.stop()
        self.busy, self.steps = False, 0
        self.changed.emit()

    def forget(self) -> None:
        """Another text or body is searched."""
        self._latest.stop()
        self.places, self._scans, self._ended, self.busy, self._failed = [], False, False, False, False
        self.total = self.current = self.steps = 0
        self.more = self.not_in_view = False

    def search_from(self, reader: BodyReader, begin: int) -> tuple[tuple[str, ...], BodySearch]:
        """The content codings that are removed, and the search of what is then the byte `begin` and all after it."""
        raise NotImplementedError

    def count(self) -> None:
        """Update `total` and `more`."""
        self.total, self.more = len(self.places), not self._ended

    def go_to(self, number: int) -> None:
        """Show this match."""
        raise NotImplementedError

    def take_steps(self) -> None:
        """Take the steps that waited, once the match they lead to is known."""
        number = self.current + self.steps
        known = 0 <= number < self.total or (number < 0 and not self.busy)
        if self.steps and self.total and (known or not self.more):
            self.steps = 0
            self.go_to(number % self.total)

    def await_body(self) -> None:
        """Say that the body is being read: `view_changed` is called once it is there."""
        if self._loader.source is not None:
            self.busy, self.progress = True, LOADING

    def waits(self) -> bool:
        """Whether there is something to do once the body has been read."""
        return self.busy and self._loader.reader is None

    @Slot()
    def _loading_failed(self) -> None:
        """If it can be read after all, it is searched then."""
        if self.waits():
            self._failed, self.busy = True, False
            self.changed.emit()

    def scan_on(self) -> None:
        """Count on behind the last place known."""
        source, reader = self._loader.source, self._loader.reader
        if source is not None and reader is not None:
            self._scans = True
            self.run(partial(self._scan, source, reader))

    def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this instead of the current search, again after an error. Enter tries again at once."""
        self.busy, self.more, self._failed = True, True, False
        self.progress = "Searching…"

        async def attempt() -> None:
            self.busy, self._failed = True, False
            try:
                await work()
            except Exception:
                self.busy, self._failed = False, True
                self.changed.emit()
                raise

        self._latest.run(attempt)

    async def _scan(self, source: BodySource, reader: BodyReader) -> None:
        """Search behind the last place to the end, or until `PLACES_MAX` more matches are found."""
        begin = self.places[-1] + 1 if self.places else 0
        codings, search = self.search_from(reader, begin)
        room, read_before, first = len(self.places) + PLACES_MAX, 0, not self.places
        self._ended = not search.possible
        if search.possible:
            async with aclosing(plain_pieces(source, codings, begin)) as pieces:
                async for piece, read in pieces:
                    found = await in_thread(search.search, piece)
                    self.places += found
                    if len(self.places) >= room:
                        del self.places[room:]
                        break
                    if read - read_before >= PROGRESS_EVERY or (found and first):
                        read_before, first = read, False
                        self.progress = f"Searching… {size_text(read)} of {size_text(source.size)}"
                        self._places_changed()
                else:
                    self._ended = True
        self.busy = False
        self._places_changed()

    def _places_changed(self) -> None:
        first = not self.total
        self.count()
        if first and self.places:
            self.go_to(0)
        self.take_steps()
        self.changed.emit()

"""Finds text in a body shown as lines. If they are only a part of it, all matches are counted in the bytes, and one
that is elsewhere is shown in another part of the text."""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtCore import QObject, Slot

from app.core.search.body_search import BodySearch
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.code.code_view import CodeView
from app.ui.request.body.code.searchable_text import MATCHES_MAX
from app.ui.request.body.find.find_bar import FilterMarks
from app.ui.request.body.find.finder import ScanningFinder
from app.ui.tasks import Tasks, in_thread

AT_ONCE_MAX = 256 * 1024
"""Characters of lines that are searched on the GUI thread."""


class LinesFinder(ScanningFinder):
    """Searches what `loader` shows in `code`. Places in the body and matches in the lines correspond one to one."""

    def __init__(self, code: CodeView, loader: BodyLoader, marks: FilterMarks, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._code, self._loader, self._marks = code, loader, marks
        self._matches: list[tuple[int, int]] = []
        self._searched = 0
        """Characters of the lines that were searched."""
        self._source: BodySource | None = None
        """The body that was searched."""
        self._scans = False
        """Whether the matches are counted in the bytes."""
        self._follows = False
        """Whether the lines that are being loaded are searched, too."""
        self._target: int | None = None
        """The number of the match to show once its lines are there."""
        self._marked = -1
        """The current match among those in the lines."""
        loader.failed.connect(self._loading_failed)

    def status_text(self) -> str:
        text = super().status_text()
        return f"{text} · Loading…" if self._target is not None and not self._loader.ended else text

    def search(self, needle: str) -> None:
        """The first match in view becomes the current one, or else the first in the body."""
        self.clear()
        self.needle, self._source = needle, self._loader.source
        if needle and self._loader.reader is not None:
            self._follows = True
            self.progress = "Searching…"
            if self._code.length() <= AT_ONCE_MAX:
                self._lines_searched(*self._find_from(0))
            else:
                self.run(self._search_lines)
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._failed:
            self.search(self.needle)
            return
        self.steps += by
        if self._scans and not (self.busy or self._ended) and self.current + self.steps >= self.total:
            self._scan_on()
        self.take_steps()
        self.changed.emit()

    def take_steps(self) -> None:
        """Take the steps that waited, as far as matches are known for them."""
        number = self.current + self.steps
        known = 0 <= number < self.total or (number < 0 and not self.busy)
        if self.steps and self.total and (known or not self.more):
            self.steps = 0
            self.go_to(number % self.total)

    def stop(self) -> None:
        self._target, self._follows = None, False
        super().stop()

    def clear(self) -> None:
        self.forget()
        self.needle, self._matches, self._searched = "", [], 0
        self._scans = self._follows = False
        self._target, self._marked = None, -1
        self._code.show_match((), 0)

    def view_changed(self) -> None:
        """Another body, or another part of the same one, which keeps the places."""
        if self._loader.source is not self._source or not self.places:
            self.search(self.needle)
            return
        self._marked, self._follows = -1, True
        self._lines_searched(*self._find_from(0))
        self.changed.emit()

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if it was waiting for them."""
        if self._follows and self._searched:
            found, searched = self._find_from(self._searched)
            self._lines_searched((self._matches + found)[:MATCHES_MAX], searched)
            self.changed.emit()

    def places_changed(self) -> None:
        first = not self.total
        self._count()
        if first and self.places:
            self.go_to(0)
        self.take_steps()
        self.changed.emit()

    def go_to(self, number: int) -> None:
        self._target = self.current = number
        self.not_in_view = False
        self._show()

    async def _search_lines(self) -> None:
        """Search many lines off the GUI thread."""
        found, searched = await in_thread(self._find_from, 0)
        self._lines_searched(found, searched)
        self.extended()  # Meanwhile there may be more lines.

    def _find_from(self, begin: int) -> tuple[list[tuple[int, int]], int]:
        return self._code.find_words([self.needle], self._marks.written, begin)

    def _lines_searched(self, matches: list[tuple[int, int]], searched: int) -> None:
        first = not self.total and not self._matches
        self._matches, self._searched = matches, searched
        if first and matches:
            self._marked = 0
        self._code.show_match(matches, self._marked, move=first)
        self._count()
        if not self._scans:
            self.busy = not self._loader.ended
        if self._loader.ended and not self._loader.shows_all and not self._scans:
            self._scan_on()
        self._show()
        self.take_steps()

    def _scan_on(self) -> None:
        """Count on behind the last place known."""
        source, reader = self._loader.source, self._loader.reader
        if source is not None and reader is not None:
            self._scans = True
            begin = self.places[-1] + 1 if self.places else 0
            indented = reader.view is not None and reader.view.name in ("json", "ndjson")
            search = BodySearch(reader.charset, self.needle, begin, self._marks.written, indented=indented)
            self.run(lambda: self.scan(source, reader.codings, search, begin))

    def _count(self) -> None:
        before = self._before()
        in_lines = before + len(self._matches)
        if self._marked >= 0 and self._target is None:
            # Of the places before the lines shown, more are known now.
            self.current = before + self._marked
        # Without any place, the text searched for belongs to the layout, not to the body.
        self.total = len(self.places) if self._ended and self.places else max(len(self.places), in_lines)
        self.more = not self._ended if self._scans else not self._loader.ended or len(self._matches) == MATCHES_MAX

    def _before(self) -> int:
        """The number of places before the lines shown."""
        reader = self._loader.reader
        return bisect_left(self.places, reader.start_offset) if reader is not None else 0

    def _show(self) -> None:
        """Show the target, in another part of the text if it is there."""
        reader, source = self._loader.reader, self._loader.source
        if self._target is None or reader is None or source is None:
            return
        match = self._target - self._before()
        if 0 <= match < len(self._matches):
            self._target, self._marked = None, match
            self._code.show_match(self._matches, match)
        elif self._loader.ended and self._target < len(self.places):
            place = self.places[self._target]
            if reader.view is not None and reader.view.group == "text" and place in reader.offsets:
                # The bytes match, but the text shows them differently.
                self._target, self.not_in_view = None, not reader.codings
            else:
                self._loader.start_at(source, place)
        self.changed.emit()

    @Slot()
    def _loading_failed(self) -> None:
        if self._target is not None:
            self._target, self._failed, self.busy = None, True, False
            self.changed.emit()

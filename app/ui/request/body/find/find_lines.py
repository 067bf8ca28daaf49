"""Finds text in a body shown as lines: in the lines if all of them are loaded, otherwise in the bytes. Matches
anywhere in the body are shown in the same view."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from PySide6.QtCore import QObject, Slot

from app.core.bodies.body_reader import BodyReader
from app.core.search.body_search import BodySearch
from app.ui.request.body.body_loader import STEP, BodyLoader
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.request.body.code.searchable_text import MATCHES_MAX
from app.ui.request.body.find.find_bar import FilterMarks
from app.ui.request.body.find.finder import ScanningFinder
from app.ui.tasks import Tasks

AT_ONCE_MAX = 256 * 1024
"""Characters of lines that are searched on the GUI thread."""
FORMAT_MAX = 2 * 1024 * 1024
"""Bytes that a view formats to get to a match, unless it can skip them. For matches further on the text is shown."""
LOAD_ON_MAX = 4 * STEP
"""Bytes beyond the lines shown within which lines are appended; for matches further on the view restarts there."""


class LinesFinder(ScanningFinder):
    """Searches what `loader` shows in `code`. Places in the body and matches in the lines correspond one to one."""

    def __init__(self, code: CodeView, loader: BodyLoader, marks: FilterMarks, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._code, self._loader, self._marks = code, loader, marks
        self._matches: list[tuple[int, int]] = []
        self._searched = 0
        self._in_lines = True
        """Whether the lines shown are the whole body."""
        self._searched_view: tuple[BodySource, str] | None = None
        self._target: int | None = None
        """The index of the place to show once its lines are loaded."""
        self._marked: int | None = None
        """The current match among those in the lines shown."""
        self._restarts = False
        """Whether the view restarts around the target."""
        loader.failed.connect(self._loading_failed)

    def status_text(self) -> str:
        text = super().status_text()
        return f"{text} · Loading…" if self._restarts and self._target is not None else text

    def search(self, needle: str) -> None:
        """The first match in view becomes the current one, or else the first in the body."""
        self.forget()
        self.needle, self._matches, self._searched = needle, [], 0
        self._target = self._marked = None
        source, reader = self._loader.source, self._loader.reader
        self._searched_view = _view_key(source, reader)
        self._code.show_match((), 0)
        if needle and source is not None and reader is not None:
            self._in_lines = reader.done and not reader.start_offset
            if self._code.length() <= AT_ONCE_MAX:
                self._matches, self._searched = self._code.find_words([needle], self._marks.written)
                self._lines_searched()
                if not self._in_lines:
                    self.run(lambda: self._scan_from(source, reader, 0))
            else:
                self.run(lambda: self._search_all(source, reader))
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._in_lines:
            if self._matches:
                self.go_to((self.current + by) % len(self._matches))
            elif self.busy:
                self.steps += by
        elif self._failed:
            self.search(self.needle)
        elif self.places and (by < 0 or self._ended or self.current + by < len(self.places)):
            self.go_to((self.current + by) % len(self.places))
        elif not self._ended:
            self.steps += by
            source, reader = self._loader.source, self._loader.reader
            if not self.busy and source is not None and reader is not None:
                self.run(lambda: self._scan_from(source, reader, self.places[-1] + 1 if self.places else 0))
            self.changed.emit()

    def stop(self) -> None:
        self._target = None
        super().stop()

    def clear(self) -> None:
        self.forget()
        self.needle, self._matches, self._searched_view = "", [], None
        self._target = self._marked = None
        self._code.show_match((), 0)

    def view_changed(self) -> None:
        """Another body, or other lines of the same one, which keep the places."""
        reader, key = self._loader.reader, _view_key(self._loader.source, self._loader.reader)
        restarted, self._restarts = self._restarts and self._target is not None, False
        if restarted:
            self._searched_view = key
        if self._in_lines or key != self._searched_view or reader is None:
            self.search(self.needle)
            return
        self._matches, self._searched = self._code.find_words([self.needle], self._marks.written)
        match = self.current - self._before(reader)
        self._marked = match if 0 <= match < len(self._matches) else None
        self._code.show_match(self._matches, match, move=False)
        self._show(restarted=restarted)
        self.changed.emit()

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if it was waiting for them."""
        if self.needle and len(self._matches) < MATCHES_MAX:
            more, self._searched = self._code.find_words([self.needle], self._marks.written, self._searched)
            self._matches = (self._matches + more)[:MATCHES_MAX]
            reader = self._loader.reader
            if reader is not None and self._target is None:
                self._code.show_match(self._matches, self.current - self._before(reader), move=False)
        if self._in_lines:
            self._count()
            self.changed.emit()
        self._show()

    def places_changed(self) -> None:
        if self._ended and not self.places and self._matches:
            # The text searched for belongs to the layout, not to the body.
            self._in_lines = True
        first = not self.total
        self._count()
        if first and self.places:
            self.go_to(0)
        self.take_steps()
        self.changed.emit()

    async def _search_all(self, source: BodySource, reader: BodyReader) -> None:
        """Search many lines off the GUI thread."""
        text, begin = self._code.searchable_text(), self._code.searchable_text().text()
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, text.find, [self.needle], self._marks.written)
        if self._latest.superseded:
            return
        self._matches, self._searched = found, len(begin)
        self._lines_searched()
        if self._in_lines:
            self.busy = False
            self.changed.emit()
        else:
            await self._scan_from(source, reader, 0)

    async def _scan_from(self, source: BodySource, reader: BodyReader, begin: int) -> None:
        indented = reader.view is not None and reader.view.name in ("json", "ndjson")
        search = BodySearch(reader.charset, self.needle, begin, self._marks.written, indented=indented)
        await self.scan(source, reader.codings, search, begin)

    def _lines_searched(self) -> None:
        self._count()
        if self._matches:
            self._marked = 0
            self._code.show_match(self._matches, 0)
            if self._in_lines and self.steps:
                self.step(self.steps)
                self.steps = 0

    def _count(self) -> None:
        reader = self._loader.reader  # None while another part is being loaded
        if self._in_lines:
            self.total = len(self._matches)
            self.more = self.total == MATCHES_MAX or (reader is not None and not reader.done)
            return
        before = self._before(reader) if reader is not None else 0
        if self._marked is not None and self._target is None and reader is not None:
            # Of the places before the lines shown, more are known now.
            self.current = before + self._marked
        known = len(self.places)
        self.total = known if self._ended else max(known, before + len(self._matches))
        self.more = not self._ended

    def _before(self, reader: BodyReader) -> int:
        """The number of places before the lines shown."""
        return 0 if self._in_lines else bisect_left(self.places, reader.start_offset)

    def go_to(self, number: int) -> None:
        self._target = self.current = number
        self.not_in_view = False
        self._show()
        self.changed.emit()

    def _show(self, *, restarted: bool = False) -> None:
        """Show the current place, loading its lines if needed; `restarted`: the view has just been for it."""
        reader, source = self._loader.reader, self._loader.source
        if self._target is None or reader is None or source is None:
            return
        match = self._target - self._before(reader)
        place = 0 if self._in_lines else self.places[self._target]
        if 0 <= match < len(self._matches):
            self._target, self._marked = None, match
            self._code.show_match(self._matches, match)
        elif place < reader.start_offset or place > reader.unpacked + LOAD_ON_MAX:
            # A view whose lines depend on everything before them takes minutes to get far, and may leave the place out.
            near = place - reader.unpacked < FORMAT_MAX or reader.skipper() is not None
            keeps = near and not restarted and reader.view is not None
            self._restarts = True
            self._loader.start_at(source, reader.view.group if keeps and reader.view else "text", place)
        elif (
            not reader.done and (reader.unpacked < place + STEP or reader.has_lines) and self._code.length() < SHOWN_MAX
        ):
            self._loader.more()
        else:
            # The bytes match, but the view shows them differently.
            self._target, self.not_in_view = None, not reader.codings
            self.changed.emit()

    @Slot()
    def _loading_failed(self) -> None:
        if self._target is not None:
            self._target, self._failed, self.busy = None, True, False
            self.changed.emit()


def _view_key(source: BodySource | None, reader: BodyReader | None) -> tuple[BodySource, str] | None:
    return (source, reader.view.name) if source is not None and reader is not None and reader.view is not None else None

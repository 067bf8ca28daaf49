"""The base of searches in a body: matches in order, the current one, and the text that describes them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.core.bodies.body_reader import BodyReader
from app.core.search.body_search import BodySearch
from app.core.text import size_text
from app.ui.inspector.body.body_loader import BodyLoader
from app.ui.inspector.body.body_source import BodySource, plain_pieces
from app.ui.tasks import Latest, Tasks, in_thread

PLACES_MAX = 10_000
"""Matches counted before the user asks for the next one."""
PROGRESS_EVERY = 4 * 1024 * 1024
"""Bytes between progress updates."""


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
        return self.progress if self.busy else "No matches"

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
            self.busy, self.progress = True, "Loading…"

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
        self.busy, self._failed = True, False
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

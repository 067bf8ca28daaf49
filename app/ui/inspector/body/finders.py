"""Searches of the views of a body, which the search bar drives, and the highlights of a filter's words in its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.decompressor import Decompressor
from app.core.bodies.formats.trees import JsonTree
from app.core.search.body_search import BodySearch, Encoding, pattern_of
from app.core.text import size_text
from app.ui.inspector.body.body_source import LOADING, BodyLoader, BodySource, plain_pieces
from app.ui.inspector.body.code_rows import MATCHES_MAX
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.tree_view import TreeView
from app.ui.tasks import Latest, Tasks, in_thread

AT_ONCE_MAX = 256 * 1024
"""Characters of lines that are searched on the GUI thread."""
PLACES_MAX = 10_000
"""Matches counted before the user asks for the next one."""
PROGRESS_EVERY = 4 * 1024 * 1024
"""Bytes between progress updates."""
UNSEARCHABLE = "Cannot be searched"


class FilterMarks:
    """They are asked for only while no search of the body marks its matches. `written`: the notation of the body."""

    def __init__(self, view: CodeView) -> None:
        self._view = view
        self._searched = 0
        self.words: Sequence[str] = ()
        self.written: Sequence[Encoding] = ()

    def mark(self, *, move: bool) -> None:
        """Highlight the words in what is shown, and scroll to the first if `move`."""
        found, self._searched = self._view.searchable.find(self.words, self.written)
        self._view.marks.show(found, 0, move=move)

    def mark_more(self) -> None:
        """More lines are shown; the view does not scroll."""
        if self.words:
            more, self._searched = self._view.searchable.find(self.words, self.written, self._searched)
            marks = self._view.marks
            self._view.marks.show([*marks.matches, *more][:MATCHES_MAX], marks.current, move=False)

    def move(self, step: int) -> None:
        """Go to the next or previous match, wrapping around."""
        marks = self._view.marks
        if marks.matches:
            self._view.marks.show(marks.matches, (marks.current + step) % len(marks.matches))


class Finder(QObject):
    """`search` begins, `step` goes to the next (1) or previous (-1) match and wraps around, `stop` stops counting.

    Subclasses `begin` to search for the `needle`, in what there is of the body by now.
    """

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(self, tasks, "body: find")
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
        self.clear()
        self.needle = needle
        if needle:
            self.begin()
        self.changed.emit()

    def begin(self) -> None:
        raise NotImplementedError

    def go_to(self, number: int) -> None:
        """Show this match."""
        raise NotImplementedError

    def await_body(self) -> None:
        """Say that the body is being read: it is searched again once it is there."""
        self.busy, self.progress = True, LOADING

    def step(self, by: int) -> None:
        """Go to another match."""
        self.steps += by
        self.take_steps()
        self.changed.emit()

    def take_steps(self) -> None:
        """Take the steps that waited, once the match they lead to is known."""
        number = self.current + self.steps
        known = 0 <= number < self.total or (number < 0 and not self.busy)
        if self.steps and self.total and (known or not self.more):
            self.steps = 0
            self.go_to(number % self.total)

    def stop(self) -> None:
        """Stop searching, keeping the matches."""
        self._latest.stop()
        self.busy, self.steps = False, 0
        self.changed.emit()

    def clear(self) -> None:
        """Clear the search and its highlights."""
        self._latest.stop()
        self.needle, self.busy, self.more, self.not_in_view = "", False, False, False
        self.total = self.current = self.steps = 0

    def view_changed(self) -> None:
        """The view shows a body, or another part of it."""
        self.search(self.needle)


class ScanningFinder(Finder):
    """Counts matches in the bytes of the body, off the GUI thread. `places` are offsets in the unpacked body."""

    def __init__(self, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._loader = loader
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
        if self._scans and not (self.busy or self._ended) and self.current + self.steps + by >= self.total:
            self.scan_on()
        super().step(by)

    def clear(self) -> None:
        super().clear()
        self.places, self._scans, self._ended, self._failed = [], False, False, False

    def search_from(self, reader: BodyReader, begin: int) -> tuple[tuple[str, ...], BodySearch]:
        """The content codings that are removed, and the search of what is then the byte `begin` and all after it."""
        raise NotImplementedError

    def count(self) -> None:
        """Update `total` and `more`."""
        self.total, self.more = len(self.places), not self._ended

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
            async with aclosing(plain_pieces(source, Decompressor(codings), begin)) as pieces:
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


class LinesFinder(ScanningFinder):
    """Searches what `loader` shows in `code`. If that is only a part of the body, all matches are counted in the bytes,
    and one that is elsewhere is shown in another part of the text. Places in the body and matches in the lines
    correspond one to one."""

    def __init__(self, code: CodeView, loader: BodyLoader, marks: FilterMarks, tasks: Tasks, parent: QObject) -> None:
        super().__init__(loader, tasks, parent)
        self._code, self._marks = code, marks
        self._matches: list[tuple[int, int]] = []
        self._searched: int | None = None
        """Characters of the lines that were searched; None if those that are being loaded are not searched, too."""
        self._source: BodySource | None = None
        """The body that was searched."""
        self._target: int | None = None
        """The number of the match to show once its lines are there."""
        self._marked = -1
        """The current match among those in the lines."""

    def status_text(self) -> str:
        text = super().status_text()
        waits = self._target is not None and not self._loader.ended and not self._failed
        return f"{text} · Loading…" if waits else text

    def begin(self) -> None:
        """The first match in view becomes the current one, or else the first in the body."""
        self._source = self._loader.source
        if self._loader.reader is None:
            self.await_body()
        elif len(self._code.searchable) <= AT_ONCE_MAX:
            self.progress = "Searching…"
            self._lines_searched(*self._find_from(0))
        else:
            self.run(self._search_lines)

    def stop(self) -> None:
        self._target, self._searched = None, None
        super().stop()

    def clear(self) -> None:
        super().clear()
        self._matches, self._searched, self._target, self._marked = [], None, None, -1
        self._code.marks.show((), 0)

    def view_changed(self) -> None:
        """Another body, or another part of the same one, which keeps the places."""
        if self._loader.source is not self._source or not self.places:
            self.search(self.needle)
            return
        self._marked, self._failed = -1, False
        self._lines_searched(*self._find_from(0))
        self.changed.emit()

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if it was waiting for them."""
        if self._searched is not None:
            found, searched = self._find_from(self._searched)
            self._lines_searched((self._matches + found)[:MATCHES_MAX], searched)
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
        return self._code.searchable.find([self.needle], self._marks.written, begin)

    def _lines_searched(self, matches: list[tuple[int, int]], searched: int) -> None:
        first = not self.total and not self._matches
        self._matches, self._searched = matches, searched
        if first and matches:
            self._marked = 0
        self._code.marks.show(matches, self._marked, move=first)
        self.count()
        if not self._scans:
            self.busy = not self._loader.ended
        if self._loader.ended and not self._loader.shows_all and not self._scans:
            self.scan_on()
        self._show()
        self.take_steps()

    def search_from(self, reader: BodyReader, begin: int) -> tuple[tuple[str, ...], BodySearch]:
        indented = reader.view is not None and reader.view.name in ("json", "ndjson")
        written = self._marks.written
        return reader.codings, BodySearch(reader.charset, self.needle, begin, written, indented=indented)

    def count(self) -> None:
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
            self._code.marks.show(self._matches, match)
        elif self._loader.ended and self._target < len(self.places):
            place = self.places[self._target]
            if reader.view is not None and reader.view.group == "text" and place in reader.offsets:
                # The bytes match, but the text shows them differently.
                self._target, self.not_in_view = None, not reader.codings
            else:
                self._loader.start_at(source, place)
        self.changed.emit()

    def waits(self) -> bool:
        return self._target is not None or super().waits()


class HexFinder(ScanningFinder):
    """Searches the bytes as they were sent: Hex does not decompress a body."""

    def __init__(self, hexes: HexWidget, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(loader, tasks, parent)
        self._hex = hexes

    def begin(self) -> None:
        if self._loader.reader is None:
            self.await_body()
        else:
            self.scan_on()

    def clear(self) -> None:
        super().clear()
        self._hex.mark(None)

    def search_from(self, reader: BodyReader, begin: int) -> tuple[tuple[str, ...], BodySearch]:
        # Binary data has no charset of its own.
        charset = reader.text_charset
        return (), BodySearch(charset.name if charset else "utf-8", self.needle, begin)

    def go_to(self, number: int) -> None:
        self.current = number
        if number < len(self.places):
            self._hex.mark((self.places[number], len(self.needle.encode("utf-8", "replace"))))
        self.changed.emit()


class TreeFinder(Finder):
    """Each node whose name or value contains the text is one match; going to it expands its parents."""

    def __init__(self, tree: TreeView, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._tree = tree
        self._nodes: list[int] = []
        tree.shown.connect(self._read)

    def status_text(self) -> str:
        return UNSEARCHABLE if self._tree.reason.text() else super().status_text()

    def begin(self) -> None:
        tree = self._tree.view.nodes.tree
        if tree is not None:
            self.busy, self.more, self.progress = True, True, "Searching…"
            self._latest.run(partial(self._search, tree))
        elif not self._tree.reason.text():
            self.await_body()

    def clear(self) -> None:
        super().clear()
        self._nodes = []

    def go_to(self, number: int) -> None:
        self.current = number
        self._tree.view.choose(self._nodes[number])
        self.changed.emit()

    @Slot()
    def _read(self) -> None:
        self.view_changed()

    async def _search(self, tree: JsonTree) -> None:
        pattern = pattern_of([self.needle], ("json",))
        self._nodes = await in_thread(tree.find, pattern) if pattern is not None else []
        self.total, self.busy, self.more = len(self._nodes), False, False
        if self._nodes:
            self.go_to(0)
        self.take_steps()
        self.changed.emit()

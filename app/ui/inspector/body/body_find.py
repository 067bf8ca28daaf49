"""The search of a body pane: the bar, and a finder for each of its views."""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.formats.json_tree import JsonTree
from app.core.search.body_search import BodySearch, encodings_of, pattern_of
from app.ui.inspector.body.body_loader import BodyLoader
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.code_rows import MATCHES_MAX
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.find_bar import LOADING, UNSEARCHABLE, FilterMarks, FindBar, Finder, ScanningFinder
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.tree_view import TreeView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.theme import Theme

AT_ONCE_MAX = 256 * 1024
"""Characters of lines that are searched on the GUI thread."""


class LinesFinder(ScanningFinder):
    """Searches what `loader` shows in `code`. If that is only a part of the body, all matches are counted in the bytes,
    and one that is elsewhere is shown in another part of the text. Places in the body and matches in the lines
    correspond one to one."""

    def __init__(self, code: CodeView, loader: BodyLoader, marks: FilterMarks, tasks: Tasks, parent: QObject) -> None:
        super().__init__(loader, tasks, parent)
        self._code, self._marks = code, marks
        self._matches: list[tuple[int, int]] = []
        self._searched = 0
        """Characters of the lines that were searched."""
        self._source: BodySource | None = None
        """The body that was searched."""
        self._follows = False
        """Whether the lines that are being loaded are searched, too."""
        self._target: int | None = None
        """The number of the match to show once its lines are there."""
        self._marked = -1
        """The current match among those in the lines."""

    def status_text(self) -> str:
        text = super().status_text()
        waits = self._target is not None and not self._loader.ended and not self._failed
        return f"{text} · Loading…" if waits else text

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
        elif needle:
            self.await_body()
        self.changed.emit()

    def stop(self) -> None:
        self._target, self._follows = None, False
        super().stop()

    def clear(self) -> None:
        self.forget()
        self.needle, self._matches, self._searched = "", [], 0
        self._follows, self._target, self._marked = False, None, -1
        self._code.show_match((), 0)

    def view_changed(self) -> None:
        """Another body, or another part of the same one, which keeps the places."""
        if self._loader.source is not self._source or not self.places:
            self.search(self.needle)
            return
        self._marked, self._follows, self._failed = -1, True, False
        self._lines_searched(*self._find_from(0))
        self.changed.emit()

    def extended(self) -> None:
        """More lines are shown; the view scrolls only if it was waiting for them."""
        if self._follows and self._searched:
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
        return self._code.find_words([self.needle], self._marks.written, begin)

    def _lines_searched(self, matches: list[tuple[int, int]], searched: int) -> None:
        first = not self.total and not self._matches
        self._matches, self._searched = matches, searched
        if first and matches:
            self._marked = 0
        self._code.show_match(matches, self._marked, move=first)
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
            self._code.show_match(self._matches, match)
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
    """Searches the bytes as they were sent: Hex shows packed bodies packed."""

    def __init__(self, hexes: HexWidget, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(loader, tasks, parent)
        self._hex = hexes

    def search(self, needle: str) -> None:
        """Find this text."""
        self.clear()
        self.needle = needle
        if needle and self._loader.reader is not None:
            self.scan_on()
        elif needle:
            self.await_body()
        self.changed.emit()

    def clear(self) -> None:
        self.forget()
        self.needle = ""
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
        super().__init__(parent)
        self._tree = tree
        self._latest = Latest(self, tasks, "tree: find")
        self._nodes: list[int] = []

    def status_text(self) -> str:
        return UNSEARCHABLE if self._tree.reason.text() else super().status_text()

    def search(self, needle: str) -> None:
        """Find this text."""
        self.clear()
        self.needle = needle
        tree = self._tree.view.nodes.tree
        if needle and tree is not None:
            self.busy, self.more, self.progress = True, True, "Searching…"
            self._latest.run(lambda: self._search(tree, needle))
        elif needle and not self._tree.reason.text():
            self.busy, self.progress = True, LOADING
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._nodes:
            self.current = (self.current + by) % self.total
            self._tree.view.choose(self._nodes[self.current])
            self.changed.emit()
        elif self.busy:
            self.steps += by

    def stop(self) -> None:
        """Stop searching."""
        self._latest.stop()
        self.busy, self.steps = False, 0
        self.changed.emit()

    def clear(self) -> None:
        """Clear the search."""
        self._latest.stop()
        self.needle, self._nodes, self.busy, self.more = "", [], False, False
        self.total = self.current = self.steps = 0

    async def _search(self, tree: JsonTree, needle: str) -> None:
        pattern = pattern_of([needle], ("json",))
        found = await in_thread(tree.find, pattern) if pattern is not None else []
        self._nodes, self.total, self.busy, self.more = found, len(found), False, False
        self.current = 0
        self.step(self.steps)
        self.changed.emit()


class BodyFind(QObject):
    """Call `view_changed` once a view shows a body, or another part of it, and `extended` once it shows more lines."""

    def __init__(
        self,
        theme: Theme,
        tasks: Tasks,
        loader: BodyLoader,
        parent: QWidget,
        code: CodeView,
        *,
        what: str,
    ) -> None:
        super().__init__(parent)
        self._loader, self._tasks = loader, tasks
        self.words = FilterMarks(code)
        self.bar = FindBar(self.words, theme, parent, what)
        self._lines = LinesFinder(code, loader, self.words, tasks, self)
        self._finders: dict[QWidget, Finder] = {code: self._lines}
        self.bar.use(self._lines)
        self.bar.hex.clicked.connect(self._open_hex)

    def can_search(self, page: QWidget | None) -> bool:
        """Whether this view can be searched now."""
        if isinstance(page, TreeView):
            return page.view.nodes.tree is not None
        return isinstance(page, CodeView | HexWidget)

    def view_changed(self, page: QWidget, reader: BodyReader, content_type: str) -> None:
        """This view is shown, with the output of `reader`."""
        finder = self._finder(page)
        if finder is self._lines:
            self.words.written = encodings_of(content_type, (view.name for view in reader.views))
            self.words.mark(move=not reader.start_offset)
        self.bar.use(finder)

    def extended(self) -> None:
        """More lines are shown."""
        self.words.mark_more()
        if not self.bar.isHidden():
            self._lines.extended()

    def _finder(self, page: QWidget) -> Finder | None:
        if page not in self._finders and isinstance(page, HexWidget):
            self._finders[page] = HexFinder(page, self._loader, self._tasks, self)
        elif page not in self._finders and isinstance(page, TreeView):
            self._finders[page] = TreeFinder(page, self._tasks, self)
            page.shown.connect(self._tree_shown)
        return self._finders.get(page)

    @Slot()
    def _tree_shown(self) -> None:
        if isinstance(self.bar.finder, TreeFinder) and not self.bar.isHidden():
            self.bar.search()

    @Slot()
    def _open_hex(self) -> None:
        """Only for this search: the view selected for bodies of this type stays."""
        source = self._loader.source
        if source is not None:
            self._loader.start(source, "hex")

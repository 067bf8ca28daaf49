"""The search of a body pane: the bar, and a finder for each of its views."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.formats.json_tree import JsonTree
from app.core.search.body_search import BodySearch
from app.core.search.spellings import encodings_of, pattern_of
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.code.code_view import CodeView
from app.ui.request.body.find.find_bar import FilterMarks, FindBar
from app.ui.request.body.find.find_lines import LinesFinder
from app.ui.request.body.find.finder import Finder, ScanningFinder
from app.ui.request.body.hex_widget import HexWidget
from app.ui.request.body.tree_view import TreeView
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.theme import Theme


class HexFinder(ScanningFinder):
    """Searches the bytes as they were sent: Hex shows packed bodies packed."""

    def __init__(self, hexes: HexWidget, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._hex, self._loader = hexes, loader

    def search(self, needle: str) -> None:
        """Find this text."""
        self.forget()
        self.needle = needle
        self._hex.mark(None)
        if needle:
            self._scan_from(0)
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._failed:
            self.search(self.needle)
        elif not self._ended and (not self.places or self.current + by >= len(self.places)):
            self.steps += by
            if not self.busy:
                self._scan_from(self.places[-1] + 1 if self.places else 0)
        elif self.places:
            self.go_to((self.current + by) % len(self.places))

    def clear(self) -> None:
        self.forget()
        self.needle = ""
        self._hex.mark(None)

    def places_changed(self) -> None:
        first = not self.total
        self.total, self.more = len(self.places), not self._ended
        if first and self.total:
            self.go_to(0)
        self.take_steps()
        self.changed.emit()

    def _scan_from(self, begin: int) -> None:
        source, reader = self._loader.source, self._loader.reader
        if source is not None:
            # Binary data has no charset of its own.
            charset = reader.text_charset if reader is not None else None
            search = BodySearch(charset.name if charset else "utf-8", self.needle, begin)
            self.run(lambda: self.scan(source, (), search, begin))

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

    def search(self, needle: str) -> None:
        """Find this text."""
        self.clear()
        self.needle = needle
        tree = self._tree.view.nodes.tree
        if needle and tree is not None:
            self.busy, self.progress = True, "Searching…"
            self._latest.run(lambda: self._search(tree, needle))
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
        self.needle, self._nodes, self.total, self.current, self.busy, self.steps = "", [], 0, 0, False, 0

    async def _search(self, tree: JsonTree, needle: str) -> None:
        pattern = pattern_of([needle], ("json",))
        found = await in_thread(tree.find, pattern) if pattern is not None else []
        self._nodes, self.total, self.busy = found, len(found), False
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
    ) -> None:
        super().__init__(parent)
        self._loader, self._tasks = loader, tasks
        self.words = FilterMarks(code)
        self.bar = FindBar(self.words, theme, parent)
        self._lines = LinesFinder(code, loader, self.words, tasks, self)
        self._finders: dict[QWidget, Finder] = {code: self._lines}
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
        if finder is not None:
            self.bar.use(finder)

    def extended(self) -> None:
        """More lines are shown."""
        self.words.mark_more()
        if not self.bar.isHidden():
            self._lines.extended()

    def stop(self) -> None:
        """Stop searching."""
        for finder in self._finders.values():
            finder.stop()

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

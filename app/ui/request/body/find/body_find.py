"""The search of a body pane: the bar, and a finder for each of its views."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.search.spellings import encodings_of
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.code.code_view import CodeView
from app.ui.request.body.find.filter_marks import WordMarks
from app.ui.request.body.find.find_bar import FindBar
from app.ui.request.body.find.find_hex import HexFinder
from app.ui.request.body.find.find_lines import LinesFinder
from app.ui.request.body.find.find_tree import TreeFinder
from app.ui.request.body.find.finder import Finder
from app.ui.request.body.hex_widget import HexWidget
from app.ui.request.body.tree_view import TreeView
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme


class BodyFind(QObject):
    """Call `view_shown` once a view shows a body, or another part of it, and `extended` once it shows more lines."""

    def __init__(
        self,
        theme: Theme,
        tasks: Tasks,
        loader: BodyLoader,
        parent: QWidget,
        *,
        code: CodeView,
        hexes: HexWidget,
        tree: TreeView,
    ) -> None:
        super().__init__(parent)
        self._loader = loader
        self.words = WordMarks(code)
        self.bar = FindBar(self.words, theme, parent)
        self._lines = LinesFinder(code, loader, self.words, tasks, self)
        self._tree = tree
        self._finders: dict[QWidget, Finder] = {
            code: self._lines,
            hexes: HexFinder(hexes, loader, tasks, self),
            tree: TreeFinder(tree, tasks, self),
        }
        self.bar.hex.clicked.connect(self._open_hex)
        tree.shown.connect(self._tree_shown)

    def can_search(self, page: QWidget | None) -> bool:
        """Whether this view can be searched now."""
        return page in self._finders and not (page is self._tree and self._tree.view.nodes.tree is None)

    def view_shown(self, page: QWidget, reader: BodyReader, content_type: str) -> None:
        """This view is shown, with the output of `reader`."""
        finder = self._finders.get(page)
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

    @Slot()
    def _tree_shown(self) -> None:
        if self.bar.finder is self._finders[self._tree] and not self.bar.isHidden():
            self.bar.search()

    @Slot()
    def _open_hex(self) -> None:
        """Only for this search: the view selected for bodies of this type stays."""
        source = self._loader.source
        if source is not None:
            self._loader.start(source, "hex")

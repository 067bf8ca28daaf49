"""Finds text among the names and values of a tree."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from app.core.bodies.formats.json_tree import JsonTree
from app.core.search.spellings import pattern_of
from app.ui.latest_only import Latest
from app.ui.request.body.find.finder import Finder
from app.ui.request.body.tree_view import TreeView
from app.ui.tasks import Tasks


class TreeFinder(Finder):
    """Each node whose name or value contains the text is one match; going to it expands its parents."""

    def __init__(self, tree: TreeView, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._tree = tree
        self._latest = Latest(tasks, "tree: find")
        self._nodes: list[int] = []

    def search(self, needle: str) -> None:
        """Find this text."""
        self.clear()
        self.needle = needle
        tree = self._tree.view.nodes.tree
        if needle and tree is not None:
            self.busy, self.progress = True, "Searching…"
            self._latest.run(lambda: self._look(tree, needle))
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._nodes:
            self.current = (self.current + by) % self.total
            self._tree.view.choose(self._nodes[self.current])
            self.changed.emit()

    def stop(self) -> None:
        """Stop searching."""
        self._latest.stop()
        self.busy = False
        self.changed.emit()

    def clear(self) -> None:
        """Clear the search."""
        self._latest.stop()
        self.needle, self._nodes, self.total, self.current, self.busy = "", [], 0, 0, False

    async def _look(self, tree: JsonTree, needle: str) -> None:
        pattern = pattern_of([needle], ("json",))
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, tree.find, pattern) if pattern is not None else []
        if not self._latest.superseded:
            self._nodes, self.total, self.busy = found, len(found), False
            self.current = -1 if found else 0
            self.step(1)
            self.changed.emit()

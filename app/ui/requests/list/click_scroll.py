"""Scrolls a clicked row that is partly hidden into view."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QTimer, Slot
from PySide6.QtWidgets import QApplication, QListView


class ClickScroll(QObject):
    """Waits until the click can no longer become a double-click, whose second half would land on another row. Does
    nothing if the row has moved meanwhile: the user scrolls, or new requests come in.
    """

    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self._view = view
        self._row = QPersistentModelIndex()
        self._place = QRect()
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.timeout.connect(self._scroll)
        view.clicked.connect(self._wait)

    @Slot(QModelIndex)
    def _wait(self, row: QModelIndex) -> None:
        self._row, self._place = QPersistentModelIndex(row), self._view.visualRect(row)
        self.timer.start(QApplication.doubleClickInterval())

    @Slot()
    def _scroll(self) -> None:
        current = self._row.isValid() and self._row == self._view.currentIndex()
        if current and self._view.visualRect(self._row) == self._place:
            self._view.scrollTo(self._row)

"""A window's size and place, kept from one start to the next."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings, QSize
from PySide6.QtWidgets import QWidget

from app.ui.widgets.fit_screen import fit


class StoredGeometry:
    """Stored in `file` below `key`. What a smaller screen makes of a window is not stored, unless the user resizes it
    there.
    """

    def __init__(self, file: QSettings, key: str) -> None:
        self._file, self._key = file, key
        self._wanted = self._fitted = QSize()
        """The window's size before it was fitted on a smaller screen, and since then."""

    def restore(self, window: QWidget, first: QSize) -> None:
        """Restore the window; the first time it gets the size `first`."""
        geometry = self._file.value(f"{self._key}/geometry", QByteArray(), type=QByteArray)
        if not (isinstance(geometry, QByteArray) and not geometry.isEmpty() and window.restoreGeometry(geometry)):
            window.resize(first)
        # Qt does not restore more than fits on the screen.
        size = self._file.value(f"{self._key}/size", window.size(), type=QSize)
        self._wanted = size if isinstance(size, QSize) else window.size()
        self._fitted = window.size()

    def fit(self, window: QWidget) -> None:
        """Fit the window on its screen."""
        before = window.size()
        fit(window)
        if window.size() != before:
            self._wanted = self._wanted if before == self._fitted else before
            self._fitted = window.size()

    def save(self, window: QWidget) -> None:
        if window.isMaximized() or window.size() != self._fitted or self._fitted == self._wanted:
            self._file.setValue(f"{self._key}/geometry", window.saveGeometry())
            self._file.setValue(f"{self._key}/size", window.normalGeometry().size())

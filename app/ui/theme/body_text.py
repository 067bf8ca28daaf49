"""The text size of bodies and whether long lines wrap, for all windows; stored in `window.ini`."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.ui.theme.fonts import BASE
from app.ui.window_file import WindowFile

SMALLEST, LARGEST = 9, 28
"""Pixels."""
_LINE = 19 / 13
SIZE_KEY, WRAP_KEY = "body/size", "body/wrap"


class BodyTextStyle(QObject):
    """Shared by all windows."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._file: WindowFile | None = None
        self.size, self.wrap = BASE, True

    @property
    def line_height(self) -> int:
        """The distance between lines in pixels."""
        return round(self.size * _LINE)

    def load_from(self, folder: Path) -> None:
        """Load the stored values, and store changes from now on."""
        self._file = WindowFile(folder)
        try:
            size = int(self._file.text(SIZE_KEY, str(BASE)))
        except ValueError:
            size = BASE
        self._set(size, self._file.flag(WRAP_KEY, True))

    @Slot()
    def zoom_in(self) -> None:
        self._set(self.size + 1, self.wrap)

    @Slot()
    def zoom_out(self) -> None:
        self._set(self.size - 1, self.wrap)

    @Slot()
    def reset_zoom(self) -> None:
        self._set(BASE, self.wrap)

    @Slot()
    def toggle_wrap(self) -> None:
        """Toggle line wrapping."""
        self._set(self.size, not self.wrap)

    def zoom_by_wheel(self, degrees: int) -> None:
        """Zoom with the wheel while Ctrl is held; `degrees` is in eighths of a degree."""
        if degrees:
            self._set(self.size + (1 if degrees > 0 else -1), self.wrap)

    def _set(self, size: int, wrap: bool) -> None:
        size = max(SMALLEST, min(size, LARGEST))
        if (size, wrap) == (self.size, self.wrap):
            return
        self.size, self.wrap = size, wrap
        if self._file is not None:
            self._file.setValue(SIZE_KEY, size)
            self._file.setValue(WRAP_KEY, wrap)
        self.changed.emit()

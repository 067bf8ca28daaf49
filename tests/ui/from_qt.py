"""What happens on Qt's side, outside any turn of the event loop."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Caller(QObject):
    """Calls `action` once from a Qt timer, `after_ms` milliseconds from now."""

    def __init__(self, action: Callable[[], object], after_ms: int = 0) -> None:
        super().__init__()
        self._action = action
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._call)
        self._timer.start(after_ms)

    def _call(self) -> None:
        self._action()

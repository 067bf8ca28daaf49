"""The yardstick of a start: the least that PySide6 can do, one empty window, painted once.

Prints the milliseconds since the moment it is told (monotonic seconds).
"""

from __future__ import annotations

import sys
import time

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget


class BareWindow(QWidget):
    """Ends the program when it is painted."""

    def __init__(self, began: float) -> None:
        super().__init__()
        self._began = began
        self.resize(1280, 800)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell the time, once."""
        if self._began:
            print((time.monotonic() - self._began) * 1000, flush=True)
            self._began = 0.0
            QApplication.quit()


def main() -> int:
    """Show it."""
    app = QApplication(sys.argv[:1])
    window = BareWindow(float(sys.argv[1]))
    window.show()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main())

"""A QR code as modules, as a widget, and as a file."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

QUIET_ZONE = 4
"""Light modules on each side; ISO/IEC 18004 asks for four."""
SIDE = 248
"""The widget's side in device-independent pixels."""
FILE_SCALE = 12
"""Pixels of a module in a saved picture."""
LIGHT, DARK = "#ffffff", "#000000"

Modules = tuple[tuple[bool, ...], ...]
"""Rows from top to bottom, True is dark; without the quiet zone."""


def modules_of(text: str) -> Modules:
    """Error correction M: it can be read with 15 % of it damaged."""
    import segno  # start-up time: few sessions show a QR code

    code = segno.make(text, error="m", micro=False, boost_error=False)
    return tuple(tuple(bool(module) for module in row) for row in code.matrix)


def file_of(text: str, kind: Literal["png", "svg"]) -> bytes:
    """The picture of `modules_of(text)` with its quiet zone."""
    import segno  # start-up time, as above

    out = BytesIO()
    code = segno.make(text, error="m", micro=False, boost_error=False)
    code.save(out, kind=kind, scale=FILE_SCALE, border=QUIET_ZONE, light=LIGHT, dark=DARK)
    return out.getvalue()


def kind_of(path: Path) -> Literal["png", "svg"]:
    """The kind of picture for a file's name."""
    return "svg" if path.suffix.lower() == ".svg" else "png"


class QrCode(QWidget):
    """Dark on light in every theme, because many scanners read nothing else. Each module is a whole number of the
    screen's pixels, so that all edges are sharp.
    """

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.modules: Modules = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        self.modules = modules_of(text)
        self.setAccessibleName("QR code")
        self.setAccessibleDescription(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def module_pixels(self) -> int:
        """The side of a module in pixels of the screen."""
        across = len(self.modules) + 2 * QUIET_ZONE
        return max(1, int(self.width() * self.devicePixelRatioF()) // across)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(LIGHT))
        painter.drawRoundedRect(self.rect(), 8, 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        ratio, side = self.devicePixelRatioF(), self.module_pixels()
        start = (int(self.width() * ratio) - side * len(self.modules)) // 2
        painter.scale(1 / ratio, 1 / ratio)
        dark = QColor(DARK)
        for y, row in enumerate(self.modules):
            for x, module in enumerate(row):
                if module:
                    painter.fillRect(QRect(start + x * side, start + y * side, side, side), dark)

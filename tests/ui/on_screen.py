"""What a user sees of a widget. `grab` paints it anew, and so does not tell whether the program did."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from tests.ui.waiting import settle


async def on_screen(widget: QWidget) -> QImage:
    """The pixels of a widget that is shown, once what was to be painted is; in the format of `grab`."""
    await settle()
    window = widget.window()
    place = widget.mapTo(window, QPoint(0, 0))
    seen = widget.screen().grabWindow(window.winId(), place.x(), place.y(), widget.width(), widget.height())
    return seen.toImage().convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)

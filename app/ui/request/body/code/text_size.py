"""Applies the text size of all bodies to a view, and changes it with Ctrl and the wheel."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFont, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea

from app.ui.theme.body_text import BodyTextStyle
from app.ui.theme.fonts import mono_font


class TextSize(QObject):
    """`changed` is called with the font, now and after each change."""

    def __init__(self, view: QAbstractScrollArea, text: BodyTextStyle, changed: Callable[[QFont], None]) -> None:
        super().__init__(view)
        self._text, self._changed = text, changed
        view.viewport().installEventFilter(self)
        text.changed.connect(self._notify)
        self._notify()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Zoom with the wheel while Ctrl is held."""
        if isinstance(event, QWheelEvent) and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._text.zoom_by_wheel(event.angleDelta().y())
            return True
        return super().eventFilter(watched, event)

    def _notify(self) -> None:
        self._changed(mono_font(self._text.size))

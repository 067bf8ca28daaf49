"""A short notice low in the window that goes by itself, covers nothing that is used, and may hold an undo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QHBoxLayout, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.free_place import free_place, used_places
from app.ui.widgets.labels import ElidedLabel

SHOWN_MS = 5000
_LOOK_MS = 200
"""What is used may come to lie under it while it is shown: a row is chosen, a bar opens."""


class Toast(QFrame):
    """One notice at a time over `parent`; a later one replaces it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._undo: Callable[[], object] | None = None
        self.setProperty("part", "toast")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = ElidedLabel("", "", self)
        self.button = Button("Undo", theme, self, kind="link")
        self.button.clicked.connect(self._act)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2)
        row.setSpacing(metrics.SPACE_3)
        row.addWidget(self._text, 1)
        row.addWidget(self.button)
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(24)
        shadow.setOffset(0, 4)
        shadow.setColor(QColor(0, 0, 0, 70))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._move_off)
        parent.installEventFilter(self)
        self.hide()

    def say(self, text: str, undo: Callable[[], object] | None = None, undo_label: str = "Undo") -> None:
        """Show `text` for a while; `undo` gets a button."""
        self._text.setText(text)
        self._undo = undo
        self.button.setText(undo_label)
        self.button.setVisible(undo is not None)
        # Without a button clicks go to what lies below.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, undo is None)
        self._place()
        self.show()
        self.raise_()
        self._timer.start()
        self._look.start()

    def take_back(self, text: str) -> None:
        """Hide it if it says this, which is no longer so."""
        if self._text.text() == text:
            self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay within the parent."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        parent = self.parentWidget()
        if parent is None:
            return
        width = min(self.sizeHint().width(), parent.width() - 2 * metrics.SPACE_5)
        self.resize(width, self.sizeHint().height())
        self.move(free_place(self.size(), parent, self))

    @Slot()
    def _move_off(self) -> None:
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            self._look.stop()
        elif any(self.geometry().intersects(rect) for rect in used_places(parent, self)):
            self._place()

    @Slot()
    def _act(self) -> None:
        self.hide()
        if self._undo is not None:
            self._undo()

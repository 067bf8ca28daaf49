"""A short notice above the bottom of the window that hides by itself, and may offer what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QWidget
from shiboken6 import isValid

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import hbox

SHOWN_MS = 5000
BELOW = 48
"""Pixels below it, so that the bar at the bottom of a list stays free."""


ACTIONS_MAX = 2


class ToastAction(NamedTuple):
    """What a button says and does."""

    text: str
    run: Callable[[], object]


class Toast(QFrame):
    """One notice at a time over `parent`; a later one replaces it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._actions: Sequence[ToastAction] = ()
        self.setProperty("part", "toast")
        self._text = ElidedLabel("", "", self)
        self.buttons = [Button("", theme, self, kind="link") for _ in range(ACTIONS_MAX)]
        for number, button in enumerate(self.buttons):
            button.hide()
            button.clicked.connect(partial(self._act, number))
        hbox(
            (self._text, 1),
            *self.buttons,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(24)
        shadow.setOffset(0, 4)
        shadow.setColor(QColor(0, 0, 0, 70))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        parent.installEventFilter(self)
        self.hide()

    def say(self, text: str, *actions: ToastAction) -> None:
        """Show `text` for a while, with a button for each action, unless the window was closed meanwhile."""
        if not isValid(self):
            return
        self._text.setText(text)
        self._actions = actions
        for button, action in zip_longest(self.buttons, actions):
            button.setText(action.text if action is not None else "")
            button.setVisible(action is not None)
        # Without a button clicks go to what lies below.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not actions)
        self._place()
        self.show()
        self.raise_()
        self._timer.start()

    def take_back(self, text: str) -> None:
        """Hide it if it still shows `text`, which is no longer true."""
        if self._text.text() == text:
            self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay within the parent."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        """Bottom centre."""
        parent = self.parentWidget()
        if parent is not None:
            width = min(self.sizeHint().width(), parent.width() - 2 * metrics.SPACE_5)
            self.resize(width, self.sizeHint().height())
            self.move((parent.width() - width) // 2, max(0, parent.height() - self.height() - BELOW))

    def _act(self, number: int) -> None:
        self.hide()
        self._actions[number].run()

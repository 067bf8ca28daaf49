"""Entries in the context menu of a view, with keys that work while the view has the focus."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


def add_view_action(
    view: QWidget, text: str, slot: Callable[..., None], key: QKeySequence | QKeySequence.StandardKey | str = ""
) -> QAction:
    action = QAction(text, view)
    if key:
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    action.triggered.connect(slot)
    view.addAction(action)
    return action

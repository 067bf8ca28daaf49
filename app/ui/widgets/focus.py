"""Focus rings are for those who use the keyboard."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent

_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


def by_keyboard(event: QFocusEvent) -> bool:
    """Whether the focus came by a key, not by a click or with the window."""
    return event.reason() in _KEYS

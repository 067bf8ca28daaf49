"""Puts the keyboard into a page. Focus rings are shown only after the keyboard was used."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget

_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


def by_keyboard(event: QFocusEvent) -> bool:
    """Whether the focus was given by a key, not by a click or with the window."""
    return event.reason() in _KEYS


def focus_first(page: QWidget) -> None:
    """Put the keyboard into the first control of a page that takes it now, or into the page itself."""
    tab = Qt.FocusPolicy.TabFocus
    inside = (one for one in page.findChildren(QWidget) if one.focusPolicy() & tab and one.isVisibleTo(page))
    next((one for one in inside if one.isEnabled()), page).setFocus()

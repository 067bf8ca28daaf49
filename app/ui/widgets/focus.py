"""Keyboard focus: where it starts, in which order Tab moves it, and when its ring is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QLayout, QSplitter, QWidget

_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


def by_keyboard(event: QFocusEvent) -> bool:
    """Whether the focus was given by a key, not by a click or with the window."""
    return event.reason() in _KEYS


def focus_first(page: QWidget) -> None:
    """Put the keyboard into the first control of a page that takes it now, or into the page itself."""
    tab = Qt.FocusPolicy.TabFocus
    inside = (one for one in page.findChildren(QWidget) if one.focusPolicy() & tab and one.isVisibleTo(page))
    next((one for one in inside if one.isEnabled()), page).setFocus()


def order_tabs(root: QWidget) -> None:
    """Set the Tab order of the widgets in `root`; call it again after inserting a widget."""
    stops = [widget for widget in _read(root) if widget.focusPolicy() != Qt.FocusPolicy.NoFocus]
    for before, after in pairwise(stops):
        QWidget.setTabOrder(before, after)


def _read(widget: QWidget) -> Iterator[QWidget]:
    """A widget and all its descendants."""
    yield widget
    if isinstance(widget, QSplitter):
        inside = [part for place in range(widget.count()) if (part := widget.widget(place)) is not None]
    else:
        layout = widget.layout()
        inside = list(_laid_out(layout)) if layout is not None else []
    met = set(inside)
    children = widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    others = (child for child in children if child not in met)
    for child in (*inside, *others):
        if not child.isWindow():
            yield from _read(child)


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        widget, below = (item.widget(), item.layout()) if item is not None else (None, None)
        if widget is not None:
            yield widget
        elif below is not None:
            yield from _laid_out(below)

"""Keyboard focus: where it starts, in which order Tab moves it, when its ring is shown, and Enter on what has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLayout, QSplitter, QWidget

_KEYS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


def by_keyboard(event: QFocusEvent) -> bool:
    """Whether the focus was given by a key, not by a click or with the window."""
    return event.reason() in _KEYS


def is_enter(event: QKeyEvent) -> bool:
    """Whether it is Enter alone, of the letters or of the keypad."""
    alone = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return alone and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)


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
    children = widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    if isinstance(widget, QSplitter):
        inside = [part for place in range(widget.count()) if (part := widget.widget(place)) is not None]
    else:
        layout = widget.layout()
        inside = list(_laid_out(layout, children)) if layout is not None else []
    met = set(inside)
    others = (child for child in children if child not in met)
    for child in (*inside, *others):
        if not child.isWindow():
            yield from _read(child)


def _laid_out(layout: QLayout, children: Sequence[QWidget]) -> Iterator[QWidget]:
    """Those of `children` that are in `layout` or in a layout inside it, in its order.

    `itemAt` would be simpler, but PySide keeps its wrapper of an item after Qt has deleted the item, and takes it for
    whatever is made at the same address later, such as a `QWindow`.
    """
    placed: list[tuple[int, QWidget | QLayout]] = [(layout.indexOf(child), child) for child in children]
    placed += [(layout.indexOf(inner), inner) for inner in layout.children() if isinstance(inner, QLayout)]
    for place, part in sorted(placed, key=itemgetter(0)):
        if isinstance(part, QLayout):
            yield from _laid_out(part, children)
        elif place >= 0:
            yield part

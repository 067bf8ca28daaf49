"""Keyboard focus: where it starts, in which order Tab moves it, when its ring is shown, and Enter on what has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from operator import itemgetter

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QLayout, QScrollArea, QSplitter, QWidget

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


def takes_keys(widget: QWidget) -> bool:
    """Whether it, or its focus proxy, is visible and made to have the focus."""
    place = widget.focusProxy() or widget
    return place.isVisible() and place.focusPolicy() != Qt.FocusPolicy.NoFocus


def bring_into_view(widget: QWidget | None) -> None:
    """Scroll what it is in until it can be seen. Qt does that only for a Tab inside a scroll area, not into one."""
    around = widget.parentWidget() if widget is not None else None
    while widget is not None and around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()


@contextmanager
def current_in_view(view: QAbstractItemView, event: QResizeEvent) -> Iterator[None]:
    """While `view` is resized: what is current in it is in view afterwards if it was before."""
    seen = view.visualRect(view.currentIndex()).intersects(QRect(QPoint(), event.oldSize()))
    yield
    if seen:
        view.scrollTo(view.currentIndex())


def order_tabs(root: QWidget) -> None:
    """Set the Tab order of the widgets in `root`; call it again after inserting a widget."""
    inside: dict[QWidget, list[QWidget]] = {root: []}
    for widget in root.findChildren(QWidget):
        if _is_stop(widget):
            _add_with_parents(widget, inside)
    stops = [widget for widget in _read(root, inside) if _is_stop(widget)]
    for before, after in pairwise(stops):
        QWidget.setTabOrder(before, after)


def _is_stop(widget: QWidget) -> bool:
    """Whether Tab stops there. For Qt that is also what has its focus proxy inside: left where it was made, at the end,
    it would lead back to its proxy from there.
    """
    if widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
        return True
    proxy = widget.focusProxy()
    return proxy is not None and widget.isAncestorOf(proxy)


def _add_with_parents(widget: QWidget, inside: dict[QWidget, list[QWidget]]) -> None:
    """Add `widget` to those `inside` its parent, that to those inside its own, and so on; nothing of another window."""
    path = [widget]
    while path[-1] not in inside:
        parent = path[-1].parentWidget()
        if parent is None or path[-1].isWindow():
            return
        path.append(parent)
    for outer, inner in pairwise(reversed(path)):
        inside[outer].append(inner)
        inside[inner] = []


def _read(widget: QWidget, inside: Mapping[QWidget, Sequence[QWidget]]) -> Iterator[QWidget]:
    """A widget and all that are `inside` it, in their order on the screen."""
    yield widget
    children = inside[widget]
    if len(children) > 1:  # Few widgets have more, and to ask each for its layout would take most of the time.
        children = _placed(widget, children)
    for child in children:
        yield from _read(child, inside)


def _placed(widget: QWidget, children: Sequence[QWidget]) -> Sequence[QWidget]:
    """Those of `children` that `widget` lays out, in its order, then the others."""
    if isinstance(widget, QSplitter):
        return sorted(children, key=lambda child: widget.indexOf(child) % (widget.count() + 1))
    layout = widget.layout()
    inside = list(_laid_out(layout, children)) if layout is not None else []
    met = set(inside)
    return [*inside, *(child for child in children if child not in met)]


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

"""Where something may lie over a window without covering what is used: controls, bars, what is chosen or typed into."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFrame,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QTextEdit,
    QWidget,
)

from app.ui.theme import metrics

_CONTROLS = (QAbstractButton, QLineEdit, QAbstractSpinBox, QComboBox, QTabBar, QSlider)
_BARS = frozenset({"footer", "bar", "selection", "popup", "toast"})
"""Frames by their `part`, for they are read as a whole."""
_STEP = 4
_AROUND = 2
"""Pixels between a control and what lies beside it."""

Box = tuple[int, int, int, int]
"""Left, top, right, bottom; the last two are the first pixels beyond."""


def free_place(size: QSize, parent: QWidget, without: QWidget) -> QPoint:
    """Where `without`, of this size, lies over nothing that is used: as low as can be, in the middle if it can be.

    Where there is no such place, at the foot.
    """
    used = [_box(rect) for rect in used_places(parent, without)]
    edge, width, height = metrics.SPACE_5, size.width(), size.height()
    lowest = parent.height() - height - edge
    middle, right = (parent.width() - width) // 2, parent.width() - width - edge
    lefts = sorted({middle, edge, right, (middle + edge) // 2, (middle + right) // 2}, key=lambda x: abs(x - middle))
    for top in range(lowest, 0, -_STEP):
        row = [box for box in used if box[1] < top + height + _AROUND and box[3] > top - _AROUND]
        for left in lefts:
            if not any(box[0] < left + width + _AROUND and box[2] > left - _AROUND for box in row):
                return QPoint(left, top)
    return QPoint(middle, lowest)


def used_places(parent: QWidget, without: QWidget) -> Iterator[QRect]:
    """What is seen of all that is used in `parent`, in its coordinates. What lies over it does not count."""
    return _used(parent, QPoint(0, 0), parent.rect(), without)


def _used(holder: QWidget, origin: QPoint, clip: QRect, without: QWidget) -> Iterator[QRect]:
    """`holder` begins at `origin` and is seen within `clip`; of what is scrolled out of sight nothing is looked at."""
    for child in holder.children():
        if not isinstance(child, QWidget) or child is without or child.isHidden() or child.isWindow():
            continue
        seen = child.geometry().translated(origin).intersected(clip)
        if seen.isEmpty():
            continue
        begin = origin + child.pos()
        rect = _used_of(child)
        if rect is not None and not rect.isEmpty():
            yield rect.translated(begin).intersected(seen)
        yield from _used(child, begin, seen, without)


def _used_of(widget: QWidget) -> QRect | None:
    """What of a widget is used, in its own coordinates."""
    if isinstance(widget, _CONTROLS) or (isinstance(widget, QFrame) and widget.property("part") in _BARS):
        return widget.rect()
    if isinstance(widget, QAbstractItemView) and widget.currentIndex().isValid():
        view = widget.viewport()
        row = widget.visualRect(widget.currentIndex()).intersected(view.rect())
        return QRect(0, row.top(), view.width(), row.height()).translated(view.pos()) if row.isValid() else None
    if widget is not QApplication.focusWidget():
        return None
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        return widget.cursorRect().translated(widget.viewport().pos())
    return None if isinstance(widget, QAbstractScrollArea) else widget.rect()


def _box(rect: QRect) -> Box:
    return rect.left(), rect.top(), rect.left() + rect.width(), rect.top() + rect.height()

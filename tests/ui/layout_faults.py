"""What a user would see wrong in a window: cut text, parts over each other, a sideways scroll bar, controls without a
name of their own, text that is too faint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QColor, QImage, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QTableView,
    QWidget,
)

from app.ui.theme.tokens import contrast
from app.ui.widgets.labels import ElidedLabel

CONTRAST_MIN, CONTRAST_MIN_LARGE, LARGE = 4.5, 3.0, 24
"""WCAG 2.2, 1.4.3; pixels from which text is large."""


def layout_faults(window: QWidget) -> set[str]:
    """Each in words; none if all is well."""
    shown = [one for one in window.findChildren(QWidget) if _is_seen(one, window)]
    found = {*_cut(shown), *_cut_numbers(shown)}
    return found | {*_overlaps(shown), *_sideways(shown), *_names(shown), *_faint(shown, window.grab().toImage())}


def _is_seen(widget: QWidget, window: QWidget) -> bool:
    """Not scrolled out of view; it may be covered."""
    if widget.window() is not window or not widget.isVisible():
        return False
    place, around = widget.rect(), widget
    while around is not window and not place.isEmpty():
        place.translate(around.pos())
        around = around.parentWidget()
        place = place.intersected(around.rect())
    return not place.isEmpty()


def _described(widget: QWidget) -> str:
    texts = (widget.accessibleName(), getattr(widget, "text", str)() if not isinstance(widget, QLineEdit) else "")
    return f"{type(widget).__name__} {next(filter(None, texts), '')[:60]!r}"


def _cut(shown: list[QWidget]) -> Iterator[str]:
    """An `ElidedLabel` may be cut, but leaves something to read; a wrapped label has the height for its lines."""
    for one in shown:
        if isinstance(one, ElidedLabel):
            if one.text() and one.text_rect().width() < 12:
                yield f"nothing left of {_described(one)}"
        elif isinstance(one, QLabel) and one.text() and one.textFormat() != Qt.TextFormat.RichText:
            room = one.contentsRect()
            if one.wordWrap():
                if one.heightForWidth(one.width()) > one.height() + 1:
                    yield f"lines cut: {_described(one)}: {one.height()} of {one.heightForWidth(one.width())} pixels"
            elif one.fontMetrics().size(0, one.text()).width() > room.width() + 1:
                yield f"cut: {_described(one)}"
        elif isinstance(one, QPushButton) and one.text() and one.width() < one.minimumSizeHint().width():
            yield f"cut: {_described(one)}: {one.width()} of {one.minimumSizeHint().width()} pixels"
        elif isinstance(one, QAbstractSpinBox) and one.width() < one.minimumSizeHint().width():
            yield f"cut: {_described(one)}"


def _cut_numbers(shown: list[QWidget]) -> Iterator[str]:
    """In tables: half a number is a wrong number."""
    for one in shown:
        if not isinstance(one, QTableView) or not one.model().rowCount():
            continue
        for column in range(one.model().columnCount()):
            alignment = one.model().index(0, column).data(Qt.ItemDataRole.TextAlignmentRole)
            is_number = alignment is not None and bool(Qt.AlignmentFlag(alignment) & Qt.AlignmentFlag.AlignRight)
            needed = one.sizeHintForColumn(column)
            if is_number and not one.isColumnHidden(column) and one.columnWidth(column) < needed:
                yield f"cut: column {column} of {_described(one)}: {one.columnWidth(column)} of {needed} pixels"


def _overlaps(shown: list[QWidget]) -> Iterator[str]:
    """Of what one layout holds."""
    for parent in {one.parentWidget() for one in shown}:
        if parent is None or isinstance(parent, QStackedWidget | QAbstractItemView):
            continue
        children = [one for one in shown if one.parentWidget() is parent and parent.layout() is not None]
        laid_out = [one for one in children if _in_layout(parent.layout(), one)]
        for one, other in combinations(laid_out, 2):
            common = one.geometry().intersected(other.geometry())
            if not common.isEmpty():
                yield f"{_described(one)} and {_described(other)} overlap by {common.width()} x {common.height()}"


def _in_layout(layout: object, widget: QWidget) -> bool:
    inside = list(layout.children())  # type: ignore[attr-defined]
    return layout.indexOf(widget) >= 0 or any(_in_layout(one, widget) for one in inside)  # type: ignore[attr-defined]


def _sideways(shown: list[QWidget]) -> Iterator[str]:
    for one in shown:
        if isinstance(one, QScrollArea) and one.horizontalScrollBar().isVisible():
            yield f"scrolls sideways: {_described(one)}"


def _names(shown: list[QWidget]) -> Iterator[str]:
    """A table's cells and a field's own buttons have theirs from Qt."""
    names: Counter[tuple[str, str]] = Counter()
    for one in shown:
        focusable = bool(one.focusPolicy() & Qt.FocusPolicy.TabFocus) and one.isEnabled()
        if not focusable or isinstance(one.parentWidget(), QAbstractSpinBox) or one.focusProxy() is not None:
            continue
        interface = QAccessible.queryAccessibleInterface(one)
        name = interface.text(QAccessible.Text.Name) if interface is not None else ""
        if not name.strip():
            yield f"no name: {type(one).__name__} in {type(one.parentWidget()).__name__}"
        else:
            names[type(one).__name__, name] += 1
    for (kind, name), count in names.items():
        if count > 1:
            yield f"{count} of the name {name!r}: {kind}"


def _faint(shown: list[QWidget], picture: QImage) -> Iterator[str]:
    """Labels against the colour that is painted most around their text."""
    for one in shown:
        if not isinstance(one, QLabel) or not one.text() or not one.isEnabled():
            continue
        corner = one.mapTo(one.window(), QPoint(0, 0))
        places = (corner + QPoint(x, y) for x in range(0, one.width(), 11) for y in range(0, one.height(), 4))
        pixels = Counter(picture.pixel(place) for place in places if picture.valid(place))
        if pixels:
            ground = QColor(pixels.most_common(1)[0][0]).name()
            ratio = contrast(one.palette().color(QPalette.ColorRole.WindowText).name(), ground)
            if ratio < (CONTRAST_MIN_LARGE if one.fontInfo().pixelSize() >= LARGE else CONTRAST_MIN):
                yield f"faint: {_described(one)}: {ratio:.2f}"

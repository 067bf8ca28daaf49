"""Boxes of widgets, beside, below or behind each other, written as what is in them, and parts that are beside each
other where there is room: how wide they are depends on the fonts of the system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QStackedLayout, QVBoxLayout, QWidget

_Box = TypeVar("_Box", bound=QBoxLayout)


@dataclass(frozen=True)
class Stretch:
    """Takes the space that is left."""

    factor: int = 1


@dataclass(frozen=True)
class Space:
    """So many pixels between two parts, besides the box's spacing."""

    pixels: int


Part = QWidget | QLayout | Stretch | Space | tuple[QWidget | QLayout, int] | tuple[QWidget, int, Qt.AlignmentFlag]
"""A widget or layout may have its stretch with it, and a widget its alignment, as `addWidget` has them."""
Margins = int | tuple[int, int, int, int]
"""All four, or left, top, right and bottom."""


def hbox(*parts: Part, inside: QWidget | None = None, spacing: int | None = None, margins: Margins = 0) -> QHBoxLayout:
    """The layout of `inside`, or for another layout. In pixels; a spacing of None is the style's."""
    return _filled(QHBoxLayout() if inside is None else QHBoxLayout(inside), parts, spacing, margins)


def vbox(*parts: Part, inside: QWidget | None = None, spacing: int | None = None, margins: Margins = 0) -> QVBoxLayout:
    return _filled(QVBoxLayout() if inside is None else QVBoxLayout(inside), parts, spacing, margins)


def stack(*pages: QWidget, inside: QWidget | None = None) -> QStackedLayout:
    """Shows one of them, the first to begin with."""
    layout = QStackedLayout() if inside is None else QStackedLayout(inside)
    for page in pages:
        layout.addWidget(page)
    return layout


def _filled(box: _Box, parts: Iterable[Part], spacing: int | None, margins: Margins) -> _Box:
    box.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    if spacing is not None:
        box.setSpacing(spacing)
    fill(box, *parts)
    return box


def keep_room(widget: QWidget, on: bool = True) -> None:
    """Leave the room of `widget` empty while it is hidden, so that nothing else moves."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(on)
    widget.setSizePolicy(policy)


def fill(box: QBoxLayout, *parts: Part) -> None:
    """Add these to a box that is there."""
    for part in parts:
        if isinstance(part, Stretch):
            box.addStretch(part.factor)
        elif isinstance(part, Space):
            box.addSpacing(part.pixels)
        else:
            item, how = (part[0], part[1:]) if isinstance(part, tuple) else (part, ())
            if isinstance(item, QLayout):
                box.addLayout(item, *how)
            else:
                box.addWidget(item, *how)


class SideBySide(QWidget):
    """Two parts side by side; one above the other while there is too little room for that."""

    def __init__(self, spacing: int, parent: QWidget | None, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        super().__init__(parent)
        self._parts: list[QLayout] = []
        self._one_line: bool | None = None
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(*margins)
        self._row.setSpacing(spacing)

    def add_parts(self, first: tuple[QLayout, int], second: tuple[QLayout, int]) -> None:
        """Each with its share of the line."""
        for part, stretch in (first, second):
            self._row.addLayout(part, stretch)
            self._parts.append(part)

    def minimumSizeHint(self) -> QSize:
        """As wide as the wider part: side by side, they would keep the page from becoming narrower."""
        return QSize(max(self._widths()) + self._beside(), super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        """Both a new width and new contents."""
        handled = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            one_line = sum(self._widths()) + self._row.spacing() + self._beside() <= self.width()
            if one_line is not self._one_line:  # arranging what is arranged would ask for a layout again, without end
                self._one_line = one_line
                self.fit(one_line)
        return handled

    def fit(self, one_line: bool) -> None:
        """Arrange the parts."""
        self._row.setDirection(QBoxLayout.Direction.LeftToRight if one_line else QBoxLayout.Direction.TopToBottom)

    def _widths(self) -> list[int]:
        return [part.minimumSize().width() for part in self._parts]

    def _beside(self) -> int:
        margins = self._row.contentsMargins()
        return margins.left() + margins.right()

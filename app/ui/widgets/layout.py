"""Boxes of widgets, beside or below each other, written as what is in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

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


def hbox(
    *parts: Part, inside: QWidget | None = None, spacing: int | None = None, margins: Margins | None = None
) -> QHBoxLayout:
    """The layout of `inside`, or for another layout. Spacing and margins are in pixels; None is the style's."""
    return _filled(QHBoxLayout() if inside is None else QHBoxLayout(inside), parts, spacing, margins)


def vbox(
    *parts: Part, inside: QWidget | None = None, spacing: int | None = None, margins: Margins | None = None
) -> QVBoxLayout:
    return _filled(QVBoxLayout() if inside is None else QVBoxLayout(inside), parts, spacing, margins)


def _filled(box: _Box, parts: Iterable[Part], spacing: int | None, margins: Margins | None) -> _Box:
    if margins is not None:
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

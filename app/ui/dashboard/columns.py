"""The column positions of the dashboard, shared by its rows and their header."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect

from app.ui.theme import metrics

_EDGE = metrics.SPACE_4
_SWITCH, _MENU, _GAP = 48, 28, metrics.SPACE_5
_WIDE = {"mirror": 168, "retention": 72, "requests": 128, "activity": 120}
_NARROW = {"mirror": 120, "retention": 60, "requests": 104, "activity": 0}
_ROOMY = {**_WIDE, "mirror": 320}
_NARROW_BELOW, _ROOMY_FROM = 860, 1240


@dataclass(frozen=True)
class Columns:
    """One rectangle per column, as high as the row."""

    switch: QRect
    name: QRect
    mirror: QRect
    retention: QRect
    requests: QRect
    activity: QRect
    menu: QRect

    @classmethod
    def of(cls, width: int, height: int) -> Columns:
        """The columns of a row of this width; the name column takes the remaining space."""
        widths = _NARROW if width < _NARROW_BELOW else _ROOMY if width >= _ROOMY_FROM else _WIDE
        right = width - _EDGE - _MENU + 6
        menu = QRect(right, 0, _MENU, height)
        placed: dict[str, QRect] = {}
        for name in ("activity", "requests", "retention", "mirror"):
            right -= (_GAP if name != "activity" else metrics.SPACE_4) + widths[name]
            placed[name] = QRect(right, 0, widths[name], height)
        left = _EDGE + _SWITCH
        return cls(
            switch=QRect(_EDGE - 3, 0, _SWITCH, height),
            name=QRect(left, 0, max(0, right - _GAP - left), height),
            menu=menu,
            **placed,
        )

"""Two parts in one line, or in two lines: how wide they are depends on the fonts of the system."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget


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

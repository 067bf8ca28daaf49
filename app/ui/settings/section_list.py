"""The list of the settings' sections: each with an icon, and marked while something in it is not saved or wrong."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.rows import Index

DOT_RADIUS = 3
_UNSAVED = Qt.ItemDataRole.UserRole
_DESCRIPTIONS = {
    (False, False): "",
    (True, False): "Has unsaved changes",
    (False, True): "Has an error",
    (True, True): "Has unsaved changes and an error",
}


class SectionList(QListWidget):
    """`icons` has each section's icon by its title."""

    def __init__(self, icons: Mapping[str, str], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._icons = theme, icons
        self.setAccessibleName("Sections")
        self.setIconSize(QSize(metrics.ICON, metrics.ICON))
        self.setItemDelegate(_MarkedRows(theme, self))
        for title in icons:
            QListWidgetItem(title, self).setSizeHint(QSize(0, metrics.ROW))

    def mark(self, row: int, *, unsaved: bool, wrong: bool) -> None:
        """Show whether the section has unsaved changes or an error, also to screen readers."""
        item, description = self.item(row), _DESCRIPTIONS[unsaved, wrong]
        item.setIcon(self._theme.icon("warning", "danger") if wrong else self._theme.icon(self._icons[item.text()]))
        item.setData(_UNSAVED, unsaved)
        item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, description)
        item.setToolTip(plain_tooltip(description))


class _MarkedRows(QStyledItemDelegate):
    """A dot at the end of a row whose changes are not saved."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if index.data(_UNSAVED):
            place = option.rect
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.tokens.accent))
            middle = QPointF(place.right() - metrics.SPACE_3 - DOT_RADIUS, place.center().y() + 0.5)
            painter.drawEllipse(middle, DOT_RADIUS, DOT_RADIUS)
            painter.restore()

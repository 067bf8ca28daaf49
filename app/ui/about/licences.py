"""The software included in Hookline: a searchable list, and the licence of the selected component beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSize, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QPlainTextEdit, QVBoxLayout, QWidget

from app.core.about import Component
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.accessible import name_clear_button
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.labels import ElidedLabel, label

if TYPE_CHECKING:
    from app.system.about import About

WIDTH, HEIGHT, LIST_WIDTH = 920, 640, 248
COMPONENT = Qt.ItemDataRole.UserRole


class LicencesDialog(Dialog):
    """The list is filled once the licences are read."""

    def __init__(self, about: About, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__("Licences", theme, parent)
        self._about = about
        self.list = QListWidget(self)
        self.search = _Search(self.list, self)
        self.search.setPlaceholderText("Search names and licences")
        self.search.setAccessibleName("Search names and licences")
        self.search.setClearButtonEnabled(True)
        name_clear_button(self.search)
        self.list.setAccessibleName("Included software")
        self.list.setUniformItemSizes(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.no_matches = label("No matches.", "faint", self)
        self.no_matches.hide()
        self.name = ElidedLabel("Reading…", "heading", self)
        self.licence = ElidedLabel("", "small", self)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setFont(mono_font())
        self.text.setAccessibleName("Licence text")
        self.text.setProperty("frameless", True)
        self.text.setTabChangesFocus(True)
        self.close_button = Button("Close", theme, self)
        self.close_button.setAutoDefault(False)  # Enter after a search must not close the dialog.
        self._lay_out()
        self._connect()
        self.search.setFocus()
        self.resize(self.sizeHint())
        tasks.start(self._fill(), "read the licences", self)

    def sizeHint(self) -> QSize:
        return bounded(self, QSize(WIDTH, HEIGHT))

    def is_idle(self) -> bool:
        """Always: it only shows information."""
        return True

    async def _fill(self) -> None:
        self.show_components(await self._about.licences())

    def show_components(self, components: Sequence[Component]) -> None:
        """List the components and select the first one."""
        self.list.clear()
        for component in components:
            item = QListWidgetItem(f"{component.name} {component.version}".strip())
            item.setData(COMPONENT, component)
            item.setSizeHint(QSize(0, metrics.ROW_DENSE + 2))
            self.list.addItem(item)
        self._filter(self.search.text())

    def _connect(self) -> None:
        self.search.textChanged.connect(self._filter)
        self.list.currentItemChanged.connect(self._show)
        self.close_button.clicked.connect(self.reject)
        find = QAction("Search", self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.triggered.connect(self.search.setFocus)
        self.addAction(find)

    @Slot(str)
    def _filter(self, matching: str) -> None:
        """Hide components whose name and licence do not match, and keep one of the visible ones selected."""
        first = -1
        for row in range(self.list.count()):
            item = self.list.item(row)
            component: Component = item.data(COMPONENT)
            hit = matching.strip().lower() in f"{component.name} {component.version} {component.licence}".lower()
            item.setHidden(not hit)
            if hit and first < 0:
                first = row
        current = self.list.currentItem()
        if current is None or current.isHidden():
            self.list.setCurrentRow(first)
        self.no_matches.setVisible(first < 0 < self.list.count())

    @Slot(object, object)
    def _show(self, item: QListWidgetItem | None, _: object = None) -> None:
        component: Component | None = item.data(COMPONENT) if item is not None else None
        self.name.setText(f"{component.name} {component.version}".strip() if component else "")
        self.licence.setText(component.licence if component else "")
        self.text.setPlainText(component.text or "The text of this licence is not included." if component else "")

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_3, 0)
        left.setSpacing(metrics.SPACE_3)
        left.addWidget(self.search)
        left.addWidget(self.no_matches)
        left.addWidget(self.list, 1)
        QWidget.setTabOrder(self.search, self.list)
        self.search.setFixedWidth(LIST_WIDTH)
        self.list.setFixedWidth(LIST_WIDTH)
        header = QVBoxLayout()
        header.setContentsMargins(metrics.SPACE_2, 0, 0, 0)
        header.setSpacing(2)
        header.addWidget(self.name)
        header.addWidget(self.licence)
        right = QVBoxLayout()
        right.setContentsMargins(metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_3, 0)
        right.setSpacing(metrics.SPACE_2)
        right.addLayout(header)
        right.addWidget(self.text, 1)
        self.fill_columns(left, right)
        self.footer.addStretch(1)
        self.footer.addWidget(self.close_button)


class _Search(QLineEdit):
    """A search field that passes the up and down keys to its list."""

    def __init__(self, rows: QListWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            QCoreApplication.sendEvent(self._rows, event)
        else:
            super().keyPressEvent(event)

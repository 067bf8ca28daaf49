"""The software included in Hookline: a searchable list, and the licence of the selected component beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSize, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

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
from app.ui.widgets.rows import Column, Rows
from app.ui.widgets.rows_list import RowsList

if TYPE_CHECKING:
    from app.system.about import About

WIDTH, HEIGHT, LIST_WIDTH = 920, 640, 248


class LicencesDialog(Dialog):
    """The list is filled once the licences are read."""

    def __init__(self, about: About, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__("Licences", theme, parent)
        self._about = about
        self._components: Sequence[Component] = ()
        self.rows = Rows[Component]([Column("", _name)], self)
        self.list = RowsList("Included software", self.rows, metrics.ROW_DENSE + 2, theme, self, rounded=True)
        self.search = _Search(self.list, self)
        self.search.setPlaceholderText("Search names and licences")
        self.search.setAccessibleName("Search names and licences")
        self.search.setClearButtonEnabled(True)
        name_clear_button(self.search)
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
        self._components = components
        self._filter(self.search.text())

    def _connect(self) -> None:
        self.search.textChanged.connect(self._filter)
        self.list.selectionModel().currentChanged.connect(self._show)
        self.close_button.clicked.connect(self.reject)
        find = QAction("Search", self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.triggered.connect(self.search.setFocus)
        self.addAction(find)

    @Slot(str)
    def _filter(self, matching: str) -> None:
        """List those whose name or licence matches; one of them is selected, the same if it is still there."""
        words = matching.strip().lower()
        found = [one for one in self._components if words in f"{_name(one)} {one.licence}".lower()]
        shown = self.list.current_record()
        self.rows.show_records(found, id)
        if found and shown not in found:
            self.list.select_row(0)
        self.no_matches.setVisible(bool(self._components) and not found)

    @Slot()
    def _show(self) -> None:
        component = self.list.current_record()
        self.name.setText(_name(component) if component else "")
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


def _name(component: Component) -> str:
    return f"{component.name} {component.version}".strip()


class _Search(QLineEdit):
    """A search field that passes the up and down keys to its list."""

    def __init__(self, rows: RowsList[Component], parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            QCoreApplication.sendEvent(self._rows, event)
        else:
            super().keyPressEvent(event)

"""The path of a folder, which can be copied or opened in the system's file manager."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.copy_field import CopyField
from app.ui.widgets.labels import label

NOT_OPENED = "No program found to open folders. Copy the path instead."


class FolderField(QWidget):
    """Shows an error below if the system has no program to open the folder."""

    def __init__(self, folder: Path, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._folder = folder
        self.path = CopyField(str(folder), theme, self, what="path")
        self.path.setAccessibleName("Data folder")
        self.open_button = Button("Open", theme, self, icon="folder")
        self.open_button.setAccessibleName("Open data folder")
        self.open_button.clicked.connect(self.open)
        self.problem = label("", "error", self)
        self.problem.hide()
        row = QHBoxLayout()
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.path, 1)
        row.addWidget(self.open_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_1)
        column.addLayout(row)
        column.addWidget(self.problem)

    @Slot()
    def open(self) -> None:
        """Open the folder in the file manager."""
        opened = QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
        self.problem.setText("" if opened else NOT_OPENED)
        self.problem.setVisible(not opened)
        self.open_button.setAccessibleDescription(self.problem.text())

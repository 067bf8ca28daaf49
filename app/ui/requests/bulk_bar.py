"""The bar at the list's foot while several requests are selected: how many, what can be done, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QStackedLayout, QVBoxLayout, QWidget

from app.ui.commands.command import Command
from app.ui.requests.bulk import Bulk
from app.ui.requests.request_commands import RequestCommands
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.action_button import ActionButton
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel

WORDS_FROM = 640
"""Wider than this the buttons have words beside their icons."""


class BulkBar(QFrame):
    """Its buttons are commands `about` what is selected, and the one that ends the selection."""

    def __init__(self, about: RequestCommands, clear: Command, bulk: Bulk, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "selection")
        self._bulk = bulk
        self.text = ElidedLabel("", "strong", self)
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.told = ElidedLabel("", "strong", self)
        self.stop = Button("Stop", theme, self, kind="link")
        self.stop.clicked.connect(bulk.stop)
        commands = (
            (about.mark_read, "Mark read"),
            (about.mark_unread, "Mark unread"),
            (about.star, "Star"),
            (about.delete, "Delete…"),
            (clear, ""),
        )
        self.buttons = [ActionButton(command, theme, self) for command, _ in commands]
        for button, (_, word) in zip(self.buttons, commands, strict=True):
            button.setText(word)
        self._layers = QStackedLayout(self)
        self._layers.addWidget(self._choices())
        self._layers.addWidget(self._work())
        bulk.changed.connect(self._follow)

    def say(self, count: int, *, only_loaded: bool) -> None:
        """So many are selected; `only_loaded` when that is all that is loaded, and there are more."""
        self.text.setText(f"{count:,} selected{' (those loaded)' if only_loaded else ''}")
        tip = "The list holds more than is loaded. Filter it, or scroll on and select again." if only_loaded else ""
        self.text.set_meaning(tip)

    def add_sign(self, sign: QWidget) -> None:
        """Put this before the number of those selected."""
        self._choices_row.insertWidget(0, sign)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words where there is room for them."""
        super().resizeEvent(event)
        wide = self.width() >= WORDS_FROM
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if wide else Qt.ToolButtonStyle.ToolButtonIconOnly
        for button in self.buttons:
            button.setToolButtonStyle(style if button.text() else Qt.ToolButtonStyle.ToolButtonIconOnly)

    def _choices(self) -> QWidget:
        page = QWidget(self)
        self._choices_row = row = QHBoxLayout(page)
        row.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_2, 0)
        row.setSpacing(metrics.SPACE_1)
        row.addWidget(self.text, 1)
        for button in self.buttons:
            button.setIconSize(QSize(metrics.ICON, metrics.ICON))
            row.addWidget(button)
        return page

    def _work(self) -> QWidget:
        page = QWidget(self)
        row = QHBoxLayout(page)
        row.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_2, 0)
        row.setSpacing(metrics.SPACE_3)
        column = QVBoxLayout()
        column.setSpacing(metrics.SPACE_1)
        column.addStretch(1)
        column.addWidget(self.told)
        column.addWidget(self.progress)
        column.addStretch(1)
        row.addLayout(column, 1)
        row.addWidget(self.stop)
        return page

    @Slot()
    def _follow(self) -> None:
        bulk = self._bulk
        self._layers.setCurrentIndex(1 if bulk.busy else 0)
        if bulk.busy:
            self.told.setText(f"{bulk.verb} {bulk.done:,} of {bulk.total:,}…")
            self.progress.setRange(0, bulk.total)
            self.progress.setValue(bulk.done)

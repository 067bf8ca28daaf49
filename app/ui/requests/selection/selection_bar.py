"""The bar at the list's foot while several requests are selected: how many, what can be done, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QStackedLayout, QVBoxLayout, QWidget

from app.ui.commands.command import Command
from app.ui.requests.page.list_commands import EVERYTHING_KEY
from app.ui.requests.page.request_commands import RequestCommands
from app.ui.requests.selection.batch_job import BatchJob
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.action_button import ActionButton
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel, plain_tooltip

OFFERED = "Also those that are not loaded, as they are stored now"
WORDS_FROM = 640
"""Wider than this the buttons have words beside their icons."""


class BulkBar(QFrame):
    """Its buttons are commands `about` what is selected, and the one that ends the selection."""

    def __init__(self, about: RequestCommands, clear: Command, bulk: BatchJob, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "selection")
        self._bulk = bulk
        self.text = ElidedLabel("", "strong", self)
        self.everything = Button("", theme, self, kind="link")
        self.everything.hide()
        self._offer = ""
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

    def say(self, text: str, *, offer: str = "") -> None:
        """How many are selected; `offer` where the list has more than that is loaded: the words to select all by."""
        if (text, offer) == (self.text.text(), self._offer):
            return
        self.text.setText(text)
        self._offer = offer
        self.everything.setAccessibleName(offer)
        self.everything.setToolTip(plain_tooltip(f"{OFFERED} ({EVERYTHING_KEY})" if offer else ""))
        self.fit()

    def fit(self) -> None:
        """Where room is short, what is offered matters more than what is selected, and fewer words say it."""
        wide = self.width() >= WORDS_FROM
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if wide else Qt.ToolButtonStyle.ToolButtonIconOnly
        for button in self.buttons:
            button.setToolButtonStyle(style if button.text() else Qt.ToolButtonStyle.ToolButtonIconOnly)
        short = self._offer.removeprefix("Select ").capitalize()
        self.everything.setVisible(bool(self._offer))
        for told, offer in ((True, self._offer), (False, self._offer), (False, short)):
            self.text.setVisible(told or not self._offer)
            self.everything.setText(offer)
            self._choices_row.invalidate()
            if not self._offer or self._choices_row.sizeHint().width() <= self.width():
                return

    def add_sign(self, sign: QWidget) -> None:
        """Put this before the number of those selected."""
        self._choices_row.insertWidget(0, sign)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words where there is room for them."""
        super().resizeEvent(event)
        self.fit()

    def _choices(self) -> QWidget:
        page = QWidget(self)
        self._choices_row = row = QHBoxLayout(page)
        row.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_2, 0)
        row.setSpacing(metrics.SPACE_1)
        row.addWidget(self.text)
        row.addWidget(self.everything)
        row.addStretch(1)
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
            far = f"{bulk.done:,} of {bulk.total:,}" if bulk.total else f"{bulk.done:,} so far"
            self.told.setText(f"{bulk.verb} {far}…")
            self.progress.setRange(0, bulk.total)
            self.progress.setValue(bulk.done)

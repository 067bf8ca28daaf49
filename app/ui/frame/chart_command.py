"""The command that shows the activity chart, or folds it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.commands.command import Command
from app.ui.requests.endpoint_page import EndpointPage
from app.ui.theme.theme import Theme


class ChartCommand(Command):
    """`refresh` after the page or its chart changed."""

    def __init__(self, page: EndpointPage, theme: Theme, parent: QObject) -> None:
        super().__init__("Hide activity chart", theme, parent, does=self._toggle, icon="chart")
        self._page = page

    def refresh(self) -> None:
        """Offer what can be done now."""
        self.setEnabled(self._page.isVisible())
        self.setText("Hide activity chart" if self._page.activity.open else "Show activity chart")

    @Slot()
    def _toggle(self) -> None:
        self._page.activity.set_open(not self._page.activity.open)

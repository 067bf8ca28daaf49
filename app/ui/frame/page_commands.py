"""The page's own ways, for palette and cheat sheet. Their keys are the page's: here they are shown, there they work."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.commands.book import command
from app.ui.requests.endpoint_page import EndpointPage


class PageWays(QObject):
    """None of these actions is added to a widget, so none takes a key from the page."""

    def __init__(self, page: EndpointPage, parent: QObject) -> None:
        super().__init__(parent)
        self._page = page
        self._filter = command("Filter", "filter", page.filter.start, self, "/")
        self._chart = command("Hide activity chart", "chart", self._toggle_chart, self)
        self._find = command("Find in body", "search", page.detail.open_find, self, "Ctrl+F")
        self._steps = (
            command("Next match in body", "down", page.filter.next_mark, self, "F3"),
            command("Previous match in body", "up", page.filter.previous_mark, self, "Shift+F3"),
        )
        self.of_request = (self._find, *self._steps)
        self.of_list = (self._filter, self._chart)

    def refresh(self) -> None:
        """Offer what can be done now."""
        seen, page = self._page.isVisible(), self._page
        self._filter.setEnabled(page.filter.bar.isVisible())
        self._chart.setEnabled(seen)
        self._chart.setText("Hide activity chart" if page.activity.open else "Show activity chart")
        opened = seen and page.detail.capture is not None
        self._find.setEnabled(opened)
        for step in self._steps:
            step.setEnabled(opened and (page.filter.active or page.detail.body.find_bar.isVisible()))

    @Slot()
    def _toggle_chart(self) -> None:
        self._page.activity.set_open(not self._page.activity.open)

"""The page's own ways, for palette and cheat sheet. Their keys are the page's: here they are shown, there they work."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.ui.commands.registry import command
from app.ui.request.body.code.code_actions import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL
from app.ui.requests.page.requests_page import EndpointPage


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
        folds = page.detail.body.code.folds
        self._folds = (
            command("Fold in body", "fold", folds.fold_here, self, FOLD),
            command("Unfold in body", "unfold", folds.unfold_here, self, UNFOLD),
            command("Fold all in body", "fold", folds.fold_all, self, FOLD_ALL),
            command("Unfold all in body", "unfold", folds.unfold_all, self, UNFOLD_ALL),
        )
        self.of_request = (self._find, *self._steps, *self._folds)
        self.of_list = (self._filter, self._chart)

    def refresh(self) -> None:
        """Offer what can be done now."""
        seen, page = self._page.isVisible(), self._page
        self._filter.setEnabled(page.filter.bar.isVisible())
        self._chart.setEnabled(seen)
        self._chart.setText("Hide activity chart" if page.activity.open else "Show activity chart")
        opened = seen and page.detail.capture is not None
        self._find.setEnabled(opened)
        body = page.detail.body
        for fold in self._folds:
            fold.setEnabled(opened and body.code.folds.possible and body.code.isVisible())
        for step in self._steps:
            step.setEnabled(opened and (page.filter.active or page.detail.body.find_bar.isVisible()))

    @Slot()
    def _toggle_chart(self) -> None:
        self._page.activity.set_open(not self._page.activity.open)

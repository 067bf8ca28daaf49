"""The commands of the page of requests whose keys the page handles itself: here they are offered and listed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.ui.commands.command import Command, CommandGroup
from app.ui.request.body.code.code_actions import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL
from app.ui.requests.page.requests_page import EndpointPage
from app.ui.theme.theme import Theme


class ViewCommands(QObject):
    """None of them is added to a widget, so none takes a key from the page."""

    def __init__(self, page: EndpointPage, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._page, self._theme = page, theme
        folds, of_list = page.detail.body.code.folds, CommandGroup.LIST
        self._chart = self._command("Hide activity chart", "chart", self._toggle_chart, self._hidden, group=of_list)
        self.all = (
            self._command("Find in body", "search", page.detail.open_find, self._none_open, "Ctrl+F"),
            self._command("Next match in body", "down", page.filter.next_mark, self._no_matches, "F3"),
            self._command("Previous match in body", "up", page.filter.previous_mark, self._no_matches, "Shift+F3"),
            self._command("Fold in body", "fold", folds.fold_here, self._no_folds, FOLD),
            self._command("Unfold in body", "unfold", folds.unfold_here, self._no_folds, UNFOLD),
            self._command("Fold all in body", "fold", folds.fold_all, self._no_folds, FOLD_ALL),
            self._command("Unfold all in body", "unfold", folds.unfold_all, self._no_folds, UNFOLD_ALL),
            self._command("Filter", "filter", page.filter.start, self._no_filter, "/", group=of_list),
            self._chart,
        )

    def refresh(self) -> None:
        """Name and enable each."""
        self._chart.setText("Hide activity chart" if self._page.activity.open else "Show activity chart")
        for command in self.all:
            command.refresh()

    def _command(
        self,
        text: str,
        icon: str,
        run: Callable[[], object],
        unavailable: Callable[[], str | None],
        *keys: str,
        group: CommandGroup = CommandGroup.REQUEST,
    ) -> Command:
        return Command(text, self._theme, self, run=run, icon=icon, keys=keys, group=group, unavailable=unavailable)

    def _hidden(self) -> str | None:
        return None if self._page.isVisible() else "No list of requests is shown."

    def _no_filter(self) -> str | None:
        return None if self._page.filter.bar.isVisible() else "There is nothing to filter."

    def _none_open(self) -> str | None:
        opened = self._page.isVisible() and self._page.detail.capture is not None
        return None if opened else "No request is open."

    def _no_folds(self) -> str | None:
        code = self._page.detail.body.code
        possible = code.folds.possible and code.isVisible()
        return self._none_open() or (None if possible else "Nothing in this body can be folded.")

    def _no_matches(self) -> str | None:
        searching = self._page.filter.active or self._page.detail.body.find_bar.isVisible()
        return self._none_open() or (None if searching else "Filter the list or find in the body first.")

    def _toggle_chart(self) -> None:
        self._page.activity.set_open(not self._page.activity.open)

"""The commands of a page of requests on what it shows: the filter, the activity chart, and the body of a request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import IN_WINDOW, Command, CommandGroup
from app.ui.request.body.code.code_view import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL
from app.ui.request.request_pane import RequestPane
from app.ui.requests.activity.chart import ActivityStrip
from app.ui.requests.filter.filtering import PageFilter
from app.ui.theme.theme import Theme


class ViewCommands(QObject):
    """The keys to find and filter work in the whole window while the page is visible, those to fold only in a body,
    which handles them itself.
    """

    def __init__(
        self,
        theme: Theme,
        say: Callable[[str], object],
        *,
        detail: RequestPane,
        page_filter: PageFilter,
        activity: ActivityStrip,
        page: QWidget,
    ) -> None:
        super().__init__(page)
        self._detail, self._filter, self._activity, self._page = detail, page_filter, activity, page
        folds = detail.body.code.folds
        of_list = partial(Command, theme=theme, parent=self, group=CommandGroup.LIST, context=IN_WINDOW, say=say)
        of_body = partial(Command, theme=theme, parent=self, group=CommandGroup.REQUEST, context=IN_WINDOW, say=say)
        of_folds = partial(of_body, unavailable=self._no_folds)
        of_matches = partial(of_body, unavailable=self._no_matches)
        next_match, previous_match = page_filter.next_mark, page_filter.previous_mark
        with_keys = (
            of_body("Find in body", icon="search", run=detail.open_find, keys=("Ctrl+F",), unavailable=self._none_open),
            of_matches("Next match in body", icon="down", run=next_match, keys=("F3",)),
            of_matches("Previous match in body", icon="up", run=previous_match, keys=("Shift+F3",)),
            of_list("Filter", icon="filter", run=page_filter.start, keys=("/",), unavailable=self._no_filter),
        )
        for command in with_keys:
            command.add_to(page)
        self._chart = of_list("Hide activity chart", icon="chart", run=self._toggle_chart, unavailable=self._hidden)
        self.all = (
            *with_keys,
            of_folds("Fold in body", icon="fold", run=folds.fold_here, keys=(FOLD,)),
            of_folds("Unfold in body", icon="unfold", run=folds.unfold_here, keys=(UNFOLD,)),
            of_folds("Fold all in body", icon="fold", run=folds.fold_all, keys=(FOLD_ALL,)),
            of_folds("Unfold all in body", icon="unfold", run=folds.unfold_all, keys=(UNFOLD_ALL,)),
            self._chart,
        )

    def refresh(self) -> None:
        self._chart.setText("Hide activity chart" if self._activity.open else "Show activity chart")
        for command in self.all:
            command.refresh()

    def _hidden(self) -> str | None:
        return None if self._page.isVisible() else "No list of requests is shown."

    def _no_filter(self) -> str | None:
        return None if self._filter.bar.isVisible() else "There is nothing to filter."

    def _none_open(self) -> str | None:
        opened = self._page.isVisible() and self._detail.capture is not None
        return None if opened else "No request is open."

    def _no_folds(self) -> str | None:
        code = self._detail.body.code
        possible = code.folds.possible and code.isVisible()
        return self._none_open() or (None if possible else "Nothing in this body can be folded.")

    def _no_matches(self) -> str | None:
        # The find bar of a body stays open while another tab is shown.
        searching = self._filter.active or not self._detail.body.find_bar.isHidden()
        return self._none_open() or (None if searching else "Filter the list or find in the body first.")

    def _toggle_chart(self) -> None:
        self._activity.set_open(not self._activity.open)

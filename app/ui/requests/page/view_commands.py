"""Commands on what a page of requests shows: find, filter, fold, hide the chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.ui.commands.command import IN_WINDOW, CommandGroup, Commands
from app.ui.inspector.body.code.fold_keys import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.activity.chart import ActivityStrip
from app.ui.requests.filter.filtering import PageFilter
from app.ui.theme.theme import Theme

if TYPE_CHECKING:
    from app.ui.inspector.body.code.code_folds import CodeFolds


class ViewCommands(Commands):
    """The keys to find and filter work in the whole window while the page is visible, those to fold only in a body,
    which handles them itself.
    """

    group = CommandGroup.REQUEST
    context = IN_WINDOW

    def __init__(
        self,
        theme: Theme,
        say: Callable[[str], object],
        *,
        detail: RequestPane,
        page_filter: PageFilter,
        activity: ActivityStrip,
        show_list: Callable[[], None],
        page: QWidget,
    ) -> None:
        super().__init__(theme, say, page)
        self._detail, self._filter, self._activity, self._page = detail, page_filter, activity, page
        self._show_list = show_list
        find, of_list = detail.open_find, CommandGroup.LIST
        next_match, previous_match = page_filter.next_mark, page_filter.previous_mark
        self.command("Find in body", "search", find, self._none_open, "Ctrl+F")
        self.command("Next match in body", "down", next_match, self._no_matches, "F3")
        self.command("Previous match in body", "up", previous_match, self._no_matches, "Shift+F3")
        self.command(
            "Filter", "filter", self._start_filter, self._no_filter, "/", group=of_list, synonyms="search find"
        )
        for command in self.commands:
            command.add_to(page)
        self.command("Fold in body", "fold", self._fold_here, self._no_folds, FOLD)
        self.command("Unfold in body", "unfold", self._unfold_here, self._no_folds, UNFOLD)
        self.command("Fold all in body", "fold", self._fold_all, self._no_folds, FOLD_ALL)
        self.command("Unfold all in body", "unfold", self._unfold_all, self._no_folds, UNFOLD_ALL)
        toggle = self._toggle_chart
        self.command("Save body as…", "download", self._save_body, self._no_body, synonyms="export download")
        self._chart = self.command("Hide activity chart", "chart", toggle, self._hidden, group=of_list)

    @Slot()
    def refresh(self) -> None:
        self._chart.setText("Hide activity chart" if self._activity.open else "Show activity chart")
        super().refresh()

    def _hidden(self) -> str | None:
        return None if self._page.isVisible() else "No list of requests is shown."

    def _no_filter(self) -> str | None:
        hidden = not self._page.isVisible() or self._filter.bar.isHidden()
        return "There is nothing to filter." if hidden else None

    def _none_open(self) -> str | None:
        opened = self._page.isVisible() and self._detail.capture is not None
        return None if opened else "No request is open."

    def _no_body(self) -> str | None:
        body = self._detail.capture is not None and self._detail.capture.size
        return self._none_open() or (None if body else "This request has no body.")

    def _no_folds(self) -> str | None:
        if (reason := self._none_open()) is not None:
            return reason
        possible = self._folds.possible and self._detail.body.code.isVisible()
        return None if possible else "Nothing in this body can be folded."

    @property
    def _folds(self) -> CodeFolds:
        return self._detail.body.code.folds

    def _fold_here(self) -> None:
        self._folds.fold_here()

    def _unfold_here(self) -> None:
        self._folds.unfold_here()

    def _fold_all(self) -> None:
        self._folds.fold_all()

    def _unfold_all(self) -> None:
        self._folds.unfold_all()

    def _save_body(self) -> None:
        self._detail.body.save.click()

    def _no_matches(self) -> str | None:
        if (reason := self._none_open()) is not None:
            return reason
        # The find bar of a body stays open while another tab is shown.
        searching = self._filter.active or not self._detail.body.find_bar.isHidden()
        return None if searching else "Filter the list or find in the body first."

    def _start_filter(self) -> None:
        self._show_list()
        self._filter.start()

    def _toggle_chart(self) -> None:
        self._activity.set_open(not self._activity.open)

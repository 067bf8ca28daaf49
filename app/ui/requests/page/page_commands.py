"""The commands of a page of requests: on those selected, on the one shown, and on the list."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QTimer, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Summary
from app.ui.commands.command import Command
from app.ui.pause import Pause
from app.ui.request.current_request import CurrentRequest
from app.ui.request.request_pane import DetailPane
from app.ui.requests.list.stars_and_notes import StarClicks
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.list_commands import ListCommands
from app.ui.requests.page.request_actions import RequestActions
from app.ui.requests.page.request_commands import RequestCommands
from app.ui.requests.selection.select_all import SelectAll
from app.ui.requests.selection.selected_requests import SelectedRequests, selected_requests
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

MERGE_MS = 50


class PageCommands(QObject):
    """`selected` are on the requests selected in the list, or on the one shown while none is; `shown` are the same
    commands on the request shown, for its own buttons and keys. None is available while the page is hidden.
    """

    def __init__(
        self,
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        pause: Pause,
        select_all: SelectAll,
        *,
        rows: RequestList,
        detail: DetailPane,
        request: CurrentRequest,
        page: QWidget,
    ) -> None:
        super().__init__(page)
        self._actions, self._list, self._page, self._request = actions, rows, page, request
        self._detail = detail
        self._select_all = select_all
        self._tasks = tasks
        self.selected = RequestCommands(self._selected, actions, tasks, theme, self)
        self.shown = RequestCommands(self._shown, actions, tasks, theme, self)
        self.list = ListCommands(
            rows,
            self.selected,
            pause,
            theme,
            select_all,
            page=page,
            open_request=self._open,
            clear_selection=self.clear_selection,
            say=actions.say,
        )
        self.selected.add_to(rows)
        self.shown.add_to(detail)
        detail.head.show_commands(self.shown.with_keys())
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(MERGE_MS)
        self.stars = StarClicks(rows)
        self._note = detail.head.note
        self._connect()
        for signal in (select_all.changed, actions.batch.changed, request.changed):
            signal.connect(self.refresh)
        page.installEventFilter(self)
        self.refresh()

    def all(self) -> tuple[Command, ...]:
        """Each once, for the palette."""
        of_list = self.list
        return (of_list.open, *self.selected.with_keys(), *of_list.all()[1:])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hidden, nothing can be run here."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self.refresh()
        return super().eventFilter(watched, event)

    @Slot()
    def clear_selection(self) -> None:
        """Select no more than the request shown."""
        self._select_all.drop()
        self._list.keep_one(self._request.summary if not self._request.deleted else None)

    @Slot()
    def refresh(self) -> None:
        """Enable what can be run now."""
        self.selected.refresh()
        self.shown.refresh()
        self.refresh_list()

    @Slot()
    def refresh_list(self) -> None:
        """Only the commands on the list: cheap, however many are selected."""
        self.list.refresh(bool(self._here()))

    def _connect(self) -> None:
        rows = self._list
        self._later.timeout.connect(self.refresh)
        rows.request_selected.connect(self.refresh)
        rows.selection_settled.connect(self.refresh)
        self.stars.toggled.connect(self._toggle_star)
        self.selected.note_asked.connect(self._note.start)
        self.shown.note_asked.connect(self._note.start)
        self._note.saved.connect(self._save_note)
        rows.doubleClicked.connect(self.selected.own_window.trigger)
        rows.model().dataChanged.connect(self._rows_changed)

    def _selected(self) -> SelectedRequests:
        if not self._page.isVisible():
            return SelectedRequests()
        selected = self._list.selected()
        return self._select_all.requests or (selected_requests(selected) if selected else self._shown())

    def _shown(self) -> SelectedRequests:
        return selected_requests(self._here(), self._request.deleted)

    def _here(self) -> Sequence[Summary]:
        shown = self._request.summary
        return (shown,) if shown is not None and self._page.isVisible() else ()

    @Slot(object)
    def _toggle_star(self, summary: Summary) -> None:
        self._tasks.start(
            self._actions.star(selected_requests([summary]), starred=not summary.starred), "star a request"
        )

    @Slot(str, str)
    def _save_note(self, capture_id: str, note: str) -> None:
        saving = self._actions.set_note(capture_id, note)
        self._tasks.start(self._note.follow(saving, capture_id, note), "save a note")

    @Slot(QModelIndex, QModelIndex)
    def _rows_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        """Only selected rows matter; many changes in a row lead to one refresh."""
        waiting = self._later.isActive()
        if not waiting and (first.row() != last.row() or self._list.selectionModel().isSelected(first)):
            self._later.start()

    @Slot()
    def _open(self) -> None:
        """Open the selected request, with the focus in it."""
        selected = self._list.selected()
        if len(selected) == 1 and selected[0].id != self._detail.wanted:
            self._detail.show_request(selected[0].id, enter=True)
        else:
            self._detail.take_focus()

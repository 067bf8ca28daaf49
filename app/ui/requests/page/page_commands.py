"""Every command of the page: those on what is selected, on the request shown, on the list and on the endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QTimer, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.core.model import Summary
from app.ui.commands.registry import CommandGroup
from app.ui.pause import Pause
from app.ui.request.current_request import CurrentRequest
from app.ui.request.request_pane import DetailPane
from app.ui.requests.list.stars_and_notes import StarClicks
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.list_commands import ListCommands
from app.ui.requests.page.request_actions import RequestActions
from app.ui.requests.page.request_commands import RequestCommands
from app.ui.requests.selection.select_all import Everything
from app.ui.requests.selection.selected_requests import SelectedRequests, chosen_of
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

MERGE_MS = 50


class PageCommands(QObject):
    """`selected` are about what is selected in the list, or about the request shown while none is; `shown` are the
    same commands about the request shown, for its own buttons and keys. Nothing is offered while the page is hidden.
    """

    def __init__(
        self,
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        pause: Pause,
        everything: Everything,
        *,
        rows: RequestList,
        detail: DetailPane,
        request: CurrentRequest,
        page: QWidget,
    ) -> None:
        super().__init__(page)
        self._actions, self._list, self._page, self._request = actions, rows, page, request
        self._detail = detail
        self._everything = everything
        self._tasks = tasks
        self.selected = RequestCommands(self._selected, actions, tasks, theme, delete=self._delete, parent=self)
        self.shown = RequestCommands(self._shown, actions, tasks, theme, delete=self._delete, parent=self)
        self.list = ListCommands(
            rows,
            self.selected,
            pause,
            theme,
            everything,
            opens=self._open,
            clears=self.clear_selection,
            parent=self,
        )
        rows.addActions([*self.selected.with_keys(), self.list.open, self.list.select_all, self.list.everything])
        rows.addActions([self.list.newest, self.list.menu])
        detail.addActions(self.shown.with_keys())
        detail.head.show_commands(self.shown.with_keys())
        page.addAction(self.list.pause)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(MERGE_MS)
        self.stars = StarClicks(rows)
        self._note = detail.head.note
        self._connect()
        for signal in (everything.changed, actions.bulk.changed, request.changed):
            signal.connect(self.refresh)
        page.installEventFilter(self)
        self.refresh()

    def offered(self) -> Iterable[tuple[CommandGroup, QAction]]:
        """Each command once, with its group."""
        command: QAction
        for command in (self.list.open, *self.selected.with_keys(), self.list.menu):
            yield CommandGroup.REQUEST, command
        about_list = self.list
        selecting = (about_list.select_all, about_list.everything, about_list.clear)
        for command in (about_list.newest, about_list.pause, *selecting):
            yield CommandGroup.LIST, command

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hidden, nothing can be done here."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self.refresh()
        return super().eventFilter(watched, event)

    @Slot()
    def clear_selection(self) -> None:
        """Select no more than the request shown."""
        self._everything.drop()
        self._list.keep_one(self._request.summary if not self._request.deleted else None)

    @Slot()
    def refresh(self) -> None:
        """Allow what would do something now."""
        self.selected.refresh()
        self.shown.refresh()
        self.look()

    @Slot()
    def look(self) -> None:
        """The same for what is about the list: cheap, however many are selected."""
        self.list.refresh(self._page.isVisible(), bool(self._here()))

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
        return self._everything.chosen or (chosen_of(selected) if selected else self._shown())

    def _shown(self) -> SelectedRequests:
        return chosen_of(self._here(), self._request.deleted)

    def _here(self) -> Sequence[Summary]:
        shown = self._request.summary
        return (shown,) if shown is not None and self._page.isVisible() else ()

    @Slot(object)
    def _toggle_star(self, summary: Summary) -> None:
        self._tasks.start(self._actions.star(chosen_of([summary]), starred=not summary.starred), "star a request")

    @Slot(str, str)
    def _save_note(self, capture_id: str, note: str) -> None:
        saving = self._actions.set_note(capture_id, note)
        self._tasks.start(self._note.follow(saving, capture_id, note), "save a note")

    @Slot(QModelIndex, QModelIndex)
    def _rows_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        """Only what is selected matters; of many that change one after the other the commands hear once."""
        waiting = self._later.isActive()
        if not waiting and (first.row() != last.row() or self._list.selectionModel().isSelected(first)):
            self._later.start()

    async def _delete(self, chosen: SelectedRequests) -> None:
        """Delete them, after asking."""
        agreed = await self._actions.agree_to_delete(chosen)
        if agreed is not None:
            await self._actions.delete(agreed)

    @Slot()
    def _open(self) -> None:
        """Open what is selected, with the keyboard in it."""
        selected = self._list.selected()
        if len(selected) == 1 and selected[0].id != self._detail.wanted:
            self._detail.show_request(selected[0].id, enter=True)
        else:
            self._detail.take_focus()

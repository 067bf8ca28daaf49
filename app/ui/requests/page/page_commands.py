"""The commands of a page of requests: on its list, on those selected in it, on the one shown, and on what it shows; and
clicks on the stars of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from app.core.model import Summary
from app.ui.commands.body_text_commands import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup, Commands, menu_of
from app.ui.inspector.body.code_rows import CodeFolds
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.activity_chart import ActivityStrip
from app.ui.requests.filtering import PageFilter
from app.ui.requests.list.model import SUMMARY_ROLE
from app.ui.requests.list.view import RequestList
from app.ui.requests.request_actions import BATCH_RUNS, NONE_SELECTED, NOT_TWO, RequestActions, RequestCommands
from app.ui.requests.select_all import SelectAll, SelectedRequests, selected_requests
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause

SELECT_ALL_KEY = "Ctrl+Shift+A"
REPLAY_MANY_KEY = "Ctrl+Shift+R"
SELECT_EVERY = "Select all, loaded or not"
MENU_INSET = 84
"""Pixels from the left at which a menu opened by a key begins: where the titles do."""
MERGE_MS = 50


class StarClicks(QObject):
    """`toggled` carries the request whose star was clicked; that click selects nothing.

    A row shows a star if it is starred, and while it is selected or under the mouse. Elsewhere there is none to click:
    touching that place selects the row.
    """

    toggled = Signal(object)

    def __init__(self, rows: RequestList) -> None:
        super().__init__(rows)
        self._list = rows
        self._pressed = False
        self._mouse: QPoint | None = None
        rows.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle mouse events on a star."""
        kind = event.type()
        if kind in (QEvent.Type.Leave, QEvent.Type.HoverLeave):
            self._mouse = None
        if not isinstance(event, QMouseEvent):
            return super().eventFilter(watched, event)
        if kind == QEvent.Type.MouseMove:
            self._mouse = event.position().toPoint()
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            summary = self._starred_at(event)
            self._pressed = summary is not None
            if summary is not None:
                self.toggled.emit(summary)
            return self._pressed
        if self._pressed:
            self._pressed = kind != QEvent.Type.MouseButtonRelease
            return True
        return super().eventFilter(watched, event)

    def _starred_at(self, event: QMouseEvent) -> Summary | None:
        place = event.position().toPoint()
        index = self._list.indexAt(place)
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        if not plain or not index.isValid():
            return None
        star = self._list.request_delegate.star_rect(self._list.visualRect(index))
        summary: Summary = index.data(SUMMARY_ROLE)
        return summary if star.contains(place) and (summary.starred or self._is_offered(index)) else None

    def _is_offered(self, index: QModelIndex) -> bool:
        """Whether a row shows a star although it is not starred."""
        under_mouse = self._mouse is not None and self._list.indexAt(self._mouse) == index
        return under_mouse or self._list.selectionModel().isSelected(index)


class PageCommands(Commands):
    """Commands on the list itself. `selected` are on the requests selected in it, or on the one shown while none is;
    `opened` are the same commands on the request shown, for its own buttons and keys. None is available while the page
    is hidden. `comparison_requested` carries two requests, the older one first.
    """

    group = CommandGroup.LIST
    comparison_requested = Signal(object)

    def __init__(
        self,
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        pause: Pause,
        select_all: SelectAll,
        *,
        rows: RequestList,
        detail: RequestPane,
        page: QWidget,
    ) -> None:
        super().__init__(theme, actions.say, page, read_only=actions.read_only)
        self._actions, self._tasks, self._pause, self._select_all = actions, tasks, pause, select_all
        self._list, self._detail, self._page = rows, detail, page
        self._menu: QMenu | None = None
        self._menu_ids: set[str] = set()
        self._to_note: str | None = None
        """The request whose note is written once it is open."""
        self.selected = RequestCommands(self._selected, actions, tasks, theme, self)
        self.opened = RequestCommands(self._opened, actions, tasks, theme, self)
        self._make()
        self.selected.add_to(rows)
        self.opened.add_to(detail)
        self._refresh_timer = QTimer(self, singleShot=True, interval=MERGE_MS)
        self.stars = StarClicks(rows)
        self._connect()
        self.follow(page)
        self._name_pause()
        self.refresh()

    def all(self) -> tuple[Command, ...]:
        """Each once, for the palette."""
        return (self.open, *self.selected.with_keys(), *self.commands[1:])

    def menu_of_selected(self) -> QMenu:
        """The menu of one request, or of the many that are selected; it deletes itself when closed."""
        commands = self.selected
        if self._list.selected_count() > 1:
            replays = [commands.replay, commands.edit_replay]
            marks = [commands.mark_read, commands.mark_unread, commands.star]
            groups = [replays, [self.compare], marks, [commands.delete]]
            groups.append([self.select_all, self.clear] if self.select_all.isEnabled() else [self.clear])
        else:
            marks = [commands.star, commands.note, commands.toggle_read]
            replays, copies = [commands.replay, commands.edit_replay], [commands.curl, commands.link]
            groups = [[self.open, commands.own_window], replays, copies, marks, [commands.delete]]
        menu = menu_of(self._list, *groups)
        menu.setAccessibleName("Request")
        menu.aboutToHide.connect(self._menu_closed)
        self._menu, self._menu_ids = menu, {summary.id for summary in self._list.selected()}
        return menu

    @Slot()
    def clear_selection(self) -> None:
        """Select no more than the request shown."""
        self._select_all.drop()
        self._list.keep_one(self._detail.summary if not self._detail.deleted else None)

    @Slot()
    def refresh(self) -> None:
        """Enable what can be run now."""
        self.selected.refresh()
        self.opened.refresh()
        self.refresh_list()

    @Slot()
    def refresh_list(self) -> None:
        """Only the commands on the list: cheap, however many are selected. A menu whose requests are deleted, or whose
        list is hidden, closes.
        """
        selected = {one.id for one in self._list.selected()} if self._menu is not None else set()
        if self._menu is not None and not (self._page.isVisible() and self._menu_ids <= selected):
            self._menu.close()
        super().refresh()
        number = self._select_all.number if self.select_all.isEnabled() else None
        self.select_all.setText(SELECT_EVERY if number is None else f"Select all {number:,} requests")

    def _make(self) -> None:
        rows, pause, request = self._list, self._pause, CommandGroup.REQUEST
        self.open = self.command("Open", "body", self._open, self._none_open, "Enter", "Return", group=request)
        menu, none_selected = self._show_menu, self._none_selected
        self.menu = self.command("Show the request’s menu", "more", menu, none_selected, "F4", group=request)
        compare, not_two, name = self._compare, self._not_two, "Compare two requests"
        self.compare = self.command(
            "Compare", "compare", compare, not_two, "D", group=request, name=name, synonyms="diff"
        )
        self.newest = self.command("Go to newest", "newest", rows.go_home, self._is_empty, "Home")
        self.pause = self.command(
            "Pause list", "pause", pause.toggle, self._is_hidden, "P", fixed_name="Pause or resume list"
        )
        self.replay = self.command(
            "Replay many…", "replay-many", self._replay_many, self._is_empty, REPLAY_MANY_KEY, changes=True
        )
        self.select_loaded = self.command("Select all", "select-all", rows.selectAll, self._too_few, "Ctrl+A")
        every = self._select_all.select
        self.select_all = self.command(SELECT_EVERY, "select-all", every, self._all_loaded, SELECT_ALL_KEY)
        self.clear = self.command("Clear selection", "close", self.clear_selection, self._not_many)
        for command in (self.open, self.menu, self.select_loaded, self.select_all, self.newest):
            command.add_to(rows)
        self.compare.add_to(self._page)
        self.pause.add_to(self._page)
        self.replay.add_to(self._page)

    def _connect(self) -> None:
        rows = self._list
        self._refresh_timer.timeout.connect(self.refresh)
        for changed in (
            rows.request_selected,
            rows.selection_settled,
            self._select_all.changed,
            self._actions.batch.changed,
            self._detail.changed,
        ):
            changed.connect(self.refresh)
        rows.customContextMenuRequested.connect(self._show_menu_at)
        rows.doubleClicked.connect(self.selected.own_window.trigger)
        rows.model().dataChanged.connect(self._rows_changed)
        self._pause.changed.connect(self._name_pause)
        self.stars.toggled.connect(self._toggle_star)
        self.selected.note_requested.connect(self._note_selected)
        self._detail.view_made.connect(self._follow_view)
        self._detail.changed.connect(self._note_opened)

    def _is_hidden(self) -> str | None:
        return None if self._page.isVisible() else "No list of requests is shown."

    def _is_empty(self) -> str | None:
        return self._is_hidden() or (None if self._rows() else "The list is empty.")

    def _none_open(self) -> str | None:
        opens = self._open_request() or self._list.selected_count() == 1
        return self._is_hidden() or (None if opens else NONE_SELECTED)

    def _none_selected(self) -> str | None:
        return self._is_empty() or (None if self._list.selected_count() else NONE_SELECTED)

    def _not_two(self) -> str | None:
        """Quick, however many are selected: more than two are not looked at."""
        two = self._list.selected_count() == 2 and self._selected().count == 2
        return self._is_empty() or (None if two else NOT_TWO)

    def _not_many(self) -> str | None:
        return self._is_empty() or (None if self._list.selected_count() > 1 else "At most one request is selected.")

    def _too_few(self) -> str | None:
        return self._is_empty() or (None if self._rows() > 1 else "There is only one request.")

    def _all_loaded(self) -> str | None:
        if (reason := self._too_few()) is not None:
            return reason
        if not self._select_all.more:
            return "The whole list is loaded. Select all (Ctrl+A) selects it."
        return BATCH_RUNS if self._actions.batch.busy else None

    def _rows(self) -> int:
        return self._list.model().rowCount()

    @Slot()
    def _show_menu(self) -> None:
        """Below the cursor's row, or in the middle if that is scrolled out of view."""
        rect, inside = self._list.visualRect(self._list.currentIndex()), self._list.viewport().rect()
        self._open_menu(QPoint(MENU_INSET, rect.bottom()) if inside.contains(rect.bottomLeft()) else inside.center())

    @Slot(QPoint)
    def _show_menu_at(self, place: QPoint) -> None:
        if self._list.indexAt(place).isValid():
            self._open_menu(place)

    def _open_menu(self, place: QPoint) -> None:
        if self._list.selected_count():
            self.menu_of_selected().popup(self._list.viewport().mapToGlobal(place))

    @Slot()
    def _menu_closed(self) -> None:
        self._menu = None

    @Slot()
    def _name_pause(self) -> None:
        if self._pause.on:
            self.pause.show_as("Resume list", "play")
        else:
            self.pause.show_as("Pause list", "pause")

    @Slot()
    def _follow_view(self) -> None:
        """The detail has made its widgets."""
        self.opened.show_in(self._detail.header, self.opened.with_keys())

    def _selected(self) -> SelectedRequests:
        if not self._page.isVisible():
            return SelectedRequests()
        selected = self._list.selected()
        return self._select_all.requests or (selected_requests(selected) if selected else self._opened())

    def _opened(self) -> SelectedRequests:
        return selected_requests(self._open_request(), self._detail.deleted)

    def _open_request(self) -> Sequence[Summary]:
        opened = self._detail.summary
        return (opened,) if opened is not None and self._page.isVisible() else ()

    def _compare(self) -> None:
        self._tasks.start(self.compare_two(self._selected()), "compare requests", self)

    async def compare_two(self, requests: SelectedRequests) -> None:
        """Read these, and request that they be compared."""
        two = await self._actions.read_two(requests)
        if two is not None:
            self.comparison_requested.emit(two)

    def _replay_many(self) -> None:
        requests = self._selected()
        self._actions.replay_many(requests.ids if requests.count > 1 else ())

    @Slot(object)
    def _toggle_star(self, summary: Summary) -> None:
        self._tasks.start(self._actions.toggle_star(selected_requests((summary,))), "star a request")

    @Slot()
    def _note_selected(self) -> None:
        """The selected request may have to be opened first."""
        selected = self._list.selected()
        self._to_note = selected[0].id if selected else self._detail.capture_id
        if self._to_note is not None:
            self._detail.show_request(self._to_note)
        self._note_opened()

    @Slot()
    def _note_opened(self) -> None:
        opened = self._detail.summary
        if opened is not None and opened.id == self._to_note:
            self._to_note = None
            self._detail.header.note.start()

    @Slot(QModelIndex, QModelIndex)
    def _rows_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        """Only selected rows matter; many changes in a row lead to one refresh."""
        waiting = self._refresh_timer.isActive()
        if not waiting and (first.row() != last.row() or self._list.selectionModel().isSelected(first)):
            self._refresh_timer.start()

    @Slot()
    def _open(self) -> None:
        """Open the selected request, with the focus in it."""
        selected = self._list.selected()
        if len(selected) == 1 and selected[0].id != self._detail.capture_id:
            self._detail.show_request(selected[0].id, focus=True)
        else:
            self._detail.take_focus()


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
        next_match, previous_match = (partial(self._go_to_match, next_one=one) for one in (True, False))
        self.command("Find in body", "search", find, self._none_open, "Ctrl+F")
        self.command("Next match in body", "down", next_match, self._no_matches, "F3")
        self.command("Previous match in body", "up", previous_match, self._no_matches, "Shift+F3")
        self.command(
            "Filter", "filter", self._start_filter, self._no_filter, "/", group=of_list, synonyms="search find"
        )
        self.add_to(page)
        for text, icon, fold, key in (
            ("Fold in body", "fold", CodeFolds.fold_here, FOLD),
            ("Unfold in body", "unfold", CodeFolds.unfold_here, UNFOLD),
            ("Fold all in body", "fold", CodeFolds.fold_all, FOLD_ALL),
            ("Unfold all in body", "unfold", CodeFolds.unfold_all, UNFOLD_ALL),
        ):
            self.command(text, icon, partial(self._fold, fold), self._no_folds, key)
        self.command("Save body as…", "download", self._save_body, self._no_body, synonyms="export download")
        self._chart = self.command("Hide activity chart", "chart", activity.toggle, self._hidden, group=of_list)

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
        code = self._detail.body.code
        possible = code.rows.folding and code.isVisible()
        return None if possible else "Nothing in this body can be folded."

    def _fold(self, fold: Callable[[CodeFolds], None]) -> None:
        fold(self._detail.body.code.folds)

    def _save_body(self) -> None:
        self._detail.body.save.click()

    def _no_matches(self) -> str | None:
        if (reason := self._none_open()) is not None:
            return reason
        # The find bar of a body stays open while another tab is shown.
        searching = self._filter.active or not self._detail.body.find_bar.isHidden()
        return None if searching else "Filter the list or find in the body first."

    def _go_to_match(self, *, next_one: bool) -> None:
        self._detail.view.go_to_match(next_one=next_one)

    def _start_filter(self) -> None:
        self._show_list()
        self._filter.bar.start()

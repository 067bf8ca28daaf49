"""What can be done with the list itself: open, select all, the newest, pause, its menu."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPoint, Slot
from PySide6.QtWidgets import QMenu

from app.ui.commands.command import Command
from app.ui.pause import Pause
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.request_commands import RequestCommands
from app.ui.requests.selection.select_all import Everything
from app.ui.theme.theme import Theme

EVERYTHING_KEY = "Ctrl+Shift+A"
MENU_INSET = 84
"""Pixels from the left at which a menu opened by a key begins: where the titles do."""


class ListCommands(QObject):
    """Commands of `rows`; `about` are those on what is selected in it. `opens` puts the keyboard into the detail,
    `clears` ends a selection of many.
    """

    def __init__(
        self,
        rows: RequestList,
        about: RequestCommands,
        pause: Pause,
        theme: Theme,
        everything: Everything,
        *,
        opens: Callable[[], None],
        clears: Callable[[], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._list, self._about, self._pause, self._everything = rows, about, pause, everything
        self._menu: QMenu | None = None
        self._meant: set[str] = set()
        self.open = Command("Open", theme, self, does=opens, icon="body", keys=("Enter", "Return"))
        self.select_all = Command("Select all", theme, self, does=rows.selectAll, icon="select-all", keys=("Ctrl+A",))
        does, keys = everything.select, (EVERYTHING_KEY,)
        self.everything = Command("Select all", theme, self, does=does, icon="select-all", keys=keys)
        self.clear = Command("Clear selection", theme, self, does=clears, icon="close")
        self.newest = Command("Go to newest", theme, self, does=rows.go_home, icon="newest", keys=("Home",))
        self.pause = Command("Pause list", theme, self, does=pause.toggle, icon="pause", keys=("P",))
        self.menu = Command("Show the request's menu", theme, self, does=self._show_menu, icon="more", keys=("F4",))
        pause.changed.connect(self._say_pause)
        rows.customContextMenuRequested.connect(self._show_menu_at)
        self._say_pause()

    def menu_of_selected(self) -> QMenu:
        """The menu of one request, or of the many that are selected; it deletes itself when closed."""
        about = self._about
        menu = QMenu(self._list)
        menu.setAccessibleName("Request")
        menu.aboutToHide.connect(menu.deleteLater)
        menu.aboutToHide.connect(self._menu_closed)
        self._menu, self._meant = menu, {summary.id for summary in self._list.selected()}
        if self._list.selected_count() > 1:
            groups = [[about.mark_read, about.mark_unread, about.star], [about.delete]]
            groups.append([self.everything, self.clear] if self.everything.isEnabled() else [self.clear])
        else:
            marks = [about.star, about.note, about.toggle_read]
            groups = [[self.open, about.own_window], [about.curl, about.link], marks, [about.delete]]
        for number, group in enumerate(groups):
            if number:
                menu.addSeparator()
            menu.addActions(group)
        return menu

    def refresh(self, visible: bool, here: bool) -> None:
        """Allow what would do something: `here` tells whether there is a request to open. A menu whose requests are
        gone, or that nobody sees the list of any more, closes.
        """
        if self._menu is not None and not (visible and self._meant <= {one.id for one in self._list.selected()}):
            self._menu.close()
        rows = self._list.model().rowCount() if visible else 0
        selected = self._list.selected_count()
        self.open.setEnabled(here or selected == 1)
        self.menu.setEnabled(bool(rows) and selected > 0)
        self.select_all.setEnabled(rows > 1)
        self.everything.setEnabled(rows > 1 and self._everything.more and not self._everything.busy)
        number = self._everything.number if self.everything.isEnabled() else None
        self.everything.setText("Select all, loaded or not" if number is None else f"Select all {number:,} requests")
        self.clear.setEnabled(bool(rows) and selected > 1)
        self.newest.setEnabled(bool(rows))
        self.pause.setEnabled(visible)

    @Slot()
    def _show_menu(self) -> None:
        """Below the cursor's row, or in the middle when that is out of sight."""
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
    def _say_pause(self) -> None:
        if self._pause.on:
            self.pause.show_as("Resume list", "play")
        else:
            self.pause.show_as("Pause list", "pause")

"""The commands that open another store, the menu of the sidebar's head that has them, and the team stores that were
opened last, in `window.ini` in the data folder; and messages about the store in use. No address has a password."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QMenu, QWidget

from app.core.events import RetentionWaiting
from app.core.model import ClockProblem
from app.core.settings import store_error
from app.core.team import ADDRESS_ADVICE, StoreChoice, where
from app.core.text import clock_text
from app.ui.commands.command import IN_WINDOW, Commands, menu_of, menu_text
from app.ui.messages import MessageAction
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import confirm_discard, open_once
from app.ui.window_file import WindowFile

RECENT_KEY = "stores/recent"
KEPT = 8


class RecentStore(msgspec.Struct, frozen=True):
    """`captures`: this machine captured into it, too."""

    address: str
    captures: bool = False


class RecentStores:
    """The last one first; invalid entries in the file are ignored."""

    def __init__(self, folder: Path) -> None:
        self._file = WindowFile(folder)

    def all(self) -> list[RecentStore]:
        found = self._file.decoded(RECENT_KEY, list[RecentStore]) or []
        return [one for one in found if store_error(one.address) is None]

    def use(self, used: RecentStore) -> None:
        """It is in use now."""
        self._write([used, *self._without(used.address)][:KEPT])

    def forget(self, address: str) -> None:
        self._write(self._without(address))

    def _without(self, address: str) -> list[RecentStore]:
        return [one for one in self.all() if one.address != address]

    def _write(self, stores: list[RecentStore]) -> None:
        self._file.set_encoded(RECENT_KEY, stores)
        self._file.sync()


OWN_NAME = "My own store"


class StoreCommands(Commands):
    """`recent` has the store in use, if that is a team's."""

    context = IN_WINDOW
    forgotten = Signal()
    """A recent store was removed from the list."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(theme, None, window, read_only=services.read_only)
        self._services, self._tasks, self._window = services, tasks, window
        self.recent = RecentStores(services.data_folder)
        self.is_own = services.store.file is not None
        captures = services.listening() is not None
        if services.store_address is not None:
            self.recent.use(RecentStore(services.store_address, captures))
        self.open = self.command("Open team store…", "store", self.show_dialog)
        self.own = self.command("Use my own store", "store", partial(self.use, StoreChoice()), self._own_in_use)
        text = "Stop capturing on this machine" if captures else "Capture on this machine, too"
        self.capture = self.command(
            text, "hook", partial(self._capture, not captures), self._always_captures, changes=True
        )
        self.refresh()

    def menu(self) -> QMenu:
        """It deletes itself when closed."""
        menu, recent, used = menu_of(self._window), self.recent.all(), self._services.store_address
        self._add_store(menu, OWN_NAME, StoreChoice(), in_use=self.is_own)
        for one in recent:
            choice = StoreChoice(address=one.address, captures=one.captures)
            self._add_store(menu, where(one.address), choice, in_use=one.address == used)
        menu.addSeparator()
        menu.addActions([self.open] if self.is_own else [self.open, self.capture])
        others = [one for one in recent if one.address != used]
        if others:
            remove = menu.addMenu("Remove from this list")
            for one in others:
                remove.addAction(menu_text(where(one.address)), partial(self._forget, one.address))
        return menu

    @property
    def offers_others(self) -> bool:
        """Other stores are offered only to who has used a team's."""
        return not self.is_own or bool(self.recent.all())

    def show_dialog(self, given: StoreChoice | None = None) -> None:
        """For a store that is `given`, it is checked at once."""

        from app.ui.open_store_dialog import OpenStoreDialog  # start-up time: loaded when it is first opened

        def new() -> OpenStoreDialog:
            dialog = OpenStoreDialog(self._services, self._theme, self._tasks, self._window, given or StoreChoice())
            dialog.checked.connect(self.use)
            return dialog

        dialog = open_once(self._window, OpenStoreDialog, new)
        if given is not None:
            dialog.submit()

    def use(self, choice: StoreChoice) -> None:
        """Close the window and open one on this store, from now on."""
        if confirm_discard(self._window, partial(self.use, choice)):
            changes = {"store": choice.address, "window_captures": choice.captures}
            self._tasks.start(self._reopen(changes, choice), "open a store")

    def _add_store(self, menu: QMenu, text: str, choice: StoreChoice, *, in_use: bool) -> None:
        action = menu.addAction(menu_text(text))
        action.setCheckable(True)
        action.setChecked(in_use)
        if not in_use:
            action.triggered.connect(partial(self.use if choice.address is None else self.show_dialog, choice))

    def _forget(self, address: str) -> None:
        self.recent.forget(address)
        self.forgotten.emit()

    def _capture(self, on: bool) -> None:
        if confirm_discard(self._window, partial(self._capture, on)):
            self._tasks.start(self._reopen({"window_captures": on}, None), "open the store again")

    async def _reopen(self, changes: Mapping[str, object], choice: StoreChoice | None) -> None:
        await self._services.change_settings(changes)
        self._services.reopen(choice)

    def _own_in_use(self) -> str | None:
        return "Your own store is already in use." if self.is_own else None

    def _always_captures(self) -> str | None:
        return "This machine always captures into your own store." if self.is_own else None


RESUME = "Resume deleting"
_UNKNOWN_ADDRESS = "No node says at which address senders reach it, so capture URLs are shown without it."


class StoreNotices(QObject):
    """Messages that the window posts by itself: while retention waits, and while this machine does not capture and the
    address for senders is not known.
    """

    def __init__(self, services: Services, tasks: Tasks, qt_events: QtEvents, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks, self._messages = services, tasks, tasks.messages
        self._subscription = services.bus.subscribe(RetentionWaiting, lambda event: self._show_retention(event.problem))
        qt_events.capture_urls_changed.connect(self._show_address)
        self._show_retention(services.store.retention.problem)
        self._show_address()

    def stop(self) -> None:
        self._subscription.end()

    @Slot()
    def _show_address(self) -> None:
        unknown = self._services.is_elsewhere and self._services.store.nodes.others.base_url is None
        text = _UNKNOWN_ADDRESS if unknown else None
        self._messages.show_while(text, "address", advice=ADDRESS_ADVICE, tone="info")

    def _show_retention(self, problem: ClockProblem | None) -> None:
        text, advice = clock_text(problem) if problem is not None else (None, "")
        resume = MessageAction(label=RESUME, run=self._start_resuming)
        self._messages.show_while(text, "retention", advice=advice, tone="warning", actions=(resume,))

    def _start_resuming(self) -> None:
        self._tasks.start(self._resume(), "resume retention")

    async def _resume(self) -> None:
        retention = self._services.store.retention
        try:
            await retention.resume()
        finally:
            self._show_retention(retention.problem)  # if it failed, the button is needed again

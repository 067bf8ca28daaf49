"""The commands on requests: on those selected in a list, or on the one in a detail."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.links import link_to_request
from app.ui.commands.command import Command, CommandGroup
from app.ui.requests.selection.request_actions import RequestActions
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

NONE_SELECTED, ONLY_ONE = "No request is selected.", "Select a single request."
_Check = Callable[[SelectedRequests], str | None]


class RequestCommands(QObject):
    """`requests` returns the ones they are about; call `refresh` when that changed."""

    own_window_requested = Signal(object)
    note_requested = Signal()

    def __init__(
        self,
        requests: Callable[[], SelectedRequests],
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._requests, self._actions, self._tasks, self._theme = requests, actions, tasks, theme
        self._refreshing: SelectedRequests | None = None
        own, keys = self._own_window, ("Shift+Enter", "Shift+Return")
        self.own_window = self._command("Open in new window", "own-window", own, _not_one, *keys)
        self.curl = self._command("Copy as curl", "code", self._copy_curl, _not_one, "C")
        self.link = self._command("Copy link", "link", self._copy_link, _not_one, "L")
        self.replay = self._command("Replay", "replay", self._replay, self._not_any, "R")
        self.edit_replay = self._command("Edit and replay…", "edit-replay", self._edit_replay, self._not_any, "Shift+R")
        self.note = self._command("Add note…", "note", self.note_requested.emit, _not_one, "N")
        self.toggle_read = self._command("Mark as unread", "unread", self._toggle_read, self._not_any, "U")
        self.star = self._command("Star", "star", self._toggle_star, self._not_any, "S")
        self.mark_read = self._command("Mark as read", "read", self._mark_read, self._none_unread)
        self.mark_unread = self._command("Mark as unread", "unread", self._mark_unread, self._none_read)
        self.delete = self._command("Delete…", "delete", self._delete, self._not_any, "Del")
        self.refresh()

    def with_keys(self) -> list[Command]:
        """Those that a list, a detail and the palette offer, in their order."""
        marks = [self.star, self.note, self.toggle_read, self.delete]
        return [self.own_window, self.replay, self.edit_replay, self.curl, self.link, *marks]

    def spare(self) -> list[Command]:
        """Those without a button where space is short."""
        return [self.own_window, self.link]

    def add_to(self, widget: QWidget) -> None:
        """Make the keys work in `widget`."""
        for command in self.with_keys():
            command.add_to(widget)

    @Slot()
    def refresh(self) -> None:
        """Name and enable each for the requests it is about now."""
        requests = self._refreshing = self._requests()
        count, only, unread = requests.count, requests.only, bool(requests.unread)
        many = f" {count:,} requests" if count > 1 else ""
        self.note.setText("Edit note…" if only is not None and only.note else "Add note…")
        self.toggle_read.show_as(f"Mark{many} as {'read' if unread else 'unread'}", "read" if unread else "unread")
        if count and requests.starred == count:
            self.star.show_as(f"Remove {f'{count:,} stars' if many else 'star'}", "starred", "warning_fill")
        else:
            self.star.show_as(f"Star{many}", "star")
        self.mark_read.setText(f"Mark{many} as read")
        self.mark_unread.setText(f"Mark{many} as unread")
        self.replay.setText(f"Replay{many}…" if many else "Replay")
        self.edit_replay.setText(f"Replay{many} with options…" if many else "Edit and replay…")
        self.delete.setText(f"Delete{many}…")
        for command in (*self.with_keys(), self.mark_read, self.mark_unread):
            command.refresh()
        self._refreshing = None

    def _command(self, text: str, icon: str, run: Callable[[], object], unavailable: _Check, *keys: str) -> Command:
        def reason() -> str | None:
            requests = self._refreshing or self._requests()  # read once for all that are refreshed
            return requests.deleted or unavailable(requests)

        return Command(
            text,
            self._theme,
            self,
            run=run,
            icon=icon,
            keys=keys,
            group=CommandGroup.REQUEST,
            unavailable=reason,
            say=self._actions.say,
        )

    def _not_any(self, requests: SelectedRequests) -> str | None:
        if not requests.count:
            return NONE_SELECTED
        return "Wait until the current batch is done." if self._actions.batch.busy else None

    def _none_unread(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread else "Already marked as read.")

    def _none_read(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread < requests.count else "Already marked as unread.")

    def _own_window(self) -> None:
        self.own_window_requested.emit(self._requests().only)

    def _replay(self) -> None:
        requests = self._requests()
        self._tasks.start(self._actions.replays.replay(requests.ids, requests.only), "replay")

    def _edit_replay(self) -> None:
        requests = self._requests()
        if requests.only is not None:
            self._actions.replays.edit(requests.only)
        else:
            self._actions.replays.open_many(requests.ids)

    def _copy_curl(self) -> None:
        if (only := self._requests().only) is not None:
            self._tasks.start(self._actions.copy_curl(only), "copy as curl")

    def _copy_link(self) -> None:
        if (only := self._requests().only) is not None:
            self._actions.copy_link(link_to_request(only.id))

    def _toggle_read(self) -> None:
        """Unread becomes read where any is unread, otherwise all become unread."""
        requests = self._requests()
        self._tasks.start(self._actions.set_read(requests, read=bool(requests.unread)), "mark requests")

    def _mark_read(self) -> None:
        self._tasks.start(self._actions.set_read(self._requests(), read=True), "mark requests")

    def _mark_unread(self) -> None:
        self._tasks.start(self._actions.set_read(self._requests(), read=False), "mark requests")

    def _toggle_star(self) -> None:
        """Whatever has no star gets one; where all have one, all lose it."""
        requests = self._requests()
        starred = requests.starred < requests.count
        self._tasks.start(self._actions.star(requests, starred=starred), "star requests")

    def _delete(self) -> None:
        self._tasks.start(self._actions.delete(self._requests()), "delete requests")


def _not_one(requests: SelectedRequests) -> str | None:
    if requests.only is not None:
        return None
    return ONLY_ONE if requests.count else NONE_SELECTED

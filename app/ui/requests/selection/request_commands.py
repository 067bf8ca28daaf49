"""The commands on requests: on those selected in a list, or on the one in a detail."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.links import link_to_request
from app.ui.commands.command import Command, CommandGroup, Commands
from app.ui.requests.selection.request_actions import RequestActions
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

NONE_SELECTED, ONLY_ONE = "No request is selected.", "Select a single request."


class RequestCommands(Commands):
    """`requests` returns the ones they are about; call `refresh` when that changed."""

    group = CommandGroup.REQUEST
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
        super().__init__(theme, actions.say, parent, read_only=actions.read_only)
        self._requests, self._actions, self._tasks = requests, actions, tasks
        self._refreshing: SelectedRequests | None = None
        self.replay = self.command(
            "Replay", "replay", self._replay, self._not_any, "R", changes=True, synonyms="resend send again"
        )
        self.edit_replay = self.command(
            "Edit and replay…", "edit-replay", self._edit_replay, self._not_any, "Shift+R", changes=True
        )
        self.curl = self.command("Copy as curl", "code", self._copy_curl, _not_one, "C", synonyms="export")
        self.link = self.command("Copy link", "link", self._copy_link, _not_one, "L")
        own, keys = self._own_window, ("Shift+Enter", "Shift+Return")
        self.own_window = self.command("Open in new window", "own-window", own, _not_one, *keys)
        self.star = self.command(
            "Star", "star", self._toggle_star, self._not_any, "S", changes=True, fixed_name="Star or remove star"
        )
        self.note = self.command(
            "Add note…", "note", self._edit_note, _not_one, "N", changes=True, fixed_name="Add or edit note…"
        )
        self.toggle_read = self.command(
            "Mark as unread",
            "unread",
            self._toggle_read,
            self._not_any,
            "U",
            changes=True,
            fixed_name="Mark as read or unread",
        )
        self.delete = self.command(
            "Delete", "delete", self._delete, self._not_any, "Del", changes=True, synonyms="remove"
        )
        self.mark_read = self.command("Mark as read", "read", self._mark_read, self._none_unread, changes=True)
        self.mark_unread = self.command("Mark as unread", "unread", self._mark_unread, self._none_read, changes=True)
        self.refresh()

    def with_keys(self) -> list[Command]:
        """Those that a list, a detail and the palette offer, in their order."""
        return [command for command in self.commands if command.shortcuts()]

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
        self.delete.setText(f"Delete{many}…" if many else "Delete")
        super().refresh()
        self._refreshing = None

    def _run(self, run: Callable[[SelectedRequests], object]) -> None:
        run(self._requests())

    def _reason(self, unavailable: Callable[[SelectedRequests], str | None] | None) -> str | None:
        requests = self._refreshing or self._requests()  # read once for all that are refreshed
        return requests.deleted or (unavailable(requests) if unavailable is not None else None)

    def _not_any(self, requests: SelectedRequests) -> str | None:
        if not requests.count:
            return NONE_SELECTED
        return "Wait until the current batch is done." if self._actions.batch.busy else None

    def _none_unread(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread else "Already marked as read.")

    def _none_read(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread < requests.count else "Already marked as unread.")

    def _own_window(self, requests: SelectedRequests) -> None:
        self.own_window_requested.emit(requests.only)

    def _edit_note(self, requests: SelectedRequests) -> None:
        self.note_requested.emit()

    def _replay(self, requests: SelectedRequests) -> None:
        self._tasks.start(self._actions.replays.replay(requests.ids, requests.only), "replay")

    def _edit_replay(self, requests: SelectedRequests) -> None:
        if requests.only is not None:
            self._actions.replays.edit(requests.only)
        else:
            self._actions.replays.open_many(requests.ids)

    def _copy_curl(self, requests: SelectedRequests) -> None:
        if requests.only is not None:
            self._tasks.start(self._actions.copy_curl(requests.only), "copy as curl")

    def _copy_link(self, requests: SelectedRequests) -> None:
        if requests.only is not None:
            self._actions.copy_link(link_to_request(requests.only.id))

    def _toggle_read(self, requests: SelectedRequests) -> None:
        """Unread becomes read where any is unread, otherwise all become unread."""
        self._set_read(requests, read=bool(requests.unread))

    def _mark_read(self, requests: SelectedRequests) -> None:
        self._set_read(requests, read=True)

    def _mark_unread(self, requests: SelectedRequests) -> None:
        self._set_read(requests, read=False)

    def _set_read(self, requests: SelectedRequests, *, read: bool) -> None:
        self._tasks.start(self._actions.set_read(requests, read=read), "mark requests")

    def _toggle_star(self, requests: SelectedRequests) -> None:
        """Whatever has no star gets one; where all have one, all lose it."""
        starred = requests.starred < requests.count
        self._tasks.start(self._actions.star(requests, starred=starred), "star requests")

    def _delete(self, requests: SelectedRequests) -> None:
        self._tasks.start(self._actions.delete(requests), "delete requests")


def _not_one(requests: SelectedRequests) -> str | None:
    if requests.only is not None:
        return None
    return ONLY_ONE if requests.count else NONE_SELECTED

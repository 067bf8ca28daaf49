"""What can be done with requests, one command each: for those selected in a list, or for the one in a detail."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.core.links import link_to_request
from app.ui.commands.command import Command
from app.ui.requests.page.request_actions import RequestActions
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

Subject = Callable[[], SelectedRequests]


class RequestCommands(QObject):
    """Commands about what `subject` gives; `refresh` after it changed. Each is enabled only when it would do something.

    `delete` is what deletes, with its question: who knows of a list also moves its cursor.
    """

    own_window_asked = Signal(object)
    note_asked = Signal()

    def __init__(
        self,
        subject: Subject,
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        *,
        delete: Callable[[SelectedRequests], Coroutine[Any, Any, None]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._subject, self._actions, self._tasks, self._delete = subject, actions, tasks, delete
        keys = ("Shift+Enter", "Shift+Return")
        self.own_window = Command(
            "Open in own window", theme, self, does=self._open_window, icon="own-window", keys=keys
        )
        self.curl = Command("Copy as curl", theme, self, does=self._copy_curl, icon="code", keys=("C",))
        self.link = Command("Copy link", theme, self, does=self._copy_link, icon="link", keys=("L",))
        self.toggle_read = Command("Mark as unread", theme, self, does=self._toggle_read, icon="unread", keys=("U",))
        self.star = Command("Star", theme, self, does=self._toggle_star, icon="star", keys=("S",))
        self.note = Command("Add note…", theme, self, does=self._ask_for_note, icon="note", keys=("N",))
        self.mark_read = Command("Mark as read", theme, self, does=self._mark_read, icon="read")
        self.mark_unread = Command("Mark as unread", theme, self, does=self._mark_unread, icon="unread")
        self.delete = Command("Delete…", theme, self, does=self._ask_and_delete, icon="delete", keys=("Del",))
        self.refresh()

    def with_keys(self) -> list[Command]:
        """Those that a list, a detail and the palette offer, in their order."""
        return [self.own_window, self.curl, self.link, self.star, self.note, self.toggle_read, self.delete]

    @Slot()
    def refresh(self) -> None:
        """Say and allow what fits those that are meant now."""
        chosen = self._subject()
        count, only, unread = chosen.count, chosen.only, bool(chosen.unread)
        many = f" {count:,} requests" if count > 1 else ""
        for command in (self.own_window, self.curl, self.link, self.note):
            command.setEnabled(only is not None)
        self.note.setText("Edit note…" if only is not None and only.note else "Add note…")
        free = bool(count) and not self._actions.bulk.busy
        for command in (self.toggle_read, self.star, self.delete):
            command.setEnabled(free)
        self.mark_read.setEnabled(free and unread)
        self.mark_unread.setEnabled(free and chosen.unread < count)
        self.toggle_read.show_as(f"Mark{many} as {'read' if unread else 'unread'}", "read" if unread else "unread")
        if count and chosen.starred == count:
            self.star.show_as(f"Remove {f'{count:,} stars' if many else 'star'}", "starred", "warning_fill")
        else:
            self.star.show_as(f"Star{many}", "star")
        self.mark_read.setText(f"Mark{many} as read")
        self.mark_unread.setText(f"Mark{many} as unread")
        self.delete.setText(f"Delete{many}…")

    @Slot()
    def _open_window(self) -> None:
        if (only := self._stored().only) is not None:
            self.own_window_asked.emit(only)

    @Slot()
    def _copy_curl(self) -> None:
        if (only := self._stored().only) is not None:
            self._tasks.start(self._actions.copy_curl(only), "copy as curl")

    @Slot()
    def _copy_link(self) -> None:
        if (only := self._stored().only) is not None:
            self._actions.copy_link(link_to_request(only.id))

    @Slot()
    def _ask_for_note(self) -> None:
        if self._stored().count:
            self.note_asked.emit()

    @Slot()
    def _toggle_read(self) -> None:
        """Unread becomes read where any is unread, otherwise all become unread."""
        self._set_read(bool(self._subject().unread))

    @Slot()
    def _toggle_star(self) -> None:
        """Whatever has no star gets one; where all have one, all lose it."""
        chosen = self._stored()
        if chosen.count:
            self._tasks.start(self._actions.star(chosen, starred=chosen.starred < chosen.count), "star requests")

    @Slot()
    def _mark_read(self) -> None:
        self._set_read(True)

    @Slot()
    def _mark_unread(self) -> None:
        self._set_read(False)

    @Slot()
    def _ask_and_delete(self) -> None:
        chosen = self._stored()
        if chosen.count:
            self._tasks.start(self._delete(chosen), "delete requests")

    def _stored(self) -> SelectedRequests:
        """Those meant; none, after saying why, where they are not stored any more."""
        chosen = self._subject()
        if not chosen.deleted:
            return chosen
        self._actions.say(chosen.deleted)
        return SelectedRequests()

    def _set_read(self, read: bool) -> None:
        chosen = self._stored()
        if chosen.unread if read else chosen.unread < chosen.count:
            self._tasks.start(self._actions.set_read(chosen, read=read), "mark requests")

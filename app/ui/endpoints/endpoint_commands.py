"""Every command on one endpoint, for header, context menu, palette and keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Slot
from PySide6.QtWidgets import QMenu, QWidget

from app.core.model import Endpoint
from app.core.rules import compare_refusal
from app.ui.commands.command import Command, CommandGroup, Commands
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.endpoints.notification_settings import MENU, TEXTS, NotifyMenu, NotifyWhen
from app.ui.endpoints.targets.target_actions import pause_refusal, resume_refusal
from app.ui.services import Services
from app.ui.theme.theme import Theme

TARGETS_KEY = "Ctrl+T"
NO_ENDPOINT = "No endpoint is shown."


class EndpointCommands(Commands):
    """`endpoint` returns the endpoint they apply to, as it is now; call `refresh` when that has changed."""

    group = CommandGroup.ENDPOINT

    def __init__(
        self,
        endpoint: Callable[[], Endpoint | None],
        services: Services,
        actions: EndpointActions,
        theme: Theme,
        parent: QObject,
    ) -> None:
        super().__init__(theme, actions.announced.emit, parent, read_only=services.read_only)
        self._endpoint, self._services, self._actions = endpoint, services, actions
        self.open = self.command("Open", "all", actions.open, name="Open endpoint")
        self.edit = self.command("Edit…", "edit", actions.edit, name="Edit endpoint…")
        self.targets = self.command("Targets…", "targets", actions.targets.edit, name="Edit targets…")
        self.copy_url = self.command("Copy URL", "copy", actions.copy_url, name="Copy endpoint URL")
        self.show_qr = self.command("QR code…", "qr", actions.show_qr, name="Show QR code")
        self.copy_curl = self.command("Copy sample curl command", "code", actions.copy_curl)
        self.copy_link = self.command("Copy link", "link", actions.copy_link, name="Copy link to endpoint")
        self.send_test = self.command("Send test request", "send", actions.send_test)
        self.compare = self.command("Compare targets…", "compare", actions.compare, compare_refusal)
        self.switch = self.command("Switch off", "pause", actions.toggle, name="Switch endpoint off", changes=True)
        pause, resume = "Pause forwarding", "Resume forwarding"
        self.pause_forwarding = self.command(pause, "paused", actions.targets.pause, pause_refusal, changes=True)
        self.resume_forwarding = self.command(resume, "play", actions.targets.resume, resume_refusal, changes=True)
        self.mark_read = self.command(
            "Mark all as read", "read", actions.mark_all_read, self._none_unread, changes=True
        )
        self.clear = self.command(
            "Delete all requests…", "delete", actions.clear, self._is_empty, changes=True, synonyms="remove clear"
        )
        move_up, move_down = partial(self._move, -1), partial(self._move, 1)
        up, down = "Move up\tAlt+Up", "Move down\tAlt+Down"
        self.up = self.command(up, "up", move_up, self._is_first, name="Move endpoint up", changes=True)
        self.down = self.command(down, "down", move_down, self._is_last, name="Move endpoint down", changes=True)
        for when, text in TEXTS.items():
            run, unavailable = partial(self._notify, when), partial(self._notifies, when)
            name = f"{MENU}: {text[0].lower()}{text[1:]}"
            self.command(text, "notify", run, unavailable, name=name, synonyms="notifications alert")
        self.delete = self.command("Delete endpoint…", "delete", actions.delete, changes=True, synonyms="remove")
        self.refresh()

    @Slot()
    def note_copied(self) -> None:
        """The endpoint's URL was copied from a field."""
        endpoint = self._endpoint()
        if endpoint is not None:
            self._actions.note_copied(endpoint)

    def add_keys(self, page: QWidget) -> None:
        """Make the keys work in `page`; once, because two commands with the same key would block each other."""
        self.targets.set_keys([TARGETS_KEY])
        self.targets.add_to(page)

    def for_palette(self) -> list[Command]:
        """All but `open`: the palette opens every endpoint by its name."""
        return [command for command in self.commands if command is not self.open]

    @Slot()
    def refresh(self) -> None:
        endpoint = self._endpoint()
        if endpoint is None or endpoint.active:
            self.switch.show_as("Switch off", "pause", name="Switch endpoint off")
        else:
            self.switch.show_as("Switch on", "play", name="Switch endpoint on")
        super().refresh()
        # In menus, of the two only what can be done now.
        self.resume_forwarding.setVisible(not self.resume_forwarding.reason)
        self.pause_forwarding.setVisible(not self.pause_forwarding.reason or bool(self.resume_forwarding.reason))

    def _run(self, run: Callable[[Endpoint], object]) -> None:
        if (endpoint := self._endpoint()) is not None:
            run(endpoint)

    def _reason(self, unavailable: Callable[[Endpoint], str | None] | None) -> str | None:
        endpoint = self._endpoint()
        if endpoint is None:
            return NO_ENDPOINT
        return unavailable(endpoint) if unavailable is not None else None

    def _move(self, by: int, endpoint: Endpoint) -> None:
        self._actions.order.move_by(endpoint.id, by)

    def _notify(self, when: NotifyWhen, endpoint: Endpoint) -> None:
        self._actions.notify.set(endpoint.slug, when)

    def _notifies(self, when: NotifyWhen, endpoint: Endpoint) -> str | None:
        return "The endpoint does so already." if self._actions.notify.of(endpoint.slug) is when else None

    def _none_unread(self, endpoint: Endpoint) -> str | None:
        return None if self._services.store.captures.counts(endpoint.id).unread else "All requests are already read."

    def _is_empty(self, endpoint: Endpoint) -> str | None:
        return None if self._services.store.captures.counts(endpoint.id).total else "The endpoint has no requests."

    def _is_first(self, endpoint: Endpoint) -> str | None:
        return None if self._actions.order.can_move(endpoint.id, -1) else "This endpoint is already first."

    def _is_last(self, endpoint: Endpoint) -> str | None:
        return None if self._actions.order.can_move(endpoint.id, 1) else "This endpoint is already last."


class EndpointMenus(QObject):
    """The context menu of an endpoint, wherever it is listed."""

    def __init__(self, services: Services, actions: EndpointActions, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._actions, self._theme, self._window = services, actions, theme, window

    @Slot(object, object)
    def show(self, endpoint: Endpoint, place: QPoint) -> None:
        """Pop it up at `place` (global)."""
        self.menu(endpoint).popup(place)

    def menu(self, endpoint: Endpoint) -> QMenu:
        """It deletes itself when closed."""
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.setToolTipsVisible(True)
        current = partial(self._services.store.endpoints.by_id, endpoint.id)
        commands = EndpointCommands(current, self._services, self._actions, self._theme, menu)
        menu.addActions([commands.open, commands.copy_url, commands.show_qr, commands.copy_link, commands.send_test])
        menu.addSeparator()
        menu.addActions([commands.edit, commands.targets, commands.compare, commands.switch])
        menu.addActions([commands.pause_forwarding, commands.resume_forwarding, commands.up, commands.down])
        notify = NotifyMenu(self._actions.notify, menu, endpoint.slug)
        notify.setIcon(self._theme.icon("notify"))
        menu.addMenu(notify)
        menu.addSeparator()
        menu.addAction(commands.delete)
        return menu

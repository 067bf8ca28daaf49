"""What the user does with endpoints and their targets, and the commands on one of them, for menus, palette and keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, QPoint, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.core.curl import ready_curl
from app.core.errors import HooklineError
from app.core.links import link_to_endpoint
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import compare_refusal
from app.core.target import Target
from app.core.target_text import paused_text
from app.core.text import count_of, sent_text
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup, Commands, menu_of
from app.ui.deleting import ask_keeping, clear_question, endpoint_question
from app.ui.desktop.notifications import MENU, TEXTS, NotificationSettings, NotifyMenu, NotifyWhen
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import ask, open_once, opened

if TYPE_CHECKING:
    from app.ui.endpoints.endpoint_dialog import EndpointDialog

NO_TARGETS = "The endpoint has no targets."
TARGETS_KEY = "Ctrl+T"
NO_ENDPOINT = "No endpoint is shown."


class EndpointOrder(QObject):
    """A move requested while another is being stored is computed afterwards, so that fast key presses all count."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._tasks = services, tasks
        self._moving = asyncio.Lock()

    def can_move(self, endpoint_id: int, by: int) -> bool:
        """Whether it can move up (-1) or down (1)."""
        ids = self._ids()
        return endpoint_id in ids and 0 <= ids.index(endpoint_id) + by < len(ids)

    @Slot(object, int)
    def move(self, endpoint_id: int, by: int) -> None:
        """Move it so many places down, or up if `by` is negative, as far as that is possible."""
        self._tasks.start(self._move(endpoint_id, by), f"move endpoint {endpoint_id}")

    async def _move(self, endpoint_id: int, by: int) -> None:
        async with self._moving:
            ids = self._ids()
            if endpoint_id not in ids:
                return
            place = ids.index(endpoint_id) + 1
            target = max(1, min(len(ids), place + by))
            if target != place:
                await self._services.store.endpoints.move(endpoint_id, target)

    def _ids(self) -> list[int]:
        return [endpoint.id for endpoint in self._services.store.endpoints.all()]


FIRST_NAME = "My first endpoint"


class EndpointActions(QObject):
    """`created` carries a new endpoint, `announced` a short notice, `open_requested` the ID of an endpoint to show.
    `plan_refused` carries why the plan allows no further endpoint. `tunnel_requested` and `tunnel_page_requested`: the
    user wants the tunnel started, or its page. What only commands call is a coroutine if it takes time: they start it.
    """

    created = Signal(object)
    announced = Signal(str)
    plan_refused = Signal(str)
    open_requested = Signal(object)
    compare_requested = Signal(object)
    switch_refused = Signal(object)
    tunnel_requested = Signal()
    tunnel_page_requested = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self.tasks, self._window = services, theme, tasks, window
        self._confirming: set[int] = set()
        self.notify = NotificationSettings(services.data_folder, self)
        self.order = EndpointOrder(services, tasks, self)
        self.new = Command(
            "New endpoint",
            theme,
            self,
            run=self.create,
            icon="add",
            keys=("Ctrl+N",),
            group=CommandGroup.ENDPOINT,
            context=IN_WINDOW,
            unavailable=services.no_endpoint,
            say=self._refuse,
            synonyms="create add",
        )
        self.new.refresh()

    def _refuse(self, reason: str) -> None:
        (self.plan_refused if self._services.read_only is None else self.announced).emit(reason)

    @Slot(str)
    def create_with_slug(self, slug: str) -> None:
        """Open the form for a new endpoint with this slug."""
        self.new.run()
        dialog = self._dialog()
        if dialog is not None and dialog.form.url_section is not None:
            dialog.form["slug"].setText(slug)
            dialog.form.reveal("slug")
            dialog.form["name"].setFocus()

    @Slot()
    def create_first(self) -> None:
        """Create the first endpoint without a form."""
        self.tasks.start(self._create_first(), "create the first endpoint")

    @Slot(object)
    def edit(self, endpoint: Endpoint) -> None:
        """Open the form for `endpoint`."""
        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is not None:
            self._open(current)

    def edit_limit(self, endpoint: Endpoint) -> None:
        """Open the form for `endpoint` at its storage limit."""
        self.edit(endpoint)
        if (dialog := self._dialog()) is not None:
            dialog.form.reveal("storage_limit")

    @Slot(object)
    def delete(self, endpoint: Endpoint) -> None:
        """Ask, then delete it with its requests."""
        if endpoint.id not in self._confirming:
            self._confirming.add(endpoint.id)
            self.tasks.start(self._delete(endpoint), f"delete endpoint {endpoint.id}")

    @Slot(object, bool)
    def set_active(self, endpoint: Endpoint, active: bool) -> None:
        self.tasks.start(self._set_active(endpoint.id, active), f"switch endpoint {endpoint.id}")

    @Slot(object)
    def copy_url(self, endpoint: Endpoint) -> None:
        """Copy its capture URL."""
        QGuiApplication.clipboard().setText(self._services.capture_url(endpoint))
        self.note_copied(endpoint)
        self.announced.emit(f"Copied the URL of “{endpoint.name}”.{self._doubt()}")

    @Slot(object)
    def note_copied(self, endpoint: Endpoint) -> None:
        """Its capture URL was copied: if the tunnel's URL changes, the user is reminded of it."""
        self.tasks.start(self._services.tunnels.copied(endpoint.id), "note a copied URL")

    def show_qr(self, endpoint: Endpoint) -> None:
        """Show the QR code of its capture URL, in place of another one's."""
        from app.ui.endpoints.qr_dialog import QrDialog  # start-up time, here and below: loaded when it is first opened

        self.close_qr()
        dialog = QrDialog(self._services, self._theme, self.tasks, self._window, endpoint)
        dialog.tunnel_requested.connect(self.tunnel_requested)
        dialog.page_requested.connect(self.tunnel_page_requested)
        dialog.open()

    @Slot()
    def close_qr(self) -> None:
        """Close the QR code, if it is open."""
        from app.ui.endpoints.qr_dialog import QrDialog  # as above

        if (dialog := opened(self._window, QrDialog)) is not None:
            dialog.reject()

    @Slot(object)
    def copy_link(self, endpoint: Endpoint) -> None:
        """Copy a link that opens it in Hookline."""
        QGuiApplication.clipboard().setText(link_to_endpoint(endpoint.slug))
        self.announced.emit(f"Copied a link that opens “{endpoint.name}”.")

    async def send_test(self, endpoint: Endpoint) -> None:
        """Send it a small test request."""
        self.announced.emit(sent_text(await self._services.send_test(endpoint), endpoint.name))

    def copy_curl(self, endpoint: Endpoint) -> None:
        """Copy a curl command that sends it a request."""
        QGuiApplication.clipboard().setText(ready_curl(self._services.capture_url(endpoint)))
        self.note_copied(endpoint)
        self.announced.emit(f"Copied as curl.{self._doubt()}")

    def _doubt(self) -> str:
        """Whether a copied capture URL works now."""
        mark = self._services.url_mark
        return f" Its URL may not work now ({mark})." if mark else ""

    def open(self, endpoint: Endpoint) -> None:
        """Request that the window shows its requests."""
        self.open_requested.emit(endpoint.id)

    def toggle(self, endpoint: Endpoint) -> None:
        """Switch it off if it is on, and on if it is off."""
        self.set_active(endpoint, not endpoint.active)

    async def mark_all_read(self, endpoint: Endpoint) -> None:
        await self._services.store.captures.mark_all_read(endpoint.id)

    async def clear(self, endpoint: Endpoint) -> None:
        """Ask, then delete all its requests."""
        total = self._services.store.captures.counts(endpoint.id).total
        marked = await self._services.store.captures.marked(endpoint.id)
        question = partial(clear_question, endpoint, total, marked)
        keeps = await ask_keeping(question(), question(keep=True) if marked.any else None, self._theme, self._window)
        if keeps is not None:
            await self._services.deletes.clear(endpoint.id, ("starred", "noted") if keeps else ())

    def edit_targets(self, endpoint: Endpoint) -> None:
        """Open the dialog of its targets."""
        current = self._services.store.endpoints.by_id(endpoint.id)
        if current is None:
            return

        from app.ui.endpoints.targets_dialog import TargetsDialog  # as above

        def new() -> TargetsDialog:
            dialog = TargetsDialog(self._services, self._theme, self.tasks, self._window, current)
            dialog.saved.connect(partial(self._targets_saved, current.name))
            return dialog

        open_once(self._window, TargetsDialog, new)

    async def pause_forwarding(self, endpoint: Endpoint) -> None:
        """Pause all its targets: what is captured is queued for them."""
        paused = [await self._services.store.targets.pause(target.id) for target in _running_targets(endpoint)]
        if paused:
            self.announced.emit(paused_text(paused, None))

    async def resume_forwarding(self, endpoint: Endpoint) -> None:
        """Resume all its targets, and send what is queued for them."""
        targets = paused_targets(endpoint)
        for target in targets:
            await self._services.store.targets.resume(target.id)
        if targets:
            where = targets[0].url if len(targets) == 1 else count_of(len(targets), "target")
            self.announced.emit(f"Forwarding to {where} again.")

    @Slot(object, object)
    def show_menu(self, endpoint: Endpoint, place: QPoint) -> None:
        """Pop up its context menu at `place` (global)."""
        self.menu(endpoint).popup(place)

    def menu(self, endpoint: Endpoint) -> QMenu:
        """It deletes itself when closed."""
        menu = menu_of(self._window)
        current = partial(self._services.store.endpoints.by_id, endpoint.id)
        commands = EndpointCommands(current, self._services, self, self._theme, menu)
        menu.addActions([commands.open, commands.copy_url, commands.show_qr, commands.copy_link, commands.send_test])
        menu.addSeparator()
        menu.addActions([commands.edit, commands.targets, commands.compare, commands.switch])
        menu.addActions([commands.pause_forwarding, commands.resume_forwarding, commands.up, commands.down])
        notify = NotifyMenu(self.notify, menu, endpoint.slug)
        notify.setIcon(self._theme.icon("notify"))
        menu.addMenu(notify)
        menu.addSeparator()
        menu.addAction(commands.delete)
        return menu

    @Slot()
    def create(self) -> None:
        """Open the form for a new endpoint; the command `new` first checks that one can be created."""
        self._open(None)

    def _dialog(self) -> EndpointDialog | None:
        """The form that is open."""
        from app.ui.endpoints.endpoint_dialog import EndpointDialog  # as above

        return opened(self._window, EndpointDialog)

    def _open(self, endpoint: Endpoint | None) -> None:
        from app.ui.endpoints.endpoint_dialog import EndpointDialog  # as above

        def new() -> EndpointDialog:
            dialog = EndpointDialog(self._services, self._theme, self.tasks, self._window, endpoint)
            dialog.saved.connect(self._saved)
            return dialog

        open_once(self._window, EndpointDialog, new)

    @Slot(object, bool)
    def _saved(self, endpoint: Endpoint, created: bool) -> None:
        if created:
            self.created.emit(endpoint)
        else:
            self.announced.emit(f"Saved “{endpoint.name}”.")

    async def _create_first(self) -> None:
        self.created.emit(await self._services.store.endpoints.create(EndpointDraft(name=FIRST_NAME)))

    async def _delete(self, endpoint: Endpoint) -> None:
        try:
            total = self._services.store.captures.counts(endpoint.id).total
            marked = await self._services.store.captures.marked(endpoint.id)
            title, text = endpoint_question(endpoint, total, marked)
            if await ask(self._window, self._theme, title, text, "Delete endpoint"):
                await self._services.deletes.delete_endpoint(endpoint.id)
        finally:
            self._confirming.discard(endpoint.id)

    async def _set_active(self, endpoint_id: int, active: bool) -> None:
        endpoint = self._services.store.endpoints.by_id(endpoint_id)
        if endpoint is None:
            return
        try:
            await self._services.store.endpoints.update(endpoint_id, replace(endpoint.draft(), active=active))
        except HooklineError:
            self.switch_refused.emit(endpoint)
            raise

    def _targets_saved(self, name: str) -> None:
        self.announced.emit(f"Saved the targets of “{name}”.")


def paused_targets(endpoint: Endpoint) -> list[Target]:
    """Those that are switched on, and paused."""
    return [target for target in endpoint.targets if target.active and target.paused is not None]


def _running_targets(endpoint: Endpoint) -> list[Target]:
    return [target for target in endpoint.targets if target.active and target.paused is None]


def _pause_refusal(endpoint: Endpoint) -> str | None:
    """Why forwarding cannot be paused now; None if it can."""
    if not endpoint.targets:
        return NO_TARGETS
    if _running_targets(endpoint):
        return None
    return "Forwarding is already paused." if paused_targets(endpoint) else "All targets are switched off."


def _resume_refusal(endpoint: Endpoint) -> str | None:
    """Why forwarding cannot be resumed now; None if it can."""
    if not endpoint.targets:
        return NO_TARGETS
    return None if paused_targets(endpoint) else "Forwarding is not paused."


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
        self.targets = self.command("Targets…", "targets", actions.edit_targets, name="Edit targets…")
        self.copy_url = self.command("Copy URL", "copy", actions.copy_url, name="Copy endpoint URL")
        self.show_qr = self.command("QR code…", "qr", actions.show_qr, name="Show QR code")
        self.copy_curl = self.command("Copy sample curl command", "code", actions.copy_curl)
        self.copy_link = self.command("Copy link", "link", actions.copy_link, name="Copy link to endpoint")
        self.send_test = self.command("Send test request", "send", actions.send_test)
        self.compare = self.command("Compare targets…", "compare", actions.compare_requested.emit, compare_refusal)
        self.switch = self.command("Switch off", "pause", actions.toggle, name="Switch endpoint off", changes=True)
        pause, resume = "Pause forwarding", "Resume forwarding"
        self.pause_forwarding = self.command(pause, "paused", actions.pause_forwarding, _pause_refusal, changes=True)
        self.resume_forwarding = self.command(resume, "play", actions.resume_forwarding, _resume_refusal, changes=True)
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
            work = run(endpoint)
            if isinstance(work, Coroutine):
                self._actions.tasks.start(work, f"a command on endpoint {endpoint.id}")

    def _reason(self, unavailable: Callable[[Endpoint], str | None] | None) -> str | None:
        endpoint = self._endpoint()
        if endpoint is None:
            return NO_ENDPOINT
        return unavailable(endpoint) if unavailable is not None else None

    def _move(self, by: int, endpoint: Endpoint) -> None:
        self._actions.order.move(endpoint.id, by)

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

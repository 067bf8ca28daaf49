"""What the user does with endpoints: create, edit, switch, copy, clear, delete."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.curl import ready_curl
from app.core.errors import HooklineError
from app.core.links import link_to_endpoint
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import create_refusal
from app.core.text import sent_text
from app.core.tunnel.tunnel import url_mark
from app.ui.commands.command import IN_WINDOW, Command, CommandGroup
from app.ui.endpoints.notification_settings import NotificationSettings
from app.ui.endpoints.targets.target_actions import TargetActions
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import ask, open_once, opened

if TYPE_CHECKING:
    from app.ui.endpoints.endpoint_dialog import EndpointDialog


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

    def move_by(self, endpoint_id: int, by: int) -> None:
        """Move it up (-1) or down (1), if possible."""
        self._tasks.start(self._move(endpoint_id, None, by), f"move endpoint {endpoint_id}")

    @Slot(object, int)
    def move_to(self, endpoint_id: int, position: int) -> None:
        """Move it to this position, from 1."""
        self._tasks.start(self._move(endpoint_id, position, 0), f"move endpoint {endpoint_id}")

    async def _move(self, endpoint_id: int, position: int | None, by: int) -> None:
        async with self._moving:
            ids = self._ids()
            if endpoint_id not in ids:
                return
            place = ids.index(endpoint_id) + 1
            target = max(1, min(len(ids), place + by if position is None else position))
            if target != place:
                await self._services.store.endpoints.move(endpoint_id, target)

    def _ids(self) -> list[int]:
        return [endpoint.id for endpoint in self._services.store.endpoints.all()]


FIRST_NAME = "My first endpoint"


class EndpointActions(QObject):
    """`created` carries a new endpoint, `announced` a short notice, `open_requested` the ID of an endpoint to show.
    `plan_refused` carries why the plan allows no further endpoint. `tunnel_requested` and `tunnel_page_requested`: the
    user wants the tunnel started, or its page.
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
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._confirming: set[int] = set()
        self.notify = NotificationSettings(services.data_folder, self)
        self.order = EndpointOrder(services, tasks, self)
        self.targets = TargetActions(services, theme, tasks, window)
        self.targets.announced.connect(self.announced)
        self.new = Command(
            "New endpoint",
            theme,
            self,
            run=self.create,
            icon="add",
            keys=("Ctrl+N",),
            group=CommandGroup.ENDPOINT,
            context=IN_WINDOW,
            unavailable=self.refusal,
            say=self._refuse,
            synonyms="create add",
        )
        self.new.refresh()

    def refusal(self) -> str | None:
        """Why no endpoint can be created now; None when one can."""
        return self._services.read_only or create_refusal(
            self._services.store.account.plan, len(self._services.store.endpoints.all())
        )

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
        self._tasks.start(self._create_first(), "create the first endpoint")

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
            self._tasks.start(self._delete(endpoint), f"delete endpoint {endpoint.id}")

    @Slot(object, bool)
    def set_active(self, endpoint: Endpoint, active: bool) -> None:
        self._tasks.start(self._set_active(endpoint.id, active), f"switch endpoint {endpoint.id}")

    @Slot(object)
    def copy_url(self, endpoint: Endpoint) -> None:
        """Copy its capture URL."""
        QGuiApplication.clipboard().setText(self._services.capture_url(endpoint))
        self.note_copied(endpoint)
        self.announced.emit(f"Copied the URL of “{endpoint.name}”.{self._doubt()}")

    @Slot(object)
    def note_copied(self, endpoint: Endpoint) -> None:
        """Its capture URL was copied: if the tunnel's URL changes, the user is reminded of it."""
        self._tasks.start(self._services.tunnels.copied(endpoint.id), "note a copied URL")

    def show_qr(self, endpoint: Endpoint) -> None:
        """Show the QR code of its capture URL, in place of another one's."""
        from app.ui.endpoints.qr_dialog import QrDialog  # start-up time, here and below: loaded when it is first opened

        self.close_qr()
        dialog = QrDialog(self._services, self._theme, self._tasks, self._window, endpoint)
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

    @Slot(object)
    def send_test(self, endpoint: Endpoint) -> None:
        """Send it a small test request."""
        self._tasks.start(self._send_test(endpoint), f"send a test request to endpoint {endpoint.id}")

    def copy_curl(self, endpoint: Endpoint) -> None:
        """Copy a curl command that sends it a request."""
        QGuiApplication.clipboard().setText(ready_curl(self._services.capture_url(endpoint)))
        self.note_copied(endpoint)
        self.announced.emit(f"Copied as curl.{self._doubt()}")

    def _doubt(self) -> str:
        """Whether a copied capture URL works now."""
        mark = url_mark(self._services.tunnels.url_state)
        return f" Its URL may not work now ({mark})." if mark else ""

    def open(self, endpoint: Endpoint) -> None:
        """Request that the window shows its requests."""
        self.open_requested.emit(endpoint.id)

    def compare(self, endpoint: Endpoint) -> None:
        """Request that the responses of its targets are compared."""
        self.compare_requested.emit(endpoint)

    def toggle(self, endpoint: Endpoint) -> None:
        """Switch it off if it is on, and on if it is off."""
        self.set_active(endpoint, not endpoint.active)

    def mark_all_read(self, endpoint: Endpoint) -> None:
        self._tasks.start(self._services.store.captures.mark_all_read(endpoint.id), "mark all read")

    def clear(self, endpoint: Endpoint) -> None:
        """Ask, then delete all its requests."""
        self._tasks.start(self._clear(endpoint), "delete all requests")

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
            dialog = EndpointDialog(self._services, self._theme, self._tasks, self._window, endpoint)
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
        from app.ui.undo.delete_question import endpoint_question  # as above

        try:
            total = self._services.store.captures.counts(endpoint.id).total
            marked = await self._services.store.captures.marked(endpoint.id)
            title, text = endpoint_question(endpoint, total, marked)
            if await ask(self._window, self._theme, title, text, "Delete endpoint"):
                await self._services.deletes.delete_endpoint(endpoint.id)
        finally:
            self._confirming.discard(endpoint.id)

    async def _clear(self, endpoint: Endpoint) -> None:
        from app.ui.undo.delete_question import ask_keeping, clear_question  # as above

        total = self._services.store.captures.counts(endpoint.id).total
        marked = await self._services.store.captures.marked(endpoint.id)
        question = partial(clear_question, endpoint, total, marked)
        keeps = await ask_keeping(question(), question(keep=True) if marked.any else None, self._theme, self._window)
        if keeps is not None:
            await self._services.deletes.clear(endpoint.id, ("starred", "noted") if keeps else ())

    async def _set_active(self, endpoint_id: int, active: bool) -> None:
        endpoint = self._services.store.endpoints.by_id(endpoint_id)
        if endpoint is None:
            return
        try:
            await self._services.store.endpoints.update(endpoint_id, replace(endpoint.draft(), active=active))
        except HooklineError:
            self.switch_refused.emit(endpoint)
            raise

    async def _send_test(self, endpoint: Endpoint) -> None:
        self.announced.emit(sent_text(await self._services.send_test(endpoint), endpoint.name))

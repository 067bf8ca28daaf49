"""What can be done with endpoints from anywhere in the window: one place, whichever button, menu or key asked."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QObject, QPoint, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.core.errors import HooklineError
from app.core.links import link_to_endpoint
from app.core.model import Endpoint, EndpointDraft
from app.core.rules import create_refusal
from app.core.test_result import sent_text
from app.ui.desktop.notification_settings import NotifyChoices, NotifyMenu
from app.ui.endpoint_form.endpoint_dialog import EndpointDialog
from app.ui.requests.page.confirm_delete import endpoint_question
from app.ui.services import Services
from app.ui.shell.endpoint_order import EndpointOrder
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.question import ask

FIRST_NAME = "My first endpoint"
_MOVES = {"up": -1, "down": 1}


class EndpointActions(QObject):
    """`made` carries a new endpoint, `said` a short notice, `open_wanted` an endpoint id to be shown."""

    made = Signal(object)
    said = Signal(str)
    open_wanted = Signal(object)
    switch_refused = Signal(object)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._dialog: EndpointDialog | None = None
        self._asking: set[int] = set()
        self.notify = NotifyChoices(services.data_folder, self)
        self.order = EndpointOrder(services, tasks, self)

    def refusal(self) -> str | None:
        """Why no endpoint can be created now; None when one can."""
        return create_refusal(self._services.account.plan, len(self._services.endpoints.all()))

    @Slot()
    def create(self) -> None:
        """Open the form for a new endpoint, or say why there can be none."""
        refusal = self.refusal()
        if refusal is None:
            self._open(None)
        else:
            self.said.emit(refusal)

    @Slot(str)
    def create_with_slug(self, slug: str) -> None:
        """Open the form for a new endpoint of this slug."""
        self.create()
        if self._dialog is not None and self._dialog.form.slug is not None:
            self._dialog.form.slug.slug.setText(slug)
            self._dialog.form.slug.changed.emit("slug")
            self._dialog.form.reveal("slug")
            self._dialog.form.name.setFocus()

    @Slot()
    def create_first(self) -> None:
        """Make the first endpoint without a form."""
        self._tasks.start(self._create_first(), "create the first endpoint")

    @Slot(object)
    def edit(self, endpoint: Endpoint) -> None:
        """Open the form on `endpoint`."""
        current = self._services.endpoints.by_id(endpoint.id)
        if current is not None:
            self._open(current)

    def edit_limit(self, endpoint: Endpoint) -> None:
        """Open the form on `endpoint` at its storage limit."""
        self.edit(endpoint)
        if self._dialog is not None:
            self._dialog.form.reveal("storage_limit")

    @Slot(object)
    def delete(self, endpoint: Endpoint) -> None:
        """Ask, naming what goes, then delete."""
        if endpoint.id not in self._asking:
            self._asking.add(endpoint.id)
            self._tasks.start(self._delete(endpoint), f"delete endpoint {endpoint.id}")

    @Slot(object, bool)
    def set_active(self, endpoint: Endpoint, active: bool) -> None:
        """Switch it on or off."""
        self._tasks.start(self._set_active(endpoint.id, active), f"switch endpoint {endpoint.id}")

    @Slot(object)
    def copy_url(self, endpoint: Endpoint) -> None:
        """Put its capture URL on the clipboard."""
        QGuiApplication.clipboard().setText(self._services.capture_url(endpoint))
        self.said.emit(f"Copied the URL of “{endpoint.name}”.")

    @Slot(object)
    def copy_link(self, endpoint: Endpoint) -> None:
        """Put the link that opens it in Hookline on the clipboard."""
        QGuiApplication.clipboard().setText(link_to_endpoint(endpoint.slug))
        self.said.emit(f"Copied a link that opens “{endpoint.name}”.")

    @Slot(object)
    def send_test(self, endpoint: Endpoint) -> None:
        """Send it a small request."""
        self._tasks.start(self._send_test(endpoint), f"send a test request to endpoint {endpoint.id}")

    @Slot(object, object)
    def show_menu(self, endpoint: Endpoint, place: QPoint) -> None:
        """Pop its menu up at `place` (global)."""
        self.menu(endpoint).popup(place)

    def menu(self, endpoint: Endpoint) -> QMenu:
        """Its menu; it deletes itself when closed."""
        menu = EndpointMenu(endpoint, self._theme, self._window)
        menu.add_notify(self.notify)
        for verb in ("up", "down"):
            menu.set_enabled(verb, self.order.can_move(endpoint.id, _MOVES[verb]))
        menu.verb.connect(self._do)
        return menu

    @Slot(str, object)
    def _do(self, verb: str, endpoint: Endpoint) -> None:
        match verb:
            case "open":
                self.open_wanted.emit(endpoint.id)
            case "switch":
                self.set_active(endpoint, not endpoint.active)
            case "copy":
                self.copy_url(endpoint)
            case "link":
                self.copy_link(endpoint)
            case "test":
                self.send_test(endpoint)
            case "edit":
                self.edit(endpoint)
            case "up" | "down":
                self.order.move_by(endpoint.id, _MOVES[verb])
            case "delete":
                self.delete(endpoint)

    def _open(self, endpoint: Endpoint | None) -> None:
        if self._dialog is not None:
            self._dialog.raise_()
            return
        self._dialog = EndpointDialog(self._services, self._theme, self._tasks, self._window, endpoint)
        self._dialog.saved.connect(self._saved)
        self._dialog.finished.connect(self._closed)
        self._dialog.open()

    @Slot(object, bool)
    def _saved(self, endpoint: Endpoint, created: bool) -> None:
        if created:
            self.made.emit(endpoint)
        else:
            self.said.emit(f"Saved “{endpoint.name}”.")

    @Slot()
    def _closed(self) -> None:
        self._dialog = None

    async def _create_first(self) -> None:
        self.made.emit(await self._services.endpoints.create(EndpointDraft(name=FIRST_NAME)))

    async def _delete(self, endpoint: Endpoint) -> None:
        try:
            held = self._services.captures.counts(endpoint.id).total
            marked = await self._services.captures.clearings.marked(endpoint.id)
            title, text = endpoint_question(endpoint, held, marked)
            if await ask(self._window, self._theme, title, text, "Delete endpoint"):
                await self._services.endpoints.delete(endpoint.id)
        finally:
            self._asking.discard(endpoint.id)

    async def _set_active(self, endpoint_id: int, active: bool) -> None:
        endpoint = self._services.endpoints.by_id(endpoint_id)
        if endpoint is None:
            return
        try:
            await self._services.endpoints.update(endpoint_id, replace(endpoint.draft(), active=active))
        except HooklineError:
            self.switch_refused.emit(endpoint)
            raise

    async def _send_test(self, endpoint: Endpoint) -> None:
        self.said.emit(sent_text(await self._services.send_test(endpoint), endpoint.name))


class EndpointMenu(QMenu):
    """An endpoint's context menu; `verb` says what was chosen."""

    verb = Signal(str, object)

    def __init__(self, endpoint: Endpoint, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._endpoint, self._theme = endpoint, theme
        self.aboutToHide.connect(self.deleteLater)
        for verb, text, icon in (
            ("open", "Open", "all"),
            ("copy", "Copy URL", "copy"),
            ("link", "Copy link", "link"),
            ("test", "Send test request", "send"),
            ("", "", ""),
            ("edit", "Edit…", "edit"),
            ("switch", "Switch off" if endpoint.active else "Switch on", "pause" if endpoint.active else "play"),
            ("up", "Move up\tAlt+Up", "up"),
            ("down", "Move down\tAlt+Down", "down"),
            ("", "", ""),
            ("delete", "Delete…", "delete"),
        ):
            if verb:
                self.addAction(theme.icon(icon), text).setData(verb)
            else:
                self.addSeparator()
        self.triggered.connect(self._chosen)

    def add_notify(self, choices: NotifyChoices) -> None:
        """Offer the choice of notifications, above what deletes."""
        notify = NotifyMenu(choices, self, self._endpoint.slug)
        notify.setIcon(self._theme.icon("notify"))
        self.insertMenu(self.actions()[-2], notify)

    def set_enabled(self, verb: str, enabled: bool) -> None:
        """Whether an entry can be chosen."""
        for action in self.actions():
            if action.data() == verb:
                action.setEnabled(enabled)

    @Slot(object)
    def _chosen(self, action: QAction) -> None:
        if action in self.actions():  # not one of a menu inside this one
            self.verb.emit(action.data(), self._endpoint)

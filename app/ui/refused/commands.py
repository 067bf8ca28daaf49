"""The commands on refused requests: the menu of a row, and the keys of the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QPoint, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.core.curl import curl_of_refused
from app.core.model import Endpoint, Refusal
from app.core.raw_request import slug_of
from app.core.rules import create_refusal, slug_error
from app.ui.commands.command import Command
from app.ui.services import Services
from app.ui.theme.theme import Theme


class RefusedCommands(QObject):
    """Commands on what `selected` returns. `open_requested` carries an endpoint's ID, `create_requested`
    a slug."""

    raw_requested = Signal()
    copy_requested = Signal()
    open_requested = Signal(object)
    create_requested = Signal(str)
    announced = Signal(str)

    def __init__(self, services: Services, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._theme, self._window = services, theme, parent
        self.selected: Callable[[], Sequence[Refusal]] = tuple
        self.show_raw = self._command("Show as received\tEnter", self.raw_requested.emit, "text")
        self.copy_target = self._command("Copy target", self._copy_target, "copy", unavailable=_no_target)
        self.copy_source = self._command("Copy source address", self._copy_source, "copy")
        self.copy_curl = self._command("Copy as curl", self._copy_curl, "code", unavailable=self._no_curl)
        self.copy_row = self._command("Copy row", self.copy_requested.emit, "copy", "Ctrl+C")
        self.open = self._command("Open endpoint", self._open, "hook", unavailable=self._no_endpoint)
        self.create = self._command(
            "Create endpoint with this slug…", self._create, "add", unavailable=self._plan_is_full
        )

    def endpoint_of(self, refusal: Refusal) -> Endpoint | None:
        """The endpoint that has the slug of the request now, if any."""
        slug = slug_of(refusal.target)
        return self._services.store.endpoints.by_slug(slug) if slug else None

    def menu(self, selected: Sequence[Refusal]) -> QMenu:
        """It deletes itself when closed."""
        self.refresh(selected)
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.setToolTipsVisible(True)
        only = selected[0] if len(selected) == 1 else None
        if only is None:
            menu.addAction(self.copy_row)
            return menu
        menu.addAction(self.show_raw)
        menu.addSeparator()
        menu.addActions([self.copy_target, self.copy_source, self.copy_curl, self.copy_row])
        menu.addSeparator()
        menu.addAction(self.create if self.create.isVisible() else self.open)
        return menu

    def show_menu(self, selected: Sequence[Refusal], place: QPoint) -> None:
        """Pop it up at `place` (global)."""
        if selected:
            self.menu(selected).popup(place)

    def refresh(self, selected: Sequence[Refusal]) -> None:
        """Name and enable the commands for these."""
        self.copy_row.setText("Copy row" if len(selected) == 1 else f"Copy {len(selected)} rows")
        if len(selected) != 1:
            return
        self.create.setVisible(self._free_slug(selected[0]) is not None)
        for command in (self.copy_target, self.copy_curl, self.open, self.create):
            command.refresh()

    def copy(self, text: str, message: str) -> None:
        """Copy it, and show `message`."""
        QGuiApplication.clipboard().setText(text)
        self.announced.emit(message)

    def _command(
        self,
        text: str,
        run: Callable[[], object],
        icon: str,
        *keys: str,
        unavailable: Callable[[Refusal], str | None] | None = None,
    ) -> Command:
        def reason() -> str | None:
            only = self._only()
            return unavailable(only) if unavailable is not None and only is not None else None

        return Command(
            text, self._theme, self, run=run, icon=icon, keys=keys, unavailable=reason, say=self.announced.emit
        )

    def _no_curl(self, refusal: Refusal) -> str | None:
        return None if self._curl_of(refusal) is not None else "This request cannot be sent again as received."

    def _no_endpoint(self, refusal: Refusal) -> str | None:
        return None if self.endpoint_of(refusal) is not None else "No endpoint has this slug."

    def _plan_is_full(self, refusal: Refusal) -> str | None:
        return create_refusal(self._services.store.account.plan, len(self._services.store.endpoints.all()))

    def _only(self) -> Refusal | None:
        selected = self.selected()
        return selected[0] if len(selected) == 1 else None

    def _free_slug(self, refusal: Refusal) -> str | None:
        """The slug in its target, if valid and unused."""
        slug = slug_of(refusal.target)
        usable = slug and slug_error(slug) is None and self._services.store.endpoints.by_slug(slug) is None
        return slug if usable else None

    def _curl_of(self, refusal: Refusal) -> str | None:
        if self._services.listening() is None:
            return None
        base = self._services.about.base_url.rstrip("/")
        return curl_of_refused(refusal, self._services.refused.raw(refusal.id), base)

    @Slot()
    def _copy_target(self) -> None:
        if (only := self._only()) is not None:
            self.copy(only.target, "Copied the target.")

    @Slot()
    def _copy_source(self) -> None:
        if (only := self._only()) is not None:
            self.copy(only.source_address, "Copied the source address.")

    @Slot()
    def _copy_curl(self) -> None:
        only = self._only()
        command = self._curl_of(only) if only is not None else None
        if command is not None:
            self.copy(command, "Copied as curl.")

    @Slot()
    def _open(self) -> None:
        only = self._only()
        endpoint = self.endpoint_of(only) if only is not None else None
        if endpoint is not None:
            self.open_requested.emit(endpoint.id)

    @Slot()
    def _create(self) -> None:
        only = self._only()
        slug = self._free_slug(only) if only is not None else None
        if slug is not None:
            self.create_requested.emit(slug)


def _no_target(refusal: Refusal) -> str | None:
    return None if refusal.target else "This request has no target."

"""The header of an endpoint's page: its name, its URL and its commands, and the notices that it is off or paused."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from app.core.bodies.escape import escape
from app.core.model import Endpoint
from app.core.target import Target
from app.core.target_text import paused_text
from app.core.text import count_of
from app.core.worst_state import State
from app.ui.commands.command import ActionButton, Command, CommandButton
from app.ui.deliveries.words import more_text
from app.ui.desktop.notifications import NotificationSettings, NotifyMenu
from app.ui.endpoints.endpoint_actions import EndpointCommands, paused_targets
from app.ui.endpoints.queued_counts import QueuedCounts
from app.ui.services import Services
from app.ui.state_look import LOOKS
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.fields import CopyField
from app.ui.widgets.labels import ElidedLabel, IconLabel, label
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.notices import NoticeText

TEXT_FROM = 400
"""Pixels from which the buttons have words."""
URL_LEAST = 80
"""Pixels; for less of a target's URL, how many more targets there are is said in words."""


class _Target(ElidedLabel):
    """The URL of the first target is elided, how many more there are is not."""

    def shown_text(self) -> str:
        url, space, more = self.text().partition(" ")
        width, fm = self.text_rect().width(), self.fontMetrics()
        if more and width - fm.horizontalAdvance(space + more) < URL_LEAST:
            more = f"+{more.split()[1]}"
        return fm.elidedText(url, self._elide, width - fm.horizontalAdvance(space + more)) + space + more


class EndpointHeader(QFrame):
    """Shows one endpoint, or that all requests are listed. `commands` are on that endpoint."""

    def __init__(
        self,
        commands: EndpointCommands,
        services: Services,
        tasks: Tasks,
        theme: Theme,
        *,
        notify: NotificationSettings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._commands = commands
        self.setProperty("part", "header")
        self.name = ElidedLabel("", "title", self)
        self.facts = label("", "small", self)
        self.target = _Target("", "small", self, Qt.TextElideMode.ElideMiddle)
        self.description = ElidedLabel("", "muted", self)
        self.edit = CommandButton("Edit", commands.edit, theme, self, icon="edit", tooltip="Edit")
        self.test = CommandButton(
            "Send test", commands.send_test, theme, self, icon="send", tooltip="Send a test request"
        )
        self.more = IconButton("more", "More", theme, self)
        self.url = CopyField("", theme, self, what="URL")
        self.qr = ActionButton(commands.show_qr, theme, self)
        self.banner = _Banner(commands.switch, theme, self)
        self.paused_notice = _PausedNotice(services, tasks, commands.resume_forwarding, theme, self)
        self._lines = True, True
        """Whether there is room for the description and for the facts."""
        self._menu = QMenu(self)
        self.notify = NotifyMenu(notify, self._menu)
        self._build_menu()
        self._build_layout()
        self.more.clicked.connect(self._open_menu)
        commands.follow(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow list the buttons show icons only, so that the endpoint's name has room."""
        super().resizeEvent(event)
        self._fit_buttons()

    def _fit_buttons(self) -> None:
        words = {self.edit: "Edit", self.test: "Send test"}
        for button, text in words.items():
            button.setText(text)
        margins = metrics.SPACE_4 + metrics.SPACE_3 + 3 * metrics.SPACE_2
        needed = sum(part.sizeHint().width() for part in (self.name, self.edit, self.test, self.more)) + margins
        if self.width() < max(TEXT_FROM, needed):
            for button in words:
                button.setText("")

    def show_endpoint(self, endpoint: Endpoint | None, url: str, mark: str) -> None:
        """Show `endpoint` with its capture URL and the mark beside that; None stands for all requests."""
        own = endpoint is not None
        if endpoint is not None:
            self.notify.slug = endpoint.slug
        self.name.setText(escape(endpoint.name) if endpoint else "All requests")
        facts, target = facts_of(endpoint) if endpoint else ("", "")
        self.facts.setText(facts)
        self.target.setText(target)
        text = endpoint.description if endpoint else "Requests to all endpoints, newest first."
        self.description.setText(escape(text.replace("\n", " ")))
        self._show_lines()
        self.url.set_text(url, mark)
        for widget in (self.url, self.qr, self.edit, self.test, self.more):
            widget.setVisible(own)
        self._fit_buttons()
        active = endpoint is None or endpoint.active
        self.banner.setVisible(not active)
        self.paused_notice.show_endpoint(endpoint)
        self._commands.refresh()

    def lines_height(self) -> tuple[int, int]:
        """Pixels that the description and the facts take, shown or not."""
        description, facts = (
            max(one.sizeHint().height() for one in line) + metrics.SPACE_2 if line[0].text() else 0
            for line in ((self.description,), (self.facts, self.target))
        )
        return description, facts

    def show_lines(self, *, description: bool, facts: bool) -> None:
        """Where height is short, the page does without them."""
        if (description, facts) != self._lines:
            self._lines = description, facts
            self._show_lines()

    def _show_lines(self) -> None:
        description, facts = self._lines
        self.description.setVisible(description and bool(self.description.text()))
        self.facts.setVisible(facts and bool(self.facts.text()))
        self.target.setVisible(facts and bool(self.target.text()))

    def _build_menu(self) -> None:
        commands = self._commands
        self._menu.setToolTipsVisible(True)
        self._menu.addMenu(self.notify)
        self._menu.addActions(
            [commands.targets, commands.compare, commands.pause_forwarding, commands.resume_forwarding]
        )
        self._menu.addSeparator()
        self._menu.addActions([commands.switch, commands.copy_curl, commands.copy_link, commands.mark_read])
        self._menu.addSeparator()
        self._menu.addActions([commands.clear, commands.delete])

    def _build_layout(self) -> None:
        top = hbox((self.name, 1), self.edit, self.test, self.more, spacing=metrics.SPACE_2)
        facts = hbox(self.facts, (self.target, 1), spacing=metrics.SPACE_1)
        url = hbox((self.url, 1), self.qr, spacing=metrics.SPACE_1)
        inside = vbox(
            top,
            facts,
            self.description,
            url,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_3),
        )
        vbox(inside, self.banner, self.paused_notice, inside=self, spacing=0, margins=0)

    @Slot()
    def _open_menu(self) -> None:
        self._commands.refresh()
        self._menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))


def facts_of(endpoint: Endpoint) -> tuple[str, str]:
    """`Kept 7 days · forwards to` and `http://…`; `Switched off · kept 1 day · not forwarded` and nothing."""
    target = (endpoint.forward_url or "") + more_text(endpoint.targets)
    kept = f"ept {count_of(endpoint.retention_days, 'day')}"
    state = f"K{kept}" if endpoint.active else f"Switched off · k{kept}"
    return f"{state} · {'forwards to' if target else 'not forwarded'}", escape(target)


class _Banner(QFrame):
    """Says that the endpoint is off, with a button that switches it on."""

    def __init__(self, switch: Command, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.button = CommandButton("Switch on", switch, theme, self)
        hbox(
            (label("This endpoint is switched off: senders get 503.", "", self, wrap=True), 1),
            self.button,
            inside=self,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        self.hide()


class _PausedNotice(QFrame):
    """Says that forwarding is paused, with what waits for it. Hidden unless a target of the endpoint is paused."""

    def __init__(self, services: Services, tasks: Tasks, resume: Command, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._targets: list[Target] = []
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        look = LOOKS[State.PAUSED]
        icon = IconLabel(18, theme, self, look.icon, look.colour)
        self.text = NoticeText(theme, self)
        self.resume = CommandButton("Resume", resume, theme, self)
        self.counts = QueuedCounts(services, tasks, self)
        hbox(
            icon,
            (self.text, 1),
            self.resume,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2),
        )
        self.counts.changed.connect(self._refresh)
        self.hide()

    def show_endpoint(self, endpoint: Endpoint | None) -> None:
        """Say what is paused of it; None for no endpoint."""
        self._targets = paused_targets(endpoint) if endpoint is not None else []
        self.counts.watch(self._targets)
        self._refresh()
        self.setVisible(bool(self._targets))

    @Slot()
    def _refresh(self) -> None:
        if not self._targets:
            return
        waiting = self.counts.of(self._targets)
        text = paused_text(self._targets, waiting)
        self.text.say(text, paused_text(self._targets, waiting, brief=True))
        self.setAccessibleName(text)

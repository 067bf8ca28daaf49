"""The head of an endpoint's page: what it is called, where it listens, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.model import Endpoint
from app.core.text import count_of
from app.ui.desktop.notification_settings import NotifyChoices, NotifyMenu
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.copy_field import CopyField
from app.ui.widgets.labels import ElidedLabel, label

WORDED = 400
"""Pixels from which the buttons have words."""


class EndpointHeader(QFrame):
    """Shows one endpoint, or that all requests are listed. What the user asks for leaves as a signal."""

    edit_asked = Signal()
    test_asked = Signal()
    curl_asked = Signal()
    link_asked = Signal()
    switch_asked = Signal()
    read_asked = Signal()
    clear_asked = Signal()
    delete_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "header")
        self.name = ElidedLabel("", "title", self)
        self.facts = label("", "small", self)
        self.target = ElidedLabel("", "small", self, Qt.TextElideMode.ElideMiddle)
        self.description = ElidedLabel("", "muted", self)
        self.edit = Button("Edit", theme, self, icon="edit")
        self.test = Button("Send test", theme, self, icon="send")
        self.edit.setAccessibleName("Edit")
        self.edit.setToolTip("Edit")
        self.test.setAccessibleName("Send a test request")
        self.test.setToolTip("Send a test request")
        self.more = IconButton("more", "More", theme, self)
        self.url = CopyField("", theme, self, what="URL")
        self.banner = _Banner(theme, self)
        self._menu = QMenu(self)
        self.notify: NotifyMenu | None = None
        self._switch = self._menu.addAction("Switch off")
        self._build_menu()
        self._build_layout()
        self.edit.clicked.connect(self.edit_asked)
        self.test.clicked.connect(self.test_asked)
        self.more.clicked.connect(self._open_menu)
        self.banner.button.clicked.connect(self.switch_asked)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow list the buttons leave their words to the tooltips, and the room to the endpoint's name."""
        super().resizeEvent(event)
        self._word_buttons()

    def _word_buttons(self) -> None:
        words = {self.edit: "Edit", self.test: "Send test"}
        for button, text in words.items():
            button.setText(text)
        margins = 2 * metrics.SPACE_4 + 3 * metrics.SPACE_2
        needed = sum(part.sizeHint().width() for part in (self.name, self.edit, self.test, self.more)) + margins
        if self.width() < max(WORDED, needed):
            for button in words:
                button.setText("")

    def offer_notifications(self, choices: NotifyChoices) -> None:
        """Put the choice of notifications into the menu."""
        self.notify = NotifyMenu(choices, self._menu)
        self._menu.insertMenu(self._switch, self.notify)

    def show_endpoint(self, endpoint: Endpoint | None, url: str) -> None:
        """Show `endpoint` with its capture URL; None stands for all requests."""
        own = endpoint is not None
        if self.notify is not None and endpoint is not None:
            self.notify.slug = endpoint.slug
        self.name.setText(escape(endpoint.name) if endpoint else "All requests")
        facts, target = facts_of(endpoint) if endpoint else ("", "")
        self.facts.setText(facts)
        self.target.setText(target)
        self.facts.setVisible(own)
        self.target.setVisible(bool(target))
        text = endpoint.description if endpoint else "What every endpoint received, newest on top."
        self.description.setText(escape(text.replace("\n", " ")))
        self.description.setVisible(bool(text))
        self.url.set_text(url)
        for widget in (self.url, self.edit, self.test, self.more):
            widget.setVisible(own)
        self._word_buttons()
        active = endpoint is None or endpoint.active
        self.banner.setVisible(not active)
        self._switch.setText("Switch off" if active else "Switch on")

    def _build_menu(self) -> None:
        self._switch.triggered.connect(self.switch_asked)
        self._menu.addAction("Copy a ready curl command").triggered.connect(self.curl_asked)
        self._menu.addAction("Copy link").triggered.connect(self.link_asked)
        self._menu.addAction("Mark all as read").triggered.connect(self.read_asked)
        self._menu.addSeparator()
        self._menu.addAction("Delete all requests…").triggered.connect(self.clear_asked)
        self._menu.addAction("Delete endpoint…").triggered.connect(self.delete_asked)

    def _build_layout(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(metrics.SPACE_2)
        top.addWidget(self.name, 1)
        top.addWidget(self.edit)
        top.addWidget(self.test)
        top.addWidget(self.more)
        inside = QVBoxLayout()
        inside.setContentsMargins(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_3, metrics.SPACE_3)
        inside.setSpacing(metrics.SPACE_2)
        inside.addLayout(top)
        facts = QHBoxLayout()
        facts.setSpacing(metrics.SPACE_1)
        facts.addWidget(self.facts)
        facts.addWidget(self.target, 1)
        inside.addLayout(facts)
        inside.addWidget(self.description)
        inside.addWidget(self.url)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(inside)
        column.addWidget(self.banner)

    @Slot()
    def _open_menu(self) -> None:
        self._menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))


def facts_of(endpoint: Endpoint) -> tuple[str, str]:
    """`Kept 7 days · forwards to` and the URL; `Switched off · kept 1 day · not forwarded` and nothing."""
    target = endpoint.forward_url
    kept = f"ept {count_of(endpoint.retention_days, 'day')}"
    state = f"K{kept}" if endpoint.active else f"Switched off · k{kept}"
    return f"{state} · {'forwards to' if target else 'not forwarded'}", escape(target or "")


class _Banner(QFrame):
    """Says that the endpoint is off, with the way to mend it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.button = Button("Switch on", theme, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2)
        row.addWidget(label("This endpoint is switched off: senders get 503.", "", self, wrap=True), 1)
        row.addWidget(self.button)
        self.hide()

"""Notifications through the service that Linux desktops share, `org.freedesktop.Notifications`, over D-Bus.

Qt for Python sends numbers as signed, and the service takes unsigned ones. A proxy that has read the service's own
description converts them, but its calls block: so each runs on a thread, for at most `TIMEOUT_MS`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from html import escape as html_escape
from typing import Any

from PySide6.QtCore import Q_ARG, Q_RETURN_ARG, SLOT, QMetaObject, QObject, Signal, Slot
from PySide6.QtDBus import QDBusConnection, QDBusInterface, QDBusMessage
from PySide6.QtGui import QGuiApplication

from app.core.files import resource
from app.ui.desktop.tray import Notice

log = logging.getLogger(__name__)

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
TIMEOUT_MS = 2_000
DISMISSED = 2
"""The service's reason code for a notification that the user dismissed."""
DEFAULT = "default"
"""The action of a click on the notification itself."""


class Freedesktop(QObject):
    """`clicked` and `dismissed` carry the notice. The service's ID of the latest notification is kept for each key."""

    clicked = Signal(object)
    dismissed = Signal(object)

    def __init__(self, bus: QDBusConnection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bus = bus
        self._capabilities: frozenset[str] | None = None
        self._notices: dict[str, tuple[int, Notice]] = {}
        self._lock = asyncio.Lock()
        for signal, slot in (
            ("ActionInvoked", "_invoked(uint,QString)"),
            ("NotificationClosed", "_closed(uint,uint)"),
            ("ActivationToken", "_may_activate(uint,QString)"),
        ):
            # The service refuses bytes, which its type would suggest.
            bus.connect(NAME, PATH, NAME, signal, self, SLOT(slot))  # type: ignore[call-overload]

    async def check(self) -> bool:
        """Ask the service for its capabilities; False if none answers."""
        async with self._lock:
            return await self._check()

    async def show(self, notice: Notice) -> bool:
        """Show the notice, replacing the last one with its key; False if no service answers."""
        async with self._lock:
            if self._capabilities is None and not await self._check():
                return False
            number = self._notices[notice.key][0] if notice.key in self._notices else 0
            notification_id = await asyncio.to_thread(notify, self._bus, number, *self._arguments(notice))
            if notification_id is None:
                self._capabilities = None
            else:
                self._notices[notice.key] = (notification_id, notice)
            return True

    async def _check(self) -> bool:
        self._capabilities = await asyncio.to_thread(capabilities, self._bus)
        return self._capabilities is not None

    def _arguments(self, notice: Notice) -> tuple[str, str, list[str]]:
        """Title, text and actions for this service. If it renders markup, the text is escaped."""
        can = self._capabilities or frozenset()
        actions = [DEFAULT, "Open"] if "actions" in can else []
        if "body" not in can:
            return f"{notice.title}: {notice.text}", "", actions
        return notice.title, html_escape(notice.text, quote=False) if "body-markup" in can else notice.text, actions

    def _notice(self, number: int) -> Notice | None:
        return next((notice for own, notice in self._notices.values() if own == number), None)

    @Slot("uint", str)
    def _invoked(self, number: int, action: str) -> None:
        notice = self._notice(number)
        if notice is not None and action == DEFAULT:
            self.clicked.emit(notice)

    @Slot("uint", "uint")
    def _closed(self, number: int, reason: int) -> None:
        notice = self._notice(number)
        if notice is not None and reason == DISMISSED:
            self.dismissed.emit(notice)

    @Slot("uint", str)
    def _may_activate(self, number: int, token: str) -> None:
        """On Wayland a window can come to the front only with the token of the click; Qt uses it once."""
        if self._notice(number) is not None and QGuiApplication.platformName() == "wayland":
            os.environ["XDG_ACTIVATION_TOKEN"] = token


def capabilities(bus: QDBusConnection) -> frozenset[str] | None:
    """The service's capabilities, None if no service answers. Blocks: call it on a thread."""
    message = QDBusMessage.createMethodCall(NAME, PATH, NAME, "GetCapabilities")
    reply = bus.call(message, timeout=TIMEOUT_MS)
    if reply.type() is not QDBusMessage.MessageType.ReplyMessage or not reply.arguments():
        log.info("no notification service answers: %s", reply.errorMessage())
        return None
    names = reply.arguments()[0]
    if not isinstance(names, list):
        log.warning("hookline: The notification service returned no list of capabilities; none are assumed.")
        return frozenset()
    return frozenset(map(str, names))


def notify(bus: QDBusConnection, replaces: int, title: str, text: str, actions: list[str]) -> int | None:
    """Show a notification; its ID, or None if the service refuses. Blocks: call it on a thread."""
    service = QDBusInterface(NAME, PATH, NAME, bus)
    service.setTimeout(TIMEOUT_MS)
    hints: dict[str, Any] = {"desktop-entry": "hookline"}
    notification_id: Any = QMetaObject.invokeMethod(
        service,
        "Notify",
        Q_RETURN_ARG("uint"),
        Q_ARG(str, "Hookline"),
        Q_ARG("uint", replaces),
        Q_ARG(str, str(resource("icons/hookline.svg"))),
        Q_ARG(str, title),
        Q_ARG(str, text),
        Q_ARG("QStringList", actions),
        Q_ARG("QVariantMap", hints),
        Q_ARG(int, -1),
    )
    if service.lastError().isValid():
        log.warning("hookline: A notification was refused: %s", service.lastError().message())
        return None
    return int(notification_id)

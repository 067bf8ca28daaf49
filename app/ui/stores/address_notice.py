"""The message that nobody has told at which address senders reach a team's nodes."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.core.node import ADDRESS_ADVICE
from app.ui.messages import Message, Messages
from app.ui.qt_events import QtEvents
from app.ui.services import Services

KEY = "address"
TEXT = "No node says at which address senders reach it, so capture URLs are shown without it."


class AddressNotice(QObject):
    """Posts it while this machine does not capture, and the address is not known."""

    def __init__(self, services: Services, messages: Messages, qt_events: QtEvents, parent: QObject) -> None:
        super().__init__(parent)
        self._services, self._messages = services, messages
        qt_events.capture_urls_changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        if self._services.is_elsewhere and self._services.store.nodes.others.base_url is None:
            self._messages.post(Message(text=TEXT, advice=ADDRESS_ADVICE, tone="info", key=KEY))
        else:
            self._messages.withdraw(KEY)

"""Messages about the store that the window posts by itself: retention waits, or a team's address is not known."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.core.clock_problem import ClockProblem
from app.core.events import RetentionWaiting
from app.core.node import ADDRESS_ADVICE
from app.ui.messages import Message, MessageAction, Messages
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks

RESUME = "Resume deleting"
_RETENTION, _ADDRESS = "retention", "address"
"""The keys of the messages."""
_UNKNOWN_ADDRESS = "No node says at which address senders reach it, so capture URLs are shown without it."


class RetentionNotice(QObject):
    """Posts the message while retention waits."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._retention, self._tasks = services.store.retention, tasks
        self._subscription = services.bus.subscribe(RetentionWaiting, lambda event: self._show(event.problem))
        self._show(services.store.retention.problem)

    def stop(self) -> None:
        self._subscription.end()

    def _show(self, problem: ClockProblem | None) -> None:
        if problem is None:
            self._tasks.messages.withdraw(_RETENTION)
            return
        resume = MessageAction(label=RESUME, run=self._start_resuming)
        message = Message(text=problem.reason, advice=problem.advice, tone="warning", actions=(resume,), key=_RETENTION)
        self._tasks.messages.post(message)

    def _start_resuming(self) -> None:
        self._tasks.start(self._resume(), "resume retention")

    async def _resume(self) -> None:
        try:
            await self._retention.resume()
        finally:
            self._show(self._retention.problem)  # if it failed, the button is needed again


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
            self._messages.post(Message(text=_UNKNOWN_ADDRESS, advice=ADDRESS_ADVICE, tone="info", key=_ADDRESS))
        else:
            self._messages.withdraw(_ADDRESS)

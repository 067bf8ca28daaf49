"""Tells in the window's bar that nothing is deleted by age because the clock may be wrong, and resumes on a click."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.core.clock_problem import ClockProblem
from app.core.events import RetentionWaiting
from app.ui.messages import Message, MessageAction
from app.ui.services import Services
from app.ui.tasks import Tasks

KEY = "retention"
RESUME = "Resume deleting"


class RetentionNotice(QObject):
    """Posts the message as long as there is a reason for it."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._retention, self._tasks = services.retention, tasks
        self._subscription = services.bus.subscribe(RetentionWaiting, self._told)
        self._show(services.retention.problem)

    def stop(self) -> None:
        """Hear no more."""
        self._subscription.end()

    def _told(self, event: RetentionWaiting) -> None:
        self._show(event.problem)

    def _show(self, problem: ClockProblem | None) -> None:
        if problem is None:
            self._tasks.messages.withdraw(KEY)
            return
        resume = MessageAction(label=RESUME, run=self._start_resuming)
        message = Message(text=problem.reason, advice=problem.advice, tone="warning", actions=(resume,), key=KEY)
        self._tasks.messages.post(message)

    def _start_resuming(self) -> None:
        self._tasks.start(self._resume(), "resume retention")

    async def _resume(self) -> None:
        try:
            await self._retention.resume()
        finally:
            self._show(self._retention.problem)  # where it failed, the button is wanted again

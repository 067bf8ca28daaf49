"""The message that retention waits because the clock may be wrong, with a button that resumes it."""

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
    """Posts the message while retention waits."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._retention, self._tasks = services.store.retention, tasks
        self._subscription = services.bus.subscribe(RetentionWaiting, self._problem_changed)
        self._show(services.store.retention.problem)

    def stop(self) -> None:
        self._subscription.end()

    def _problem_changed(self, event: RetentionWaiting) -> None:
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
            self._show(self._retention.problem)  # if it failed, the button is needed again

"""Saves a body to a file that the user selects, and says where it was saved."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.ui.request.body.body_export import save_as
from app.ui.request.body.body_source import BodySource
from app.ui.tasks import Tasks
from app.ui.widgets.toast import Toast


class BodySave(QObject):
    """`source` returns the body, None while there is none; `what` names it in messages."""

    def __init__(
        self,
        over: QWidget,
        tasks: Tasks,
        toast: Toast,
        *,
        source: Callable[[], BodySource | None],
        what: str = "body",
    ) -> None:
        super().__init__(over)
        self._over, self._tasks, self._toast = over, tasks, toast
        self._source, self._what = source, what

    @Slot()
    def start(self) -> None:
        source = self._source()
        if source is not None:
            self._tasks.start(self._save(source), f"{self._what}: save")

    async def _save(self, source: BodySource) -> None:
        path = await save_as(source, self._over, self._what)
        if path is not None:
            self._toast.say(f"Saved as {path}.")

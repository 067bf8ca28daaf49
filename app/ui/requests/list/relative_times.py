"""Keeps the relative times in a list up to date."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QListView

from app.core.clock import now_us
from app.core.text import ago_text
from app.ui.requests.list.delegate import RequestDelegate
from app.ui.requests.list.model import RequestModel

TICK_MS = 1_000


class RelativeTimes(QObject):
    """Repaints only the times that changed, and only in visible rows. `texts` has the shown times by request ID."""

    def __init__(self, rows: QListView, model: RequestModel) -> None:
        super().__init__(rows)
        self._list, self._model = rows, model
        self.texts: dict[str, str] = {}
        self._clock = QTimer(self)
        self._clock.setInterval(TICK_MS)
        self._clock.timeout.connect(self.tick)
        self._clock.start()

    @Slot()
    def tick(self) -> None:
        delegate = self._list.itemDelegate()
        if not self._list.isVisible() or not isinstance(delegate, RequestDelegate):
            return
        viewport = self._list.viewport()
        first = self._list.indexAt(viewport.rect().topLeft())
        relative_times: dict[str, str] = {}
        now = now_us()
        for row in range(max(0, first.row()), self._model.rowCount()):
            rect = self._list.visualRect(self._model.index(row))
            if rect.top() > viewport.height():
                break
            summary = self._model.summary(row)
            relative_times[summary.id] = ago_text(summary.received_at, now)
            if self.texts.get(summary.id) != relative_times[summary.id]:
                viewport.update(delegate.time_rect(rect))
        self.texts = relative_times

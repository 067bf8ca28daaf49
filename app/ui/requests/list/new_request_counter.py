"""Counts the requests that are newer than those a list shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from PySide6.QtCore import QObject, Signal, Slot

from app.core.model import PageKey, Summary
from app.core.repositories import CaptureRepository
from app.ui.tasks import Tasks

REMEMBERED = 20_000
"""Beyond this number requests are counted without their IDs: they may be counted twice, and are counted even if
deleted.
"""
_OLDEST = PageKey(received_at=-1, id="")


class NewRequestCounter(QObject):
    """`changed` carries the new `count`."""

    changed = Signal(int)

    def __init__(self, captures: CaptureRepository, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.count = 0
        self._captures, self._tasks = captures, tasks
        self._names: set[str] = set()
        self._unnamed = 0

    @Slot(int)
    def set(self, count: int) -> None:
        """Set the count; no IDs are known any more."""
        self._names.clear()
        self._unnamed = count
        self._show()

    def add(self, items: Iterable[Summary]) -> None:
        """Count these. A search finds the same ones again as others arrive or are marked: each counts once."""
        self._names.update(item.id for item in items)
        self._show()
        if len(self._names) > REMEMBERED:
            self._unnamed += len(self._names)
            self._names.clear()

    def remove(self, ids: Collection[str]) -> None:
        """These were deleted, whether they were counted or not."""
        self._names.difference_update(ids)
        self._show()

    def check(self, endpoint_id: int | None, newest: PageKey | None) -> None:
        """Some have expired: check which are left above the list's `newest`."""
        if self._names:
            self._tasks.start(self._check(endpoint_id, newest or _OLDEST), "list: what is held")

    async def _check(self, endpoint_id: int | None, newest: PageKey) -> None:
        asked = frozenset(self._names)
        left = await self._captures.page(endpoint_id, after=newest, limit=REMEMBERED)
        if len(left) < REMEMBERED:
            self.remove(asked - {item.id for item in left})

    def _show(self) -> None:
        count = self._unnamed + len(self._names)
        if count != self.count:
            self.count = count
            self.changed.emit(count)

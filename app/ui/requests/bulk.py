"""Work on many requests, a bounded number at a time: it tells how far it is and can be stopped in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

STEP = 200
"""Requests in one go: a moment's work for the store."""


class Bulk(QObject):
    """One work at a time. `verb` says what is being done ("Deleting"), `done` of `total` how far it is."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.verb = ""
        self.done = self.total = 0
        self._stopping = False

    @property
    def busy(self) -> bool:
        """Whether something is being done."""
        return bool(self.verb)

    async def run(self, verb: str, ids: Sequence[str], work: Callable[[Sequence[str]], Awaitable[None]]) -> int:
        """`work` on all of `ids`; how many were done before the end or `stop`. None are while another work goes on."""
        if len(ids) <= STEP:
            await work(ids)
            return len(ids)
        if self.busy:
            return 0
        self.verb, self.done, self.total, self._stopping = verb, 0, len(ids), False
        try:
            while self.done < len(ids) and not self._stopping:
                self.changed.emit()
                some = ids[self.done : self.done + STEP]
                await work(some)
                self.done += len(some)
            return self.done
        finally:
            self.verb = ""
            self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """Do not begin the next step."""
        self._stopping = True

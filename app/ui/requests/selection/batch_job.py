"""Work on many requests, a bounded number at a time: it reports progress and can be stopped in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

STEP = 200
"""Requests in one go: a moment's work for the store."""


class BatchJob(QObject):
    """One job at a time. `verb` says what is done ("Deleting"), `done` of `total` (0: unknown) how far it is."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.verb = ""
        self.done = self.total = 0
        self.stopping = False
        """Whether the user stopped it."""

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return bool(self.verb)

    async def run(self, verb: str, ids: Sequence[str], work: Callable[[Sequence[str]], Awaitable[None]]) -> int:
        """Do `work` on all of `ids`; returns how many were done before `stop`: 0 if another job is running."""
        if len(ids) <= STEP:
            await work(ids)
            return len(ids)
        if self.busy:
            return 0
        self.begin(verb, len(ids))
        try:
            while self.done < len(ids) and not self.stopping:
                some = ids[self.done : self.done + STEP]
                await work(some)
                self.report(self.done + len(some))
            return self.done
        finally:
            self.end()

    def begin(self, verb: str, total: int) -> None:
        """Start a job that calls `report` and `end` itself, and ends when `stopping` is set."""
        self.verb, self.done, self.total, self.stopping = verb, 0, total, False
        self.changed.emit()

    def report(self, done: int) -> None:
        self.done = done
        self.changed.emit()

    def end(self) -> None:
        self.verb = ""
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """Do not start the next step."""
        self.stopping = True
        self.changed.emit()

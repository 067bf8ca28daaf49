"""Work on many requests, a bounded number at a time: it tells how far it is and can be stopped in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot

STEP = 200
"""Requests in one go: a moment's work for the store."""


class BatchJob(QObject):
    """One work at a time. `verb` says what is done ("Deleting"), `done` of `total` (0: not known) how far it is."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.verb = ""
        self.done = self.total = 0
        self.stopping = False
        """Whether the user ended it."""

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
        self.begin(verb, len(ids))
        try:
            while self.done < len(ids) and not self.stopping:
                some = ids[self.done : self.done + STEP]
                await work(some)
                self.come_to(self.done + len(some))
            return self.done
        finally:
            self.end()

    def begin(self, verb: str, total: int) -> None:
        """Something is done that goes its own way, and looks whether it is `stopping`; `total` 0 is not known."""
        self.verb, self.done, self.total, self.stopping = verb, 0, total, False
        self.changed.emit()

    def come_to(self, done: int) -> None:
        """So far it is."""
        self.done = done
        self.changed.emit()

    def end(self) -> None:
        """It is over."""
        self.verb = ""
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """Do not begin the next step."""
        self.stopping = True
        self.changed.emit()

"""Compares the stored responses of two targets in the background, and those that arrive meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.core.comparison.compared_request import ResponsePair, compare_pairs
from app.core.comparison.side_by_side import SideBySide, side_by_side
from app.core.events import DeliveryChanged
from app.core.model import DeliveryState, PageKey
from app.ui.comparison.choice import ComparisonChoice
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread, unless_cancelled
from app.ui.throttle import Throttle

PAGE = 50
"""Requests compared at once: a page is one turn of the GUI thread."""
STEP = 1_000
"""Requests compared until the user asks for more."""
LIVE_MS = 400


class ComparisonRunner(QObject):
    """`found` carries compared requests, newest first; `restarted` says that those found before no longer count.
    `changed` follows any change of `running`, `ended` and `examined`."""

    found = Signal(object)
    restarted = Signal()
    changed = Signal()

    def __init__(self, endpoint_id: int, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._endpoint_id, self._pairs = endpoint_id, services.store.response_pairs
        self._choice: ComparisonChoice | None = None
        self._all, self._new = Latest(self, tasks, "compare responses"), Latest(self, tasks, "compare new responses")
        self._next: PageKey | None = None
        self.running, self.ended, self.examined = False, False, 0
        self._fresh: set[str] = set()
        self._throttle = Throttle(LIVE_MS, self)
        self._throttle.fired.connect(self._compare_fresh)
        self._subscription = services.bus.subscribe(DeliveryChanged, self._delivered)

    def start(self, choice: ComparisonChoice) -> None:
        """Compare from the newest request on."""
        self._choice, self._next, self.ended, self.examined = choice, None, False, 0
        self.restarted.emit()
        self._new.stop()
        self._all.run(partial(self._run, choice))

    def resume(self) -> None:
        """Compare older requests."""
        if self._choice is not None and not self.running and not self.ended:
            self._all.run(partial(self._run, self._choice))

    @Slot()
    def pause(self) -> None:
        """Stop comparing older requests; new ones are still compared."""
        self._all.stop()
        self._ended()

    def stop(self) -> None:
        self._subscription.end()
        self._all.stop()
        self._new.stop()

    async def responses(self, capture_id: str, choice: ComparisonChoice) -> tuple[ResponsePair, SideBySide] | None:
        """What both targets responded to a request; None if that is no longer stored."""
        page = await self._pairs.page(self._endpoint_id, choice.first, choice.second, capture_ids=[capture_id])
        for pair in page.pairs:
            work = partial(side_by_side, pair.first, pair.second, choice.ignored)
            return pair, await in_thread(work)
        return None

    async def _run(self, choice: ComparisonChoice) -> None:
        limit, self.running = self.examined + STEP, True
        self.changed.emit()
        with unless_cancelled(self._ended):
            while not self.ended and self.examined < limit:
                read = partial(self._pairs.page, self._endpoint_id, choice.first, choice.second)
                page = await read(before=self._next, limit=PAGE)
                compared = await in_thread(compare_pairs, page.pairs, choice.ignored)
                self._next, self.ended = page.next, page.next is None
                self.examined += page.examined
                self.found.emit(compared)
                self.changed.emit()

    def _ended(self) -> None:
        self.running = False
        self.changed.emit()

    def _delivered(self, event: DeliveryChanged) -> None:
        delivery, choice = event.delivery, self._choice
        ended = delivery.state is not DeliveryState.QUEUED
        if choice is not None and ended and delivery.target_id in (choice.first, choice.second):
            self._fresh.add(delivery.capture_id)
            self._throttle.call()

    @Slot()
    def _compare_fresh(self) -> None:
        if self._choice is not None and not self._new.running:
            self._new.run(partial(self._compare_new, self._choice))

    async def _compare_new(self, choice: ComparisonChoice) -> None:
        while self._fresh:
            some = sorted(self._fresh, reverse=True)[:PAGE]
            self._fresh.difference_update(some)
            await self._compare_some(some, choice)

    async def _compare_some(self, capture_ids: Sequence[str], choice: ComparisonChoice) -> None:
        page = await self._pairs.page(
            self._endpoint_id, choice.first, choice.second, limit=PAGE, capture_ids=capture_ids
        )
        if page.next is not None:  # their bodies are large
            self._fresh.update(set(capture_ids) - {pair.request.id for pair in page.pairs})
        compared = await in_thread(compare_pairs, page.pairs, choice.ignored)
        if compared:
            self.found.emit(compared)

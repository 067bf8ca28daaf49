"""What can be done with deliveries: open their requests, retry them, send them now, copy them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QPoint, Signal, Slot
from PySide6.QtWidgets import QMenu, QWidget

from app.core.clock import now_us
from app.core.delivery import Delivery, DeliveryFilter, no_retry, no_send_now
from app.core.model import DeliveryState
from app.core.text import count_of, exact_time
from app.ui.commands.command import CommandGroup, Commands, menu_of
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.dialog import ask

ASKED_FROM = 100
"""More deliveries than this are retried only after a question."""
NONE_FAILED = "No failed delivery matches the filter."
NONE_FAILED_AT_ALL = "No delivery has failed."
OTHER_STATE = "The filter lists no failed deliveries."
NO_REPLAYS = "Replays are not retried. Replay the requests again."


class DeliveryCommands(Commands):
    """Commands on what `selected` returns, and on all that match what `listed` returns; without a list in view, on all.
    `open_requested` carries a request's ID."""

    open_requested = Signal(str)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(theme, None, parent, read_only=services.read_only)
        self._services, self._tasks, self._window = services, tasks, parent
        self._checking = Latest(self, tasks, "deliveries: any failed")
        self._again = Throttle(0, self, self._check_next)
        self._any_failed, self._replays_failed = True, False
        """Whether there is one to retry, as far as is known; if there is none, whether replays failed."""
        self.selected: Callable[[], Sequence[Delivery]] = tuple
        self.listed: Callable[[], DeliveryFilter | None] = lambda: None
        self.cells: Callable[[Delivery], Sequence[str]] = lambda delivery: ()
        """What a copied row has after its time."""
        self._target_of = services.store.targets.by_id
        refusal = partial(self._refusal_of_all, self._refusal_of_retry)
        refusal_of_now = partial(self._refusal_of_all, self._refusal_of_now)
        self.open = self.command("Open request\tEnter", "body", self._open)
        self.retry = self.command("Retry", "retry", self._retry, refusal, "Ctrl+R", changes=True)
        self.send_now = self.command("Send now", "send", self._send_now, refusal_of_now, changes=True)
        name = "Retry all failed deliveries…"
        self.retry_all = self.command(
            "Retry all failed…",
            "retry",
            self._retry_all,
            self._no_retry_all,
            group=CommandGroup.LIST,
            name=name,
            changes=True,
        )
        self.copy_url = self.command("Copy target URL", "copy", self._copy_url)
        self.copy_row = self.command("Copy row", "copy", self._copy_rows, None, "Ctrl+C")

    def menu(self, selected: Sequence[Delivery]) -> QMenu:
        """It deletes itself when closed."""
        self.refresh()
        one = len(selected) == 1
        copies = [self.copy_url, self.copy_row] if one else [self.copy_row]
        return menu_of(self._window, [self.open] if one else [], [self.retry, self.send_now], copies)

    @Slot()
    def refresh(self) -> None:
        """Name and enable the commands for what is selected and listed now."""
        selected = self.selected()
        failed = sum(self._refusal_of_retry(one) is None for one in selected)
        self.retry.setText("Retry" if len(selected) <= 1 else f"Retry {count_of(failed, 'delivery', 'deliveries')}")
        self.copy_row.setText("Copy row" if len(selected) <= 1 else f"Copy {len(selected)} rows")
        super().refresh()

    @Slot()
    def check_failed(self) -> None:
        """Others are listed: is there one to retry?"""
        self._checking.run(self._check_failed)

    @Slot()
    def check_again(self) -> None:
        """Deliveries changed: the same, but not all the time where it takes long."""
        self._again.call()

    @Slot()
    def _check_next(self) -> None:
        self._checking.run_next(self._check_failed)

    async def _check_failed(self) -> None:
        page, which = self._services.store.deliveries.page, self.listed() or DeliveryFilter()
        with self._again.paced():
            any_failed = bool(await page(failed_of(which), limit=1))
            replays = replace(which, state=DeliveryState.FAILED, replay=True)
            self._replays_failed = not any_failed and which.replay is None and bool(await page(replays, limit=1))
        self._any_failed = any_failed
        self.retry_all.refresh()

    def _refusal_of_retry(self, delivery: Delivery) -> str | None:
        return no_retry(delivery, self._target_of(delivery.target_id))

    def _refusal_of_now(self, delivery: Delivery) -> str | None:
        return no_send_now(delivery, self._target_of(delivery.target_id), now_us())

    def _refusal_of_all(self, refusal: Callable[[Delivery], str | None]) -> str | None:
        """The reason of the first one that is selected, if it can be done with none."""
        first = None
        for one in self.selected():
            reason = refusal(one)
            if reason is None:
                return None
            first = first or reason
        return first or "No delivery is selected."

    def _no_retry_all(self) -> str | None:
        which = self.listed() or DeliveryFilter()
        if which.state not in (None, DeliveryState.FAILED):
            return OTHER_STATE
        if which.replay or self._replays_failed:
            return NO_REPLAYS
        return None if self._any_failed else _none_failed(which)

    @Slot()
    def _open(self) -> None:
        selected = self.selected()
        if len(selected) == 1:
            self.open_requested.emit(selected[0].capture_id)

    @Slot()
    def _copy_url(self) -> None:
        selected = self.selected()
        if len(selected) == 1:
            url = selected[0].request_url(self._target_of(selected[0].target_id))
            self.copy(url, "Copied the target URL.")

    def _copy_rows(self) -> None:
        """Tab-separated."""
        lines = ["\t".join([exact_time(one.queued_at), *self.cells(one)]) for one in self.selected()]
        if lines:
            self.copy("\n".join(lines), f"Copied {count_of(len(lines), 'row')}.")

    @Slot()
    def _retry(self) -> None:
        ids = tuple(one.id for one in self.selected() if self._refusal_of_retry(one) is None)
        self._tasks.start(self._retry_deliveries(DeliveryFilter(delivery_ids=ids)), "deliveries: retry")

    @Slot()
    def _send_now(self) -> None:
        for one in self.selected():
            if self._refusal_of_now(one) is None:
                self._tasks.start(self._services.store.deliveries.send_now(one), "deliveries: send now")

    @Slot()
    def _retry_all(self) -> None:
        self._tasks.start(self._retry_listed(self.listed()), "deliveries: retry all")

    async def _retry_listed(self, listed: DeliveryFilter | None) -> None:
        """All (None) are retried only after a question: none of them is in view."""
        which = failed_of(listed or DeliveryFilter())
        count = await self._services.store.deliveries.count(which)
        if not count:
            self.announced.emit(_none_failed(listed or DeliveryFilter()))
            return
        if listed is None or count > ASKED_FROM:
            deliveries = count_of(count, "delivery", "deliveries")
            found = "failed and match the filter" if listed is not None else "failed in all endpoints together"
            text = (
                f"{deliveries} {found}. Each is sent again to its target, in the order in which it"
                " was queued. Those of deleted targets are left out."
            )
            over = self._window.window()
            if not await ask(over, self._theme, f"Retry {deliveries}?", text, "Retry", kind="primary"):
                return
        await self._retry_deliveries(which)

    async def _retry_deliveries(self, which: DeliveryFilter) -> None:
        count = await self._services.store.deliveries.retry(which)
        self.announced.emit(f"Retrying {count_of(count, 'delivery', 'deliveries')}." if count else NONE_FAILED)

    def show_menu(self, place: QPoint) -> None:
        """Pop it up at `place` (global)."""
        selected = self.selected()
        if selected:
            self.menu(selected).popup(place)


def _none_failed(listed: DeliveryFilter) -> str:
    return NONE_FAILED_AT_ALL if listed == DeliveryFilter() else NONE_FAILED


def failed_of(which: DeliveryFilter) -> DeliveryFilter:
    """The deliveries of a filter that can be retried."""
    return replace(which, state=DeliveryState.FAILED, replay=False)

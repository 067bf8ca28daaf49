"""The deliveries of a request to each target and its replays, with every attempt."""

from __future__ import annotations

from functools import cached_property, partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFrame, QSplitter, QWidget

from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery, DeliveryFilter, no_retry, no_send_now
from app.core.events import DeliveriesQueued, DeliveryChanged, EndpointSaved, Subscriptions, TargetChanged
from app.core.model import Capture, DeliveryState
from app.core.target import Target
from app.ui.commands.command import menu_of
from app.ui.deliveries.words import paused_text
from app.ui.inspector.attempt_list import AttemptList, Row, rows_of
from app.ui.inspector.attempt_pane import AttemptPane
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import EMPTY_WIDTH, EmptyState
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label
from app.ui.widgets.layout import hbox, stack, vbox

MERGE_MS = 100
LOADED_MAX = 50
"""Deliveries whose attempts are read at once; those of others are read when they are chosen."""
LIST_SHARE = 0.45
"""The largest part of the tab that the timeline takes by itself."""
NO_TARGET = "This endpoint has no forward URL. Choose Edit to set one and forward requests to your code."
NONE_MADE = "The endpoint had no forward URL when this request arrived."


class DeliveriesTab(QWidget):
    """`show_capture` shows a request's deliveries and keeps them up to date. `counted` carries their number."""

    counted = Signal(int)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._capture: Capture | None = None
        self._listed: list[Delivery] = []
        self._attempts: dict[str, list[Attempt]] = {}
        self._latest = Latest(self, tasks, "deliveries: load")
        self._again = Throttle(MERGE_MS, self, self._load)
        self._sized_by_user = False
        self.list = AttemptList(theme, self)
        self._pane: AttemptPane | None = None
        self.notice = label("", "", self, wrap=True)
        self.resume = Button("Resume target", theme, self, icon="play", compact=True, run=self._resume)
        self.resume.set_refusal(services.read_only)
        self._notice_bar = QFrame(self)
        self._split = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False, handleWidth=1)
        self._blank, self._content = QWidget(self), QWidget(self)
        self._lay_out()
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.chosen.connect(self._chosen)
        self._split.splitterMoved.connect(self._sized)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(DeliveryChanged, self._changed)
        self._subscriptions.add(DeliveriesQueued, self._queued)
        self._subscriptions.add(TargetChanged, self._target_changed)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)

    @property
    def pane(self) -> AttemptPane:
        """Created when first shown, as `empty` is: it would slow down the start of the window."""
        if self._pane is None:
            self._pane = AttemptPane(self._services, self._theme, self._tasks, self._split)
            self._split.addWidget(self._pane)
            self._split.setStretchFactor(1, 1)
            self._pane.retry.clicked.connect(self._retry)
            order_tabs(self)
        return self._pane

    @cached_property
    def empty(self) -> EmptyState:
        empty = EmptyState("forward", "Not forwarded", "", self._theme, self)
        empty.set_text_width(EMPTY_WIDTH)
        self._pages.addWidget(empty)
        return empty

    def show_capture(self, capture: Capture) -> None:
        """Show nothing of the request before, and load the deliveries of this one."""
        self.clear()
        self._capture = capture
        self._latest.run(self._read)

    def clear(self) -> None:
        """Show nothing."""
        self._capture, self._listed, self._attempts = None, [], {}
        self.list.forget()
        if self._pane is not None:
            self._pane.clear()
        self._latest.stop()
        self._pages.setCurrentWidget(self._blank)

    def stop(self) -> None:
        """Unsubscribe from the bus, and stop loading."""
        self._subscriptions.end()
        self.clear()

    @Slot()
    def _load(self) -> None:
        if self._capture is not None:
            self._latest.run_next(self._read)

    async def _read(self) -> None:
        capture = self._capture
        if capture is None:
            return
        deliveries = self._services.store.deliveries
        found = await deliveries.of_capture(capture.id)
        known = {one.id: len(self._attempts.get(one.id, ())) for one in found}
        for place, delivery in enumerate(found):
            wanted = place < LOADED_MAX or delivery.id in self._attempts
            if wanted and known[delivery.id] != delivery.attempts:
                self._attempts[delivery.id] = await deliveries.attempts(delivery.id)
        self._show(found)

    def _show(self, found: list[Delivery]) -> None:
        if self._listed and not found:
            return  # The request was deleted meanwhile, but stays open.
        self._listed = found
        self.counted.emit(len(found))
        if not found:
            endpoint = (
                None if self._capture is None else self._services.store.endpoints.by_id(self._capture.endpoint_id)
            )
            self.empty.text.setText(NONE_MADE if endpoint is not None and endpoint.targets else NO_TARGET)
            self._pages.setCurrentWidget(self.empty)
            return
        self._pages.setCurrentWidget(self._content)
        self.list.show_rows(rows_of(found, self._attempts, self._services.store.targets.by_id))
        self._show_notice()
        self._show_current()
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Show what was loaded while the tab was hidden; how much room there is shows only now."""
        super().showEvent(event)
        self._show_current()
        self._fit()

    def _show_current(self) -> None:
        row, capture = self.list.current_record(), self._capture
        if row is None or capture is None or not self.isVisible():
            return
        attempt, made = row.attempt, self._attempts.get(row.delivery.id, [])
        if attempt is None and not row.waiting:
            attempt = next(reversed(made), None)
        # The sender waits for the first response only, which is not that of a retry by the user.
        first = next((one for one in made if one.status is not None), None)
        responded = row.delivery.responded and attempt is not None and attempt is first
        reason = self._not_again(row)
        self.pane.show_attempt(row.delivery, row.target, attempt, capture, not_again=reason, responded=responded)

    def _not_again(self, row: Row) -> str | None:
        """Why the delivery can be neither sent now, if it waits, nor retried."""
        if self._services.read_only is not None:
            return self._services.read_only
        if row.delivery.state is DeliveryState.QUEUED:
            return no_send_now(row.delivery, row.target, now_us())
        return no_retry(row.delivery, row.target)

    def _show_notice(self) -> None:
        paused = self._paused()
        self._notice_bar.setVisible(paused is not None)
        if paused is not None:
            self.notice.setText(paused_text(paused))

    def _paused(self) -> Target | None:
        """The first paused target for which a delivery of this request waits."""
        waiting = (row.target for row in self.list.attempts.records() if row.waiting)
        return next((one for one in waiting if one is not None and one.paused is not None), None)

    def _fit(self) -> None:
        """The timeline gets what it needs, unless the user moved the handle."""
        height = self._split.height()
        if self._listed and self.isVisible() and not self._sized_by_user:
            top = max(96, min(self.list.content_height(), round(height * LIST_SHARE)))
            self._split.setSizes([top, max(1, height - top)])

    def _changed(self, event: DeliveryChanged) -> None:
        if self._capture is not None and event.delivery.capture_id == self._capture.id:
            self._again.call()

    def _queued(self, event: DeliveriesQueued) -> None:
        if self._capture is not None and self._capture.id in event.shown:
            self._again.call()

    def _target_changed(self, event: TargetChanged) -> None:
        if any(one.target_id == event.target.id for one in self._listed):
            self._again.call()

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        if self._capture is not None and event.endpoint.id == self._capture.endpoint_id:
            self._again.call()

    @Slot()
    def _chosen(self) -> None:
        self._show_current()
        row = self.list.current_record()
        if row is not None and row.delivery.id not in self._attempts:
            self._attempts[row.delivery.id] = []  # from now on they are read
            if row.delivery.attempts:
                self._load()

    @Slot()
    def _retry(self) -> None:
        row, deliveries = self.list.current_record(), self._services.store.deliveries
        if row is None:
            return
        if row.delivery.state is DeliveryState.QUEUED:
            self._tasks.start(deliveries.send_now(row.delivery), "deliveries: send now")
        else:
            self._tasks.start(deliveries.retry(DeliveryFilter(delivery_ids=(row.delivery.id,))), "deliveries: retry")

    @Slot()
    def _resume(self) -> None:
        paused = self._paused()
        if paused is not None:
            self._tasks.start(self._services.store.targets.resume(paused.id), "deliveries: resume the target")

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        row = self.list.current_record()
        if row is None:
            return
        menu = menu_of(self)
        retry = menu.addAction("Send now" if row.delivery.state is DeliveryState.QUEUED else "Retry", self._retry)
        reason = self._not_again(row)
        retry.setEnabled(reason is None)
        retry.setToolTip(reason or "")
        menu.addSeparator()
        menu.addAction("Copy URL", partial(QGuiApplication.clipboard().setText, self.pane.copy_url.text_to_copy))
        copy = menu.addAction("Copy request and response as text", self.pane.copy_text.click)
        copy.setEnabled(not self.pane.copy_text.isHidden())
        if not self.list.viewport().rect().contains(place):
            place = self.list.visualRect(self.list.currentIndex()).bottomLeft()
        menu.popup(self.list.viewport().mapToGlobal(place))

    @Slot()
    def _sized(self) -> None:
        self._sized_by_user = True

    def _lay_out(self) -> None:
        hbox(
            (self.notice, 1),
            self.resume,
            inside=self._notice_bar,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        self._notice_bar.setProperty("part", "bar")
        self._notice_bar.setProperty("tone", "warning")
        self._notice_bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._split.setProperty("transparent", True)
        self._split.addWidget(self.list)
        self.list.setMinimumHeight(84)
        # The tab may be lower than an attempt, its body and the timeline are.
        scrolled = Scrolling(self._split, QSize(1, 1), self._content)
        vbox(self._notice_bar, (scrolled, 1), inside=self._content, spacing=0, margins=0)
        self._pages = stack(self._blank, self._content, inside=self)

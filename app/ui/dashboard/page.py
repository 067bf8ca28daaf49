"""The dashboard: figures at the top, every endpoint below, and a first step while there are none."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedLayout, QVBoxLayout, QWidget

from app.core.clock import now_us
from app.core.model import Endpoint
from app.core.rules import FREE_ENDPOINTS
from app.core.text import ago
from app.core.tunnel.tunnel import url_mark
from app.ui.commands.command_button import CommandButton
from app.ui.dashboard.row import RowContents
from app.ui.dashboard.rows import DashboardRows
from app.ui.dashboard.stats import Stats
from app.ui.endpoints.endpoint_actions import FIRST_NAME, EndpointActions
from app.ui.endpoints.endpoint_commands import EndpointMenus
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.accessible import name_clear_button
from app.ui.widgets.buttons import Button
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import ElidedLabel, label

CLOCK_MS = 5_000
MEASURE_MS = 10_000


class DashboardPage(QWidget):
    """`opened` carries the ID of the endpoint to open."""

    opened = Signal(object)

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        qt_events: QtEvents,
        *,
        actions: EndpointActions,
        menus: EndpointMenus,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks, self._qt_events, self._actions = (
            services,
            theme,
            tasks,
            qt_events,
            actions,
        )
        self._menus = menus
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.rows = DashboardRows(self._contents, theme, self)
        self.stats = Stats(theme, self)
        self.empty = self._first_step()
        self.new_button = CommandButton("New endpoint", actions.new, theme, self, kind="primary", icon="add")
        self.filter = QLineEdit(self)
        self._lay_out()
        self._clock = QTimer(self)
        self._clock.setInterval(CLOCK_MS)
        self._clock.timeout.connect(self._refresh_counts)
        self._measure = Throttle(MEASURE_MS, self)
        self._connect()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        endpoints = self._services.store.endpoints.all()
        self.rows.show_endpoints(endpoints)
        self._body.setCurrentIndex(1 if endpoints else 0)
        self.filter.setVisible(len(endpoints) > FREE_ENDPOINTS)
        self.stats.show_plan(len(endpoints), self._services.store.account.plan)
        self._actions.new.refresh()
        self.new_button.setVisible(bool(endpoints))
        self._refresh_place()
        self._refresh_counts()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()
        self._refresh_counts()
        self._measure.call()

    def hideEvent(self, event: QHideEvent) -> None:
        """Rest."""
        super().hideEvent(event)
        self._clock.stop()

    def _connect(self) -> None:
        qt_events, actions = self._qt_events, self._actions
        self.rows.opened.connect(self.opened)
        self.rows.menu_requested.connect(self._menus.show)
        self.rows.switched.connect(actions.set_active)
        self.rows.url_copied.connect(actions.note_copied)
        self.filter.textChanged.connect(self.rows.set_filter)
        self.empty.action.connect(actions.create_first)
        qt_events.endpoints_changed.connect(self.refresh)
        qt_events.plan_changed.connect(self.refresh)
        qt_events.settings_changed.connect(self.refresh)
        qt_events.capture_urls_changed.connect(self.refresh)
        qt_events.counts_changed.connect(self._counts_changed)
        qt_events.purged.connect(self._measure.call)
        actions.switch_refused.connect(self._undo_switch)
        self._measure.fired.connect(self._start_measuring)

    def _lay_out(self) -> None:
        self._place = ElidedLabel("", "muted", self)
        self.filter.setPlaceholderText("Filter endpoints")
        self.filter.setClearButtonEnabled(True)
        name_clear_button(self.filter)
        self.filter.setFixedWidth(220)
        self.filter.setAccessibleName("Filter endpoints")
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Dashboard", "display", self))
        words.addWidget(self._place)
        header = QHBoxLayout()
        header.setSpacing(metrics.SPACE_3)
        header.addLayout(words, 1)
        header.addWidget(self.filter)
        header.addWidget(self.new_button)
        self._body = QStackedLayout()
        self._body.addWidget(self.empty)
        self._body.addWidget(self.rows)
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_4)
        column.addLayout(header)
        column.addWidget(self.stats)
        column.addLayout(self._body, 1)

    def _first_step(self) -> EmptyState:
        text = (
            "An endpoint is a URL of your own. Requests sent to it appear here at once, exactly as they were sent,"
            " and are kept for as many days as you choose."
        )
        action = f"Create “{FIRST_NAME}”"
        empty = EmptyState("", "Catch your first webhook", text, self._theme, self, action=action)
        own = Button("Custom endpoint…", self._theme, empty, kind="link")
        own.clicked.connect(self._actions.new.trigger)
        empty.body.insertWidget(empty.body.count() - 1, own, 0, Qt.AlignmentFlag.AlignHCenter)
        return empty

    def _contents(self, endpoint: Endpoint) -> RowContents:
        now = now_us()
        counts = self._services.store.captures.counts(endpoint.id)
        last = counts.last_received_at
        return RowContents(
            endpoint=endpoint,
            url=self._services.capture_url(endpoint),
            mark=url_mark(self._services.tunnels.url_state),
            counts=counts,
            outcome=self._qt_events.session_stats.last_outcome(endpoint.id),
            activity=tuple(self._qt_events.session_stats.activity(endpoint.id, now)),
            last=ago(last, now) if last is not None else "none yet",
            use=self._services.store.limits.use_of(endpoint.id),
        )

    @Slot()
    def _counts_changed(self) -> None:
        if self.isVisible():
            self._refresh_counts()
            self._measure.call()

    @Slot()
    def _refresh_counts(self) -> None:
        self.rows.refresh()
        self.stats.show_session_stats(self._qt_events.session_stats)
        counts = self._services.store.captures.counts
        kept = sum(counts(endpoint.id).total for endpoint in self._services.store.endpoints.all())
        self.stats.show_kept(kept, self._services.store.limits.use())

    def _refresh_place(self) -> None:
        place = self._services.listening()
        mark = url_mark(self._services.tunnels.url_state)
        here = f"Capturing at {self._services.about.base_url}" if place else "Not capturing: the port is closed"
        self._place.setText(f"{mark.capitalize()} · {here}" if mark else here)

    @Slot(object)
    def _undo_switch(self, endpoint: Endpoint) -> None:
        row = self.rows.row(endpoint.id)
        if row is not None:
            row.switch.setChecked(endpoint.active)

    @Slot()
    def _start_measuring(self) -> None:
        if self.isVisible():
            self._tasks.start(self._show_size(), "measure the store", self)

    async def _show_size(self) -> None:
        size = await self._services.store.retention.size()
        self.stats.show_size(size, waiting=self._services.store.retention.problem is not None)

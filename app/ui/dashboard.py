"""The dashboard: figures at the top, every endpoint below, and a first step while there are none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QAccessible, QColor, QFont, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.clock import now_us
from app.core.model import Endpoint, Plan, StorageSize, StorageUse
from app.core.rules import FREE_ENDPOINTS
from app.core.sizes import exact_size
from app.core.text import ago, capturing_text, count_of, size_text, use_text
from app.ui.commands.command import CommandButton
from app.ui.dashboard_row import HEIGHT, Columns, DashboardRow, RowContents
from app.ui.endpoints.endpoint_actions import FIRST_NAME, EndpointActions
from app.ui.qt_events import QtEvents, SessionStats
from app.ui.services import Services
from app.ui.state_look import state_of
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle, WhileShown
from app.ui.widgets.badge import Meter, Painted
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, EmptyState, Page, line
from app.ui.widgets.fields import SearchField
from app.ui.widgets.fit_screen import ColumnScroll
from app.ui.widgets.focus import focus_first, order_tabs
from app.ui.widgets.labels import FittingLabel, label, plain_tooltip, style
from app.ui.widgets.layout import SideBySide, Stretch, fill, hbox, stack, vbox

_CELLS = (
    ("received", "Received", "since start", "Requests that reached the capture port since this window opened"),
    (
        "stored",
        "Stored",
        "captured",
        "Requests captured since this window opened, saved to disk before the sender got a response",
    ),
    ("forwarded", "Forwarded", "delivered", "Deliveries that a forward URL accepted"),
    ("failed", "Failed", "deliveries", "Deliveries that a forward URL did not accept"),
    ("refused", "Refused", "not stored", "Requests that were not captured; see Refused"),
)
FIRST, BATCH = 12, 6
"""Rows created at once, and in each later turn of the event loop."""
_HEADING = 36


class Stats(SideBySide):
    """Each `show_*` method updates one part."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(metrics.SPACE_3, parent)
        self._values = {key: label("0", "title", self) for key, _, _, _ in _CELLS}
        self._plan = label("", "title", self)
        self._plan_note = FittingLabel("small", self)
        self._meter = Meter("Endpoints", theme, self)
        self._size = label("—", "title", self)
        self._size_note = FittingLabel("small", self)
        self._size_meter = Meter("Storage", theme, self)
        session = hbox(self._session_card())
        plan = self._figure_card("Endpoints", self._plan, self._plan_note, self._meter)
        storage = self._figure_card("Storage", self._size, self._size_note, self._size_meter)
        self.add_parts((session, 13), (hbox((plan, 1), (storage, 1), spacing=metrics.SPACE_3), 10))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_session_stats(self, session_stats: SessionStats) -> None:
        """The five counts; failures and refusals are coloured once there are any."""
        for key, _, _, _ in _CELLS:
            number: int = getattr(session_stats, key)
            cell = self._values[key]
            cell.setText(f"{number:,}" if number < 10_000_000 else f"{number // 1_000_000:,}M")
            style(cell, "alarm", "danger" if key == "failed" and number else None)

    def show_plan(self, count: int, plan: Plan) -> None:
        """Show how many endpoints the plan still allows."""
        free = plan is Plan.FREE
        self._plan.setText(f"{count} of {FREE_ENDPOINTS}" if free else f"{count}")
        left = FREE_ENDPOINTS - count
        note = (f"{left} left" if left > 0 else "none left") if free else "no limit"
        self._plan_note.set_wordings((f"{note} · {'Free' if free else 'Pro'}", note))
        self._meter.set_use(count, FREE_ENDPOINTS if free else 0)
        self._meter.setVisible(free)

    def show_kept(self, kept: int, use: StorageUse) -> None:
        """Show how many requests are stored, and how much of the storage limit they use."""
        limit = "" if use.limit is None else f"of {exact_size(use.limit)} · "
        figure = use_text(use.used, use.limit).partition(" of ")[0]
        self._size.setText(figure)
        count = count_of(kept, "request")
        stopped = "full, not capturing" if use.capturing_stopped else "full, oldest deleted" if use.reached else count
        meaning = f"{use_text(use.used, use.limit)} stored, {count}"
        self._size_note.set_wordings((f"{limit}{stopped}", stopped), meaning)
        self._size_meter.set_use(use.used, use.limit or 0)
        self._size_meter.setVisible(use.limit is not None)
        style(self._size, "alarm", "danger" if use.capturing_stopped else None)

    def show_size(self, size: StorageSize, *, waiting: bool) -> None:
        """Show the size of the files, and what retention will delete."""
        then = "kept until the clock is trusted" if waiting else "deleted at the next cleanup"
        expired = f"{count_of(size.expired, 'request')} past retention, {then}" if size.expired else "Nothing to delete"
        stored = "Stored: bodies, headers and targets of requests, which the storage limit counts"
        on_disk = f"On disk: {size_text(size.file_bytes)}, with responses of targets and the search index"
        self._size.setToolTip(plain_tooltip(f"{stored}\n{on_disk}\n{expired}"))

    def _session_card(self) -> Card:
        card = Card(self, padding=0)
        row = hbox(spacing=0)
        for place, (key, title, note, text) in enumerate(_CELLS):
            if place:
                row.addWidget(line(card, vertical=True))
            cell = QWidget(card)
            cell.setToolTip(text)
            left = metrics.SPACE_2 if place else metrics.SPACE_3
            margins = (left, metrics.SPACE_3, metrics.SPACE_1, metrics.SPACE_3)
            words = label(title, "small", cell), self._values[key], label(note, "faint", cell)
            vbox(*words, inside=cell, spacing=metrics.SPACE_1, margins=margins)
            row.addWidget(cell, 1)
        card.body.addLayout(row)
        return card

    def _figure_card(self, title: str, figure: QWidget, note: QWidget, meter: QWidget) -> Card:
        card = Card(self, padding=metrics.SPACE_3)
        card.body.setSpacing(metrics.SPACE_1)
        fill(card.body, label(title, "small", card), hbox(figure, (meter, 1), spacing=metrics.SPACE_3), note)
        return card


CLOCK_MS = 5_000
MEASURE_MS = 10_000


class DashboardPage(Page):
    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        qt_events: QtEvents,
        *,
        actions: EndpointActions,
        parent: QWidget,
    ) -> None:
        super().__init__("Dashboard", "", parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self._qt_events, self._actions = qt_events, actions
        self.rows = DashboardRows(self._contents, actions, theme, self)
        self.stats = Stats(theme, self)
        self.empty = self._first_step()
        self.new_button = CommandButton("New endpoint", actions.new, theme, self, kind="primary", icon="add")
        self.filter = SearchField("Filter endpoints", self)
        self._lay_out()
        WhileShown(self, self._refresh_counts, CLOCK_MS)
        self._measure = Throttle(MEASURE_MS, self, self._start_measuring)
        self._connect()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        endpoints = self._services.store.endpoints.all()
        self.rows.show_endpoints(endpoints)
        self._body.setCurrentIndex(1 if endpoints else 0)
        self.filter.setVisible(len(endpoints) > FREE_ENDPOINTS or bool(self.filter.text()))
        self.stats.show_plan(len(endpoints), self._services.store.account.plan)
        self._actions.new.refresh()
        self.new_button.setVisible(bool(endpoints))
        self._refresh_place()
        self._refresh_counts()

    def take_focus(self) -> None:
        focus_first(self.rows if self.rows.row_count() else self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._measure.call()

    def _connect(self) -> None:
        qt_events, actions = self._qt_events, self._actions
        self.filter.textChanged.connect(self.rows.set_filter)
        self.empty.action.connect(actions.create_first)
        qt_events.endpoints_changed.connect(self.refresh)
        qt_events.plan_changed.connect(self.refresh)
        qt_events.capture_urls_changed.connect(self.refresh)
        qt_events.counts_changed.connect(self._counts_changed)
        actions.switch_refused.connect(self._undo_switch)

    def _lay_out(self) -> None:
        self.filter.setFixedWidth(176)
        fill(self.header, self.filter, self.new_button)
        self.header.setSpacing(metrics.SPACE_3)
        self._body = stack(self.empty, self.rows)
        vbox(self.header, self.stats, (self._body, 1), inside=self, spacing=metrics.SPACE_4, margins=metrics.SPACE_5)

    def _first_step(self) -> EmptyState:
        text = (
            "An endpoint is a URL of your own. Requests sent to it appear here at once, exactly as they were sent,"
            " and are kept for as many days as you choose."
        )
        action = f"Create “{FIRST_NAME}”"
        empty = EmptyState("", "Catch your first webhook", text, self._theme, self, action=action)
        if empty.button is not None:
            empty.button.set_refusal(self._services.read_only)
        own = Button("Custom endpoint…", self._theme, empty, kind="link", run=self._actions.new.trigger)
        empty.body.insertWidget(empty.body.count() - 1, own, 0, Qt.AlignmentFlag.AlignHCenter)
        return empty

    def _contents(self, endpoint: Endpoint) -> RowContents:
        now = now_us()
        counts = self._services.store.captures.counts(endpoint.id)
        last = counts.last_received_at
        return RowContents(
            endpoint=endpoint,
            url=self._services.capture_url(endpoint),
            mark=self._services.url_mark,
            counts=counts,
            state=state_of(endpoint, self._services, self._qt_events.session_stats),
            activity=tuple(self._qt_events.session_stats.activity(endpoint.id, now)),
            last=ago(last, now) if last is not None else "none yet",
            use=self._services.store.limits.use_of(endpoint.id),
            read_only=self._services.read_only,
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
        mark = self._services.url_mark
        base = self._services.about.base_url
        here = f"Capturing at {base}" if place else "Not capturing: the port is closed"
        if self._services.is_elsewhere:
            where = f"Captured at {base}" if base else "The address for senders is not known"
            nodes = capturing_text(self._services.store.nodes.others.capturing)
            may = "" if self._services.read_only is None else " · read-only"
            here = f"{where} · {nodes}, this machine does not{may}"
        self.about.setText(f"{mark.capitalize()} · {here}" if mark else here)

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


class DashboardRows(Card):
    """`contents` returns the current contents of an endpoint's row."""

    accessible_role = QAccessible.Role.List

    def __init__(
        self,
        contents: Callable[[Endpoint], RowContents],
        actions: EndpointActions,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        super().__init__(parent, padding=1)
        self._contents, self._actions, self._theme = contents, actions, theme
        self._rows: dict[int, DashboardRow] = {}
        self._endpoints: tuple[Endpoint, ...] = ()
        self._filter = ""
        self._more = QTimer(self, singleShot=True, interval=10)
        self._more.timeout.connect(self._add_batch)
        self._container = QWidget()
        self._container.setProperty("transparent", True)
        self._nothing = label("No endpoints match the filter.", "muted", self._container)
        self._nothing.setMargin(metrics.SPACE_4)  # its contents margins are reset by the style sheet
        self._nothing.hide()
        self._list = vbox(self._nothing, Stretch(), inside=self._container, spacing=0, margins=0)
        self.body.setSpacing(0)
        fill(self.body, Heading(self._container, theme, self), (ColumnScroll(self._container, self), 1))

    def row(self, endpoint_id: int) -> DashboardRow | None:
        """An endpoint's row; None until it has been created."""
        return self._rows.get(endpoint_id)

    def row_count(self) -> int:
        return len(self._rows)

    def show_endpoints(self, endpoints: tuple[Endpoint, ...]) -> None:
        """Show these endpoints in this order."""
        self._endpoints = endpoints
        ids = {endpoint.id for endpoint in endpoints}
        for removed_id in [row_id for row_id in self._rows if row_id not in ids]:
            row = self._rows.pop(removed_id)
            row.hide()
            row.deleteLater()
        self._put_in_order()
        self.refresh()
        self._add_batch()
        self._narrow()

    def _put_in_order(self) -> None:
        """Existing rows may have been moved."""
        present = [row for endpoint in self._endpoints if (row := self._rows.get(endpoint.id)) is not None]
        if [self._list.indexOf(row) for row in present] != list(range(len(present))):
            for place, row in enumerate(present):
                self._list.insertWidget(place, row)
            order_tabs(self._container)

    @Slot()
    def refresh(self) -> None:
        """Update every row; rows whose facts have not changed are not repainted."""
        for endpoint in self._endpoints:
            row = self._rows.get(endpoint.id)
            if row is not None:
                row.show_contents(self._contents(endpoint))
        self._shorten_urls()

    def _shorten_urls(self) -> None:
        """All alike."""
        rows = self._rows.values()
        widest = tuple(map(max, zip(*(row.url.widths for row in rows), strict=True)))
        for row in rows:
            row.shorten_url(widest)

    @Slot(str)
    def set_filter(self, text: str) -> None:
        """Show only endpoints whose name, description, tags or URLs contain `text`."""
        self._filter = text.strip().casefold()
        self._narrow()

    def _narrow(self) -> None:
        """Endpoints may have been added or renamed, too."""
        fitting = 0
        for row in self._rows.values():
            fits = self._fits(row)
            row.setVisible(fits)
            fitting += fits
        self._nothing.setVisible(bool(self._rows) and not fitting)
        rows = fitting if self._filter else len(self._endpoints)
        self.setMaximumHeight(_HEADING + max(1, rows) * HEIGHT + 4)  # the card ends below its last row

    def _fits(self, row: DashboardRow) -> bool:
        if not self._filter:
            return True
        endpoint = row.contents.endpoint
        urls = (target.url for target in endpoint.targets)
        texts = (endpoint.name, endpoint.description, *endpoint.tags, row.contents.url, *urls)
        return self._filter in "\n".join(texts).casefold()

    @Slot()
    def _add_batch(self) -> None:
        missing = [(place, one) for place, one in enumerate(self._endpoints) if one.id not in self._rows]
        most = BATCH if self._rows else FIRST
        for place, endpoint in missing[:most]:
            self._list.insertWidget(place, self._new_row(endpoint))
        if len(missing) > most:
            self._more.start()
        if missing:
            self._shorten_urls()
            self._narrow()
            order_tabs(self._container)

    def _new_row(self, endpoint: Endpoint) -> DashboardRow:
        row = DashboardRow(self._contents(endpoint), self._theme, self._container)
        row.clicked.connect(partial(self._actions.open_requested.emit, endpoint.id))
        row.menu_requested.connect(self._actions.show_menu)
        row.switched.connect(self._actions.set_active)
        row.url_copied.connect(self._actions.note_copied)
        self._rows[endpoint.id] = row
        return row


class Heading(Painted):
    """The column titles above `rows`."""

    def __init__(self, rows: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(QSize(400, _HEADING), theme, parent)
        self._rows = rows
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self.theme.tokens
        columns = Columns.of(self._rows.width(), _HEADING)
        painter = QPainter(self)
        painter.setFont(ui_font(SMALL, QFont.Weight.Medium))
        painter.setPen(QColor(tokens.text_faint))
        for room, text in (
            (columns.name, "Endpoint"),
            (columns.target, "Forwarded to"),
            (columns.retention, "Retention" if columns.retention.width() else ""),
            (columns.requests, "Requests"),
            (columns.activity, "Last hour" if columns.activity.width() else ""),
        ):
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)

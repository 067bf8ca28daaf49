"""The page of refused requests: what reached the capture port, was not stored, and why; and the bytes of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSplitter, QWidget

from app.core.curl import curl_of_refused
from app.core.model import REFUSED_RAW_MAX, Endpoint, Refusal
from app.core.raw_request import slug_of
from app.core.rules import slug_error
from app.core.text import clock_time, count_of, exact_time, size_text, source_text
from app.ui.commands.command import Commands, menu_of
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.body_source import of_bytes
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, EmptyState, Page
from app.ui.widgets.focus import current_in_view
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import fill, stack, vbox
from app.ui.widgets.rows import NONE, Column, Rows, RowsView, badge_place


class RefusedCommands(Commands):
    """Commands on what is selected in `page`."""

    def __init__(self, services: Services, theme: Theme, actions: EndpointActions, page: RefusedPage) -> None:
        super().__init__(theme, actions.announced.emit, page, read_only=services.read_only)
        self._services, self._actions, self._page = services, actions, page
        self.show_raw = self.command("Show as received\tEnter", "text", page.enter_raw)
        self.copy_target = self.command("Copy target", "copy", partial(self._with_one, self._copy_target), _no_target)
        self.copy_source = self.command("Copy source address", "copy", partial(self._with_one, self._copy_source))
        self.copy_curl = self.command("Copy as curl", "code", partial(self._with_one, self._copy_curl), self._no_curl)
        self.copy_row = self.command("Copy row", "copy", page.copy_rows, None, "Ctrl+C")
        self.open = self.command("Open endpoint", "hook", partial(self._with_one, self._open), self._no_endpoint)
        self.create = self.command(
            "Create endpoint with this slug…",
            "add",
            partial(self._with_one, self._create),
            self._plan_is_full,
            changes=True,
        )

    def endpoint_of(self, refusal: Refusal) -> Endpoint | None:
        """The endpoint that has the slug of the request now, if any."""
        slug = slug_of(refusal.target)
        return self._services.store.endpoints.by_slug(slug) if slug else None

    def menu(self, selected: Sequence[Refusal]) -> QMenu:
        """It deletes itself when closed."""
        self.copy_row.setText("Copy row" if len(selected) == 1 else f"Copy {len(selected)} rows")
        if len(selected) != 1:
            return menu_of(self._page, [self.copy_row])
        self.create.setVisible(self._free_slug(selected[0]) is not None)
        self.refresh()
        copies = [self.copy_target, self.copy_source, self.copy_curl, self.copy_row]
        last = self.create if self.create.isVisible() else self.open
        return menu_of(self._page, [self.show_raw], copies, [last])

    def _reason(self, unavailable: Callable[[Refusal], str | None] | None) -> str | None:
        only = self._only()
        return unavailable(only) if unavailable is not None and only is not None else None

    def _no_curl(self, refusal: Refusal) -> str | None:
        return None if self._curl_of(refusal) is not None else "This request cannot be sent again as received."

    def _no_endpoint(self, refusal: Refusal) -> str | None:
        return None if self.endpoint_of(refusal) is not None else "No endpoint has this slug."

    def _plan_is_full(self, refusal: Refusal) -> str | None:
        return self._services.no_endpoint()

    def _only(self) -> Refusal | None:
        selected = self._page.selected()
        return selected[0] if len(selected) == 1 else None

    def _free_slug(self, refusal: Refusal) -> str | None:
        """The slug in its target, if valid and unused."""
        slug = slug_of(refusal.target)
        usable = slug and slug_error(slug) is None and self._services.store.endpoints.by_slug(slug) is None
        return slug if usable else None

    def _curl_of(self, refusal: Refusal) -> str | None:
        if self._services.listening() is None:
            return None
        base = self._services.about.base_url.rstrip("/")
        return curl_of_refused(refusal, self._services.refused.raw(refusal.id), base)

    def _with_one(self, run: Callable[[Refusal], object]) -> None:
        if (only := self._only()) is not None:
            run(only)

    def _copy_target(self, refusal: Refusal) -> None:
        self.copy(refusal.target, "Copied the target.")

    def _copy_source(self, refusal: Refusal) -> None:
        self.copy(refusal.source_address, "Copied the source address.")

    def _copy_curl(self, refusal: Refusal) -> None:
        if (command := self._curl_of(refusal)) is not None:
            self.copy(command, "Copied as curl.")

    def _open(self, refusal: Refusal) -> None:
        if (endpoint := self.endpoint_of(refusal)) is not None:
            self._actions.open_requested.emit(endpoint.id)

    def _create(self, refusal: Refusal) -> None:
        if (slug := self._free_slug(refusal)) is not None:
            self._actions.create_with_slug(slug)


def _no_target(refusal: Refusal) -> str | None:
    return None if refusal.target else "This request has no target."


RAW_HEIGHT = 280
ROW = 36
_HEAD_END = b"\r\n\r\n"
TIME, STATUS, METHOD, TARGET, ENDPOINT, REASON, SOURCE = range(7)
_STATUS_SIZE = QSize(40, 18)
_REASON_MIN, _REASON_USUAL, _REASON_MAX = 202, 232, 400
"""Widths of the column. Most reasons fit the second."""
_TARGET_MIN = 180


def columns(theme: Theme, endpoint_of: Callable[[Refusal], Endpoint | None]) -> list[Column[Refusal]]:
    """`endpoint_of` finds the endpoint a request was for, as it is now. Target and reason share what the others leave;
    the pane below shows what is hidden for the selected request.
    """

    def endpoint_name(refusal: Refusal) -> str:
        endpoint = endpoint_of(refusal)
        return endpoint.name if endpoint is not None else ""

    middle = Qt.TextElideMode.ElideMiddle
    return [
        Column("Time", lambda refusal: clock_time(refusal.at), lambda refusal: exact_time(refusal.at), width=114),
        Column("Status", lambda refusal: str(refusal.status), paint=partial(_paint_status, theme), width=66),
        Column("Method", lambda refusal: refusal.method or NONE, paint=partial(_paint_method, theme), width=82),
        Column("Target", lambda refusal: refusal.target or NONE, elide=middle, stretches=True),
        Column("Endpoint", endpoint_name, width=116, needs=748),
        Column("Reason", lambda refusal: refusal.reason),
        Column("Source", lambda refusal: refusal.source_address, width=104, needs=868),
    ]


def _paint_status(theme: Theme, painter: QPainter, place: QRect, refusal: Refusal) -> None:
    badge = QRectF(badge_place(place, _STATUS_SIZE.width(), _STATUS_SIZE.height()))
    tone: Tone = "danger" if refusal.status >= 500 else "warning"
    paint_pill(painter, badge, str(refusal.status), theme.tokens, tone)


def _paint_method(theme: Theme, painter: QPainter, place: QRect, refusal: Refusal) -> None:
    badge = QRectF(badge_place(place, METHOD_SIZE.width(), METHOD_SIZE.height()))
    paint_method(painter, badge, refusal.method.replace("\n", " "), theme.tokens)


class RefusedTable(RowsView):
    def __init__(self, model: Rows[Refusal], parent: QWidget) -> None:
        super().__init__("Refused requests", parent)
        self._reason_width: int | None = None
        """As set here; the column has another width once the user dragged it."""
        self.show_rows(model, ROW)
        self.horizontalHeader().setMinimumSectionSize(48)

    def share_room(self) -> None:
        """Give target and reason half each of what the other columns leave, and the reason what the targets do not
        need; in a narrow table the target, which says enough with its middle left out, makes room for the reason.
        """
        if self._reason_width not in (None, self.columnWidth(REASON)):
            return
        others = set(range(self.model().columnCount())) - {TARGET, REASON}
        rest = self.viewport().width() - sum(map(self.columnWidth, others))
        spare = rest - max(self.sizeHintForColumn(TARGET), _TARGET_MIN)
        shared = max(_REASON_MIN, min(rest - _TARGET_MIN, _REASON_USUAL), min(rest // 2, _REASON_MAX))
        self._reason_width = max(shared, min(spare, self.sizeHintForColumn(REASON)))
        self.setColumnWidth(REASON, self._reason_width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A selected row in view stays there: the pane below takes room when it opens."""
        with current_in_view(self, event):
            super().resizeEvent(event)
            self.share_room()


class RawPane(Card):
    """The bytes of a refused request, as text with every character visible, or as hexadecimal."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent, padding=1)
        self.reason = label("", "strong", self, wrap=True)
        self.caption = ElidedLabel("", "muted", self)
        top = vbox(self.reason, self.caption, spacing=2, margins=(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_4, 0))
        self.view = BodyPane(theme, tasks, self, "No bytes of this request were kept")
        fill(self.body, top, (self.view, 1))

    def show_refusal(self, refusal: Refusal, raw: bytes | None, endpoint: str | None = None) -> None:
        """Show `raw`, the bytes received, None if they were dropped; `endpoint` is a name."""
        data = raw or b""
        size = size_text(refusal.raw_size)
        if len(data) == REFUSED_RAW_MAX:
            text = f"The first {size}, as received"
        elif data.partition(_HEAD_END)[1:] == (_HEAD_END, b""):
            text = f"The head, {size}, as received"
        elif data:
            text = f"{size}, as received"
        elif refusal.raw_size:
            text = f"The {size} received were dropped to make room for newer requests"
        else:
            text = "No bytes were received"
        self.reason.setText(refusal.reason)
        source = f"from {source_text(refusal.source_address, refusal.source_port)}"
        self.caption.setText(" · ".join(filter(None, (text, source, f"for “{endpoint}”" if endpoint else ""))))
        self.view.show_source(of_bytes(data, f"refused-{refusal.id}"))

    def sizeHint(self) -> QSize:
        """Enough for the head of a usual request."""
        return QSize(super().sizeHint().width(), RAW_HEIGHT)


SUBTITLE = "Requests that were not stored. The newest 1,000, until Hookline quits."


class RefusedPage(Page):
    """The last 1,000, newest first, in memory only. Below the list is the selected one as it was received."""

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
        super().__init__("Refused", SUBTITLE, parent)
        self.setAccessibleName("Refused")
        self._refused, self._qt_events = services.refused, qt_events
        self._current: Refusal | None = None
        self.commands = RefusedCommands(services, theme, actions, self)
        self.model = Rows(columns(theme, self.commands.endpoint_of), self)
        self.table = RefusedTable(self.model, self)
        text = (
            "Requests that Hookline did not capture are listed here with the reason: an unknown URL, an endpoint that"
            " is switched off, wrong credentials, a body too large, malformed HTTP."
        )
        if services.is_elsewhere:
            text = "This machine does not capture. Each node lists what it refused itself: hookline refused, there."
        self.empty = EmptyState("check-circle", "No refused requests", text, theme, self)
        self.clear_button = Button("Clear list", theme, self, run=self.clear)
        self.raw = RawPane(theme, tasks, self)
        self.raw.hide()
        self._lay_out()
        self.commands.copy_row.add_to(self.table)
        self.table.customContextMenuRequested.connect(self._show_menu)
        qt_events.endpoints_changed.connect(self.model.refresh_cells)
        self.table.selectionModel().selectionChanged.connect(self._show_selected)
        self.table.activated.connect(self.enter_raw)
        self.model.rowsRemoved.connect(self._show_selected)
        qt_events.refused_changed.connect(self._changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        rows, were_listed = self._refused.newest(), self.model.rowCount() > 0
        self.model.show_records(rows, attrgetter("id"))
        if not were_listed:  # rows that arrive later move no column
            self.table.share_room()
        self._body.setCurrentIndex(1 if rows else 0)
        self.clear_button.setEnabled(bool(rows))

    @Slot()
    def clear(self) -> None:
        """Clear the list."""
        self._refused.clear()
        self.refresh()
        self._qt_events.refused_changed.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def _changed(self) -> None:
        if self.isVisible():
            self.refresh()

    @Slot()
    def _show_selected(self) -> None:
        """Show the selected request; nothing if several or none are selected."""
        rows = self.table.selectionModel().selectedRows()
        refusal = self.model.record(rows[0].row()) if len(rows) == 1 else None
        if refusal is None:
            self.raw.view.stop()
        elif refusal is not self._current:
            endpoint = self.commands.endpoint_of(refusal)
            self.raw.show_refusal(refusal, self._refused.raw(refusal.id), endpoint.name if endpoint else None)
        self._current = refusal
        self.raw.setVisible(refusal is not None)

    @Slot()
    def enter_raw(self) -> None:
        """Move into what came of the selected request."""
        if self.raw.isVisible():
            self.raw.view.take_focus()

    def selected(self) -> list[Refusal]:
        """The selected requests, from top to bottom."""
        return [self.model.record(row) for row in self.table.selected_rows()]

    @Slot()
    def copy_rows(self) -> None:
        """Copy the selected rows, tab-separated."""
        columns = range(TIME + 1, self.model.columnCount())
        lines = [
            "\t".join([exact_time(refusal.at), *(self.model.cell(refusal, column) for column in columns)])
            for refusal in self.selected()
        ]
        if lines:
            self.commands.copy("\n".join(lines), f"Copied {count_of(len(lines), 'row')}.")

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        if selected := self.selected():
            self.commands.menu(selected).popup(self.table.menu_place(place))

    def _lay_out(self) -> None:
        self.header.addWidget(self.clear_button)
        card = Card(self, padding=1)
        card.body.addWidget(self.table)
        split = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False, handleWidth=metrics.SPACE_3)
        split.setObjectName("refused")
        split.setProperty("part", "gap")  # between two cards
        split.addWidget(card)
        split.addWidget(self.raw)
        split.setStretchFactor(0, 1)
        self._body = stack(self.empty, split)
        vbox(self.header, (self._body, 1), inside=self, spacing=metrics.SPACE_4, margins=metrics.SPACE_5)

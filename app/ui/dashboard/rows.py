"""All endpoints below one header. Rows are created in small batches, so that two hundred of them do not block the
window.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QAccessible, QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QWidget

from app.core.model import Endpoint
from app.ui.dashboard.row import HEIGHT, Columns, DashboardRow, RowContents
from app.ui.endpoints.endpoint_actions import EndpointActions, EndpointMenus
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label
from app.ui.widgets.layout import vbox

FIRST, BATCH = 12, 6
"""Rows created at once, and in each later turn of the event loop."""
_HEADING = 36


class DashboardRows(Card):
    """`contents` returns the current contents of an endpoint's row."""

    accessible_role = QAccessible.Role.List

    def __init__(
        self,
        contents: Callable[[Endpoint], RowContents],
        actions: EndpointActions,
        menus: EndpointMenus,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        super().__init__(parent, padding=1)
        self._contents, self._actions, self._menus, self._theme = contents, actions, menus, theme
        self._rows: dict[int, DashboardRow] = {}
        self._endpoints: tuple[Endpoint, ...] = ()
        self._filter = ""
        self._more = QTimer(self)
        self._more.setSingleShot(True)
        self._more.setInterval(10)
        self._more.timeout.connect(self._add_batch)
        self._container = QWidget()
        self._container.setProperty("transparent", True)
        self._list = vbox(inside=self._container, spacing=0, margins=0)
        self._nothing = label("No endpoints match the filter.", "muted", self._container)
        self._nothing.setContentsMargins(16, 20, 16, 20)
        self._nothing.hide()
        self._list.addWidget(self._nothing)
        self._list.addStretch(1)
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._container)
        self.body.setSpacing(0)
        self.body.addWidget(Heading(self._container, theme, self))
        self.body.addWidget(self._scroll, 1)

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
        """Show only endpoints whose name, description or URL contains `text`."""
        self._filter = text.strip().casefold()
        self._narrow()

    def _narrow(self) -> None:
        """Endpoints may have been added or renamed, too."""
        for row in self._rows.values():
            row.setVisible(self._fits(row))
        fits = any(map(self._fits, self._rows.values()))
        self._nothing.setVisible(bool(self._rows) and not fits)
        self._fit()

    def _fit(self) -> None:
        """The card ends below its last row."""
        rows = sum(map(self._fits, self._rows.values())) if self._filter else len(self._endpoints)
        self.setMaximumHeight(_HEADING + max(1, rows) * HEIGHT + 4)

    def _fits(self, row: DashboardRow) -> bool:
        if not self._filter:
            return True
        endpoint = row.contents.endpoint
        urls = (target.url for target in endpoint.targets)
        texts = (endpoint.name, endpoint.description, row.contents.url, *urls)
        return self._filter in "\n".join(texts).casefold()

    @Slot()
    def _add_batch(self) -> None:
        most = BATCH if self._rows else FIRST
        added = place = 0
        for endpoint in self._endpoints:
            if endpoint.id in self._rows:
                place += 1
                continue
            if added == most:
                self._more.start()
                break
            self._list.insertWidget(place, self._new_row(endpoint))
            added += 1
            place += 1
        if added:
            self._shorten_urls()
            self._narrow()
            order_tabs(self._container)

    def _new_row(self, endpoint: Endpoint) -> DashboardRow:
        row = DashboardRow(self._contents(endpoint), self._theme, self._container)
        row.clicked.connect(self._clicked)
        row.menu_requested.connect(self._menus.show)
        row.switched.connect(self._actions.set_active)
        row.url_copied.connect(self._actions.note_copied)
        self._rows[endpoint.id] = row
        return row

    @Slot()
    def _clicked(self) -> None:
        sender = self.sender()
        if isinstance(sender, DashboardRow):
            self._actions.open_requested.emit(sender.contents.endpoint.id)


class Heading(QWidget):
    """The column titles above `rows`."""

    def __init__(self, rows: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows, self._theme = rows, theme
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(400, _HEADING)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._theme.tokens
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

"""The sidebar: selects pages and endpoints, and shows the store, who captures, and what the plan allows; and its place
beside the rest of the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QColor, QFont, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QSplitter, QWidget

from app.core.clock import now_us
from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS
from app.core.team import name_of
from app.core.text import capturing_text, count_of
from app.core.tunnel import TunnelState
from app.core.worst_state import State
from app.ui.commands.command import ActionButton
from app.ui.endpoints.endpoint_actions import EndpointActions
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.shell.endpoint_list import EndpointFilter, EndpointList
from app.ui.shell.sidebar_rows import EndpointRow, NavRow, SidebarRow
from app.ui.state_look import state_of
from app.ui.store_commands import StoreCommands
from app.ui.theme import metrics
from app.ui.theme.fonts import LARGE, ui_font
from app.ui.theme.icons import mark
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import mark_of, sentence, short_text
from app.ui.widgets.badge import Meter, Painted
from app.ui.widgets.buttons import IconButton, PaintedButton
from app.ui.widgets.card import line
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, FittingLabel, label, plain_tooltip
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.rows import paint_line

if TYPE_CHECKING:
    from app.server.tunnel.service import TunnelService

DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REFUSED, TUNNEL = "dashboard", "all", "deliveries", "refused", "tunnel"
REPLAYS = "replays"
MINIMUM_WIDTH = 220
LEAST_PAGE_HEIGHT = 22
_PAGE_HEIGHTS = ((metrics.ROW, 600), (metrics.ROW_DENSE, 440), (LEAST_PAGE_HEIGHT, 0))
"""Pixels of a page's row, with the height of the sidebar from which it has them."""
COUNTDOWN_MS = 500
_ICON, _CHEVRON = 12, 18
"""The size of the button's icon, and with the space before it."""


class TunnelRow(SidebarRow):
    """Follows the tunnel; a restart is counted down."""

    def __init__(self, tunnels: TunnelService, theme: Theme, qt_events: QtEvents, parent: QWidget) -> None:
        super().__init__("", theme, parent)
        self._tunnels = tunnels
        self._timer = QTimer(self, interval=COUNTDOWN_MS)
        self._timer.timeout.connect(self.refresh)
        qt_events.tunnel_changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        tunnel = self._tunnels.tunnel
        self.setText(short_text(tunnel, now_us()))
        self.update()
        words = sentence(tunnel)
        if words != self.accessibleName():
            self.setAccessibleName(words)
            self.setToolTip(plain_tooltip(words))
        if tunnel.state is not TunnelState.RESTARTING:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def emphasised(self) -> bool:
        """While it needs attention."""
        return self.mark()[1] in ("warning", "danger")

    def mark(self) -> tuple[str, str]:
        return mark_of(self._tunnels.tunnel)


class Sidebar(QFrame):
    """`page_selected` carries the name of a page, as DASHBOARD, `endpoint_selected` an endpoint's ID. A click should
    also move the focus there: it emits `page_entered` or `endpoint_entered` instead.
    """

    page_selected = Signal(str)
    page_entered = Signal(str)
    endpoint_selected = Signal(object)
    endpoint_entered = Signal(object)

    def __init__(
        self,
        services: Services,
        theme: Theme,
        qt_events: QtEvents,
        *,
        actions: EndpointActions,
        stores: StoreCommands,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._services, self._theme, self._actions = services, theme, actions
        self._qt_events = qt_events
        self.setProperty("part", "sidebar")
        self.setMinimumWidth(MINIMUM_WIDTH)
        self.setMaximumWidth(400)
        self.head = SidebarHead(services, theme, qt_events, stores, self)
        self.list = EndpointList(theme, self)
        self._filter_room = QWidget(self)
        self.filter = EndpointFilter(theme, self._filter_room)
        self._pages = {
            DASHBOARD: NavRow("dashboard", "Dashboard", theme, self),
            ALL_REQUESTS: NavRow("all", "All requests", theme, self),
            ALL_DELIVERIES: NavRow("forward", "Deliveries", theme, self),
            REPLAYS: NavRow("replays", "Replays", theme, self),
            REFUSED: NavRow("refused", "Refused", theme, self),
        }
        self.tunnel = TunnelRow(services.tunnels, theme, qt_events, self)
        self.tunnel.setObjectName(TUNNEL)
        self.tunnel.selected.connect(self._page_selected)
        self._lay_out()
        for name, row in self._pages.items():
            row.setObjectName(name)
            row.step.connect(self._step)
            row.selected.connect(self._page_selected)
            row.focused.connect(self._offer_stop)
        self.list.row_created.connect(self._connect_endpoint_row)
        self.list.move_requested.connect(actions.order.move)
        self.filter.textChanged.connect(self.list.filter)
        self.filter.down_pressed.connect(self._enter_list)
        self.filter.returnPressed.connect(self._open_first)
        qt_events.endpoints_changed.connect(self.refresh)
        qt_events.plan_changed.connect(self._refresh_plan)
        qt_events.counts_changed.connect(self._refresh_counts)
        qt_events.capture_urls_changed.connect(self._refresh_counts)
        qt_events.refused_changed.connect(self._refresh_counts)
        actions.switch_refused.connect(self.refresh)
        self.refresh()

    def select_page(self, name: str) -> None:
        """Mark a page as current."""
        self._mark(self.tunnel if name == TUNNEL else self._pages[name])

    def select_endpoint(self, endpoint_id: int) -> None:
        """Mark an endpoint as current and scroll to its row; a filter that hides it is cleared."""
        row = self.list.rows.get(endpoint_id)
        if row is None:
            return
        if row.isHidden():
            self.filter.clear()
        self._mark(row)
        if not any(one.holds_focus() for one in self.list.rows.values()):
            self.list.offer_stop(row)
        self.list.reveal(row)

    def show_replays(self, going_on: int, state: State) -> None:
        """Show how many run, wait or are paused, and the state of the one in the bar. The row of replays is always
        there: if it came with a replay, it would move those below it.
        """
        self._pages[REPLAYS].set_count(going_on, "replays going on", state)

    def row(self, endpoint_id: int) -> EndpointRow:
        return self.list.rows[endpoint_id]

    @Slot()
    def refresh(self) -> None:
        """Update endpoints and plan."""
        endpoints = self._services.store.endpoints.all()
        if self.list.show_endpoints(endpoints):
            order_tabs(self)
        self._fit_height()
        self._refresh_counts()
        self._refresh_plan()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    def _fit_height(self) -> None:
        """In a low window pages are closer together, and the lowest has no filter: endpoints need room too."""
        height = next(height for height, least in _PAGE_HEIGHTS if self.height() >= least)
        for row in self._pages.values():
            row.setFixedHeight(height)
        self.filter.offer(len(self._services.store.endpoints.all()), room=height != LEAST_PAGE_HEIGHT)
        self._filter_room.setHidden(self.filter.isHidden())  # a layout would keep its margins

    def _mark(self, row: SidebarRow) -> None:
        """Check this row and no other."""
        for one in (*self._pages.values(), self.tunnel, *self.list.rows.values()):
            one.setChecked(one is row)
        if isinstance(row, NavRow) and not any(page.hasFocus() for page in self._pages.values()):
            self._offer_stop(row)

    @Slot(object)
    def _offer_stop(self, row: SidebarRow) -> None:
        """Make this row the only tab stop of the pages."""
        for page in self._pages.values():
            page.set_tab_stop(page is row)

    @Slot(object)
    def _connect_endpoint_row(self, row: EndpointRow) -> None:
        if self._services.read_only is not None:
            row.refuse_switching(self._services.read_only)
        row.selected.connect(self._endpoint_selected)
        row.menu_requested.connect(self._actions.show_menu)
        row.edit_requested.connect(self._actions.edit)
        row.switched.connect(self._actions.set_active)
        row.step.connect(self._step)

    def _lay_out(self) -> None:
        pages = vbox(*self._pages.values(), spacing=2, margins=(metrics.SPACE_2, 0, metrics.SPACE_2, metrics.SPACE_2))
        tunnel = vbox(self.tunnel, margins=(metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2, 0))
        around_filter = (metrics.SPACE_3, 0, metrics.SPACE_3, metrics.SPACE_2)
        hbox(self.filter, inside=self._filter_room, margins=around_filter)
        vbox(
            self.head,
            pages,
            self._endpoints_header(),
            self._filter_room,
            (self.list, 1),
            line(self),
            tunnel,
            self._footer(),
            inside=self,
            spacing=0,
            margins=0,
        )

    def _endpoints_header(self) -> QHBoxLayout:
        self.add_button = ActionButton(self._actions.new, self._theme, self)
        return hbox(
            (label("ENDPOINTS", "section", self), 1),
            self.add_button,
            margins=(metrics.SPACE_4 + 2, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_1),
        )

    def _footer(self) -> QHBoxLayout:
        self._plan = ElidedLabel("", "small", self)
        self._meter = Meter("Endpoints", self._theme, self)
        self.settings_button = IconButton("settings", "Settings (Ctrl+,)", self._theme, self)
        self.about_button = IconButton("info", "About Hookline", self._theme, self)
        self.keys_button = IconButton("keyboard", "Keyboard shortcuts (F1)", self._theme, self)
        words = vbox(self._plan, self._meter, spacing=6)
        buttons = hbox(self.keys_button, self.about_button, self.settings_button, spacing=0)
        return hbox(
            (words, 1),
            buttons,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3),
        )

    @Slot()
    def _refresh_counts(self) -> None:
        for endpoint_id, row in self.list.rows.items():
            unread = self._services.store.captures.counts(endpoint_id).unread
            state = state_of(row.endpoint, self._services, self._qt_events.session_stats)
            row.set_count(unread, "unread requests", state)
        self._pages[REFUSED].set_count(len(self._services.refused.newest()), "refused requests")

    @Slot()
    def _refresh_plan(self) -> None:
        count = len(self._services.store.endpoints.all())
        free = self._services.store.account.plan is Plan.FREE
        self._plan.setText(f"{count} of {FREE_ENDPOINTS} · Free" if free else f"{count} · Pro")
        self._plan.set_meaning(f"{count_of(count, 'endpoint')}, {'Free' if free else 'Pro'} plan")
        self._meter.set_use(count, FREE_ENDPOINTS if free else 0)
        self._meter.setVisible(free)
        self._actions.new.refresh()

    @Slot(object)
    def _page_selected(self, row: SidebarRow) -> None:
        self._mark(row)
        signal = self.page_entered if row.by_mouse else self.page_selected
        signal.emit(row.objectName())

    @Slot(object)
    def _endpoint_selected(self, row: EndpointRow) -> None:
        self._mark(row)
        signal = self.endpoint_entered if row.by_mouse else self.endpoint_selected
        signal.emit(row.endpoint.id)

    @Slot()
    def _enter_list(self) -> None:
        """Move the focus from the filter to the first visible row."""
        for row in self.list.visible_rows()[:1]:
            self._focus(row)

    @Slot()
    def _open_first(self) -> None:
        """Open the first visible endpoint."""
        for row in self.list.visible_rows()[:1]:
            self.endpoint_entered.emit(row.endpoint.id)

    @Slot(int)
    def _step(self, by: int) -> None:
        rows: list[SidebarRow] = [*self._pages.values(), *self.list.visible_rows()]
        here = self.window().focusWidget()
        place = next((i for i, row in enumerate(rows) if row is here), 0)
        self._focus(rows[max(0, min(len(rows) - 1, place + by))])

    def _focus(self, row: SidebarRow) -> None:
        row.setFocus(Qt.FocusReason.TabFocusReason)
        if isinstance(row, EndpointRow):
            self.list.reveal(row)


class Frame(QSplitter):
    """Where a list and its request would not fit side by side, the sidebar is narrowed, and widened again in a larger
    window."""

    def __init__(self, sidebar: Sidebar, right: QWidget, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._narrowed: tuple[int, int] | None = None
        """The widths of the sidebar before and since it was narrowed."""
        self.setObjectName("frame")
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(sidebar)
        self.addWidget(right)
        self.setStretchFactor(1, 1)
        self.setSizes([metrics.SIDEBAR_WIDTH, 1280 - metrics.SIDEBAR_WIDTH])

    @property
    def narrowed(self) -> bool:
        """Whether the sidebar is narrower than the user has it in a larger window."""
        return self._wanted_width() != self.sizes()[0]

    def fit_sidebar(self) -> None:
        """The window has another size."""
        wanted = self._wanted_width()
        self._narrowed = None
        room = self.window().width() - self.handleWidth() - metrics.SIDE_BY_SIDE_WIDTH
        self._set_width(min(wanted, max(MINIMUM_WIDTH, room)))
        if self.sizes()[0] < wanted:
            self._narrowed = (wanted, self.sizes()[0])

    def forget_narrowing(self) -> None:
        """Give the sidebar the width that it has on a larger screen, to be stored."""
        self._set_width(self._wanted_width())

    def _wanted_width(self) -> int:
        """As it is, or as it was before it was narrowed, if it was left so."""
        width = self.sizes()[0]
        return self._narrowed[0] if self._narrowed is not None and self._narrowed[1] == width else width

    def _set_width(self, width: int) -> None:
        if width != self.sizes()[0]:
            self.setSizes([width, max(1, self.window().width() - width)])


class StatusDot(Painted):
    """Whether Hookline listens: filled and green if so, else a hollow red ring; told apart without colours, too."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(QSize(8, 8), theme, parent)
        self._on = False

    def set_on(self, on: bool) -> None:
        self._on = on
        self.setAccessibleName("Listening" if on else "Not listening")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self.theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.success_fill))
        else:
            painter.setPen(QPen(QColor(tokens.danger), 1.5))
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))


class StoreButton(PaintedButton):
    """The heading that names the store in use. Enabled, it opens the menu of stores."""

    def __init__(self, text: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setText(text)
        self.setAccessibleName(f"Store: {text}")
        self.setFont(ui_font(LARGE, QFont.Weight.DemiBold))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + _CHEVRON + 2, self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(_CHEVRON, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Only one that does nothing lets the keyboard pass."""
        super().changeEvent(event)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if self.isEnabled() else Qt.FocusPolicy.NoFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), self.theme.tokens
        room = self.rect().adjusted(0, 0, -_CHEVRON if self.isEnabled() else 0, 0)
        colour = tokens.accent_text if self.isEnabled() and self.underMouse() else tokens.text
        used = paint_line(painter, room, self.text(), self.font(), colour, elide=Qt.TextElideMode.ElideMiddle)
        if self.isEnabled():
            place = QRect(used + _CHEVRON - _ICON, (self.height() - _ICON) // 2 + 1, _ICON, _ICON)
            self.theme.icon("collapse", "text_muted").paint(painter, place)
        self.paint_ring(painter, QRectF(self.rect()).adjusted(1, 1, -1, -1))


class SidebarHead(QWidget):
    def __init__(
        self, services: Services, theme: Theme, qt_events: QtEvents, stores: StoreCommands, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._services, self._stores, self._qt_events = services, stores, qt_events
        badge = QLabel(self)
        badge.setPixmap(mark(32))
        place = services.store.place
        self.store = StoreButton("Hookline" if stores.is_own else name_of(place), theme, self)
        self.store.setToolTip(plain_tooltip(f"Your own store, {place}" if stores.is_own else place))
        self.store.clicked.connect(self._show_stores)
        self._dot = StatusDot(theme, self)
        self.listening = FittingLabel("small", self)
        self.palette_button = IconButton("search", "Find anything (Ctrl+K)", theme, self)
        words = vbox(self.store, hbox(self._dot, (self.listening, 1), spacing=6), spacing=0)
        hbox(
            badge,
            (words, 1),
            self.palette_button,
            inside=self,
            spacing=10,
            margins=(metrics.SPACE_4, metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_4),
        )
        stores.forgotten.connect(self._refresh)
        qt_events.storage_changed.connect(self._refresh)
        qt_events.capture_urls_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        self.store.setEnabled(self._stores.offers_others)
        place, others = self._services.listening(), self._services.store.nodes.others.capturing
        trouble = self._qt_events.storage_trouble
        self._dot.set_on(trouble is None and (place is not None or others > 0))
        if place is not None:
            meaning = f"Listening on {place}" if trouble is None else trouble
            self.listening.set_wordings((place, f"Port {place.rpartition(':')[2]}"), meaning)
        elif not self._services.is_elsewhere:
            self.listening.set_wordings(("Not listening",), "Requests cannot be received.")
        elif trouble is not None:
            self.listening.set_wordings(("No connection",), trouble)
        else:
            text = capturing_text(others).capitalize()
            self.listening.set_wordings((text,), f"{text}. This machine does not; the menu above changes that.")

    @Slot()
    def _show_stores(self) -> None:
        """Below the store's name."""
        self._stores.menu().popup(self.store.mapToGlobal(self.store.rect().bottomLeft()))

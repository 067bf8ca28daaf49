"""The sidebar's endpoints: a single tab stop, filtered if there are many, reordered by dragging or keys."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.model import Endpoint
from app.ui.shell.sidebar_rows import EndpointRow, SidebarRow
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import SearchField
from app.ui.widgets.fit_screen import ColumnScroll
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, vbox

_LINE_HEIGHT, _RING_RADIUS = 8, 2.5


class DropLine(QWidget):
    """The line that shows where a dragged endpoint would be dropped. It lies over the rows and ignores clicks."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, y: int) -> None:
        """Show it centred on `y` in the parent."""
        holder = self.parentWidget()
        assert holder is not None
        self.setGeometry(metrics.SPACE_1, y - _LINE_HEIGHT // 2, holder.width() - 2 * metrics.SPACE_1, _LINE_HEIGHT)
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.tokens.accent), 2))
        middle = QRectF(self.rect()).center().y()
        painter.drawEllipse(QPointF(_RING_RADIUS + 1, middle), _RING_RADIUS, _RING_RADIUS)
        painter.drawLine(QPointF(2 * _RING_RADIUS + 2, middle), QPointF(self.width() - 2, middle))


OFFERED_ABOVE = 8
"""Up to this number of endpoints no filter is shown."""


class EndpointFilter(SearchField):
    """Filters the endpoints by name, description, tag or slug; shown if there are many. Esc clears it, Down moves to
    the rows.
    """

    down_pressed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Filter endpoints", parent)
        self.setAccessibleName("Filter endpoints in the sidebar")
        self.setMaxLength(200)
        self.addAction(theme.icon("filter"), QLineEdit.ActionPosition.LeadingPosition)

    def offer(self, endpoints: int, *, room: bool) -> None:
        """Shown with many endpoints if there is room, or while it is used; filters nothing while hidden."""
        used = bool(self.text()) or self.hasFocus()
        visible = (endpoints > OFFERED_ABOVE and room) or (used and endpoints > 0)
        if not visible:
            self.clear()
        self.setVisible(visible)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, plain = event.key(), not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if plain and key == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif plain and key in (Qt.Key.Key_Down, Qt.Key.Key_Escape):
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)


NO_ENDPOINTS = "No endpoints yet"
_SCROLL_EDGE = 28
"""Pixels at the top and bottom in which dragging scrolls the list."""
_SCROLL_MS, _SCROLL_STEP = 16, 8


class EndpointContainer(QWidget):
    accessible_role = QAccessible.Role.List


class EndpointList(ColumnScroll):
    """`row_created` carries each new row, for connecting it. `move_requested` carries an endpoint's ID and by how many
    places it moves down, negative for up.
    """

    row_created = Signal(object)
    move_requested = Signal(object, int)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._container = EndpointContainer()
        self._container.setProperty("transparent", True)
        self._container.setAccessibleName("Endpoints")
        super().__init__(self._container, parent)
        self._theme = theme
        self.rows: dict[int, EndpointRow] = {}
        """By endpoint ID, in their order."""
        self._words: tuple[str, ...] = ()
        self._revealed: SidebarRow | None = None
        self._dragged: EndpointRow | None = None
        self._pointer = QPoint()
        self.none = label(NO_ENDPOINTS, "faint", self._container, wrap=True)
        self.none.setContentsMargins(10, 4, 10, 0)
        margins = (metrics.SPACE_2, 0, metrics.SPACE_2, metrics.SPACE_2)
        self._list = vbox(self.none, Stretch(), inside=self._container, spacing=2, margins=margins)
        self._line = DropLine(theme, self._container)
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self._reveal)
        self._scrolling = QTimer(self, interval=_SCROLL_MS)
        self._scrolling.timeout.connect(self._scroll_dragged)

    def show_endpoints(self, endpoints: Sequence[Endpoint]) -> bool:
        """Show these, in this order. Returns whether rows were added or moved."""
        self._remove({endpoint.id for endpoint in endpoints})
        before = list(self.rows)
        rows = {}
        for place, endpoint in enumerate(endpoints):
            row = self.rows.get(endpoint.id) or self._new_row(endpoint)
            if self._list.indexOf(row) != place:
                self._list.insertWidget(place, row)
            row.show_endpoint(endpoint)
            rows[endpoint.id] = row
        self.rows = rows
        self._narrow()
        moved = list(rows) != before
        focused = next((row for row in rows.values() if row.holds_focus()), None)
        if moved and focused is not None:
            self.reveal(focused)
        self._offer_stop(focused)
        return moved

    def visible_rows(self) -> list[EndpointRow]:
        """The rows that match the filter."""
        return [row for row in self.rows.values() if not row.isHidden()]

    def filter(self, text: str) -> None:
        """Show only endpoints with each of these words in their name, description or tags, or at the beginning of their
        slug.

        Most slugs are random: anywhere in them a digit would nearly always be found.
        """
        self._words = tuple(text.casefold().split())
        self._narrow()
        self._offer_stop(None)

    def reveal(self, row: SidebarRow) -> None:
        """Scroll to a row, even if it is not laid out yet."""
        self._revealed = row
        self._later.start()
        self._reveal()

    def offer_stop(self, row: SidebarRow) -> None:
        """Make this row the only tab stop of the list."""
        if isinstance(row, EndpointRow) and row.isHidden():
            return
        for one in self.rows.values():
            one.set_tab_stop(one is row)

    def showEvent(self, event: QShowEvent) -> None:
        """Scroll to the selected row."""
        super().showEvent(event)
        self._later.start()

    # -- rows -----------------------------------------------------------------------------------------------------

    def _new_row(self, endpoint: Endpoint) -> EndpointRow:
        row = EndpointRow(endpoint, self._theme, self._container)
        row.set_tab_stop(False)
        row.focused.connect(self.offer_stop)
        row.dragged.connect(self._drag)
        row.drag_ended.connect(self._end_drag)
        row.shifted.connect(self._shift)
        self.row_created.emit(row)
        return row

    def _remove(self, kept_ids: set[int]) -> None:
        """Remove rows. The focus moves from one to the row below; Qt would move it to the next switch."""
        removed = [row for number, row in self.rows.items() if number not in kept_ids]
        order = list(self.rows.values())
        for row in removed:
            if row.holds_focus():
                rest = [one for one in order[order.index(row) :] + order[order.index(row) :: -1] if one not in removed]
                successor = next((one for one in rest if not one.isHidden()), None)
                if successor is not None:
                    successor.setFocus(Qt.FocusReason.TabFocusReason)
            if row is self._dragged:
                self._end_drag(False)
            if row is self._revealed:
                self._revealed = None
            del self.rows[row.endpoint.id]
            row.hide()
            row.deleteLater()

    def _narrow(self) -> None:
        for row in self.rows.values():
            endpoint = row.endpoint
            text = "\n".join((endpoint.name, endpoint.description, *endpoint.tags)).casefold()
            row.setVisible(all(word in text or endpoint.slug.startswith(word) for word in self._words))
        found = bool(self.visible_rows())
        self.none.setText("No matches" if self.rows else NO_ENDPOINTS)
        self.none.setVisible(not found)

    def _offer_stop(self, focused: EndpointRow | None) -> None:
        """The tab stop is the row with the focus, else the previous one, else the selected row, else the first."""
        visible = self.visible_rows()
        if visible:
            self.offer_stop(max(visible, key=lambda row: (row is focused, row.is_tab_stop(), row.isChecked())))

    @Slot()
    def _reveal(self) -> None:
        row = self._revealed or next((row for row in self.rows.values() if row.isChecked()), None)
        if row is not None and not row.isHidden():
            self.ensureWidgetVisible(row, 0, 2)
        if not self._later.isActive():
            self._revealed = None

    # -- order ----------------------------------------------------------------------------------------------------

    @Slot(object, int)
    def _shift(self, row: EndpointRow, by: int) -> None:
        """Past the next row that matches the filter."""
        visible, ids = self.visible_rows(), list(self.rows)
        place = visible.index(row) + by if row in visible else -1
        if 0 <= place < len(visible):
            self._request_move(row, ids.index(visible[place].endpoint.id))

    def _request_move(self, row: EndpointRow, place: int) -> None:
        self.move_requested.emit(row.endpoint.id, place - list(self.rows).index(row.endpoint.id))

    @Slot(object, object)
    def _drag(self, row: EndpointRow, pointer: QPoint) -> None:
        self._dragged, self._pointer = row, pointer
        self._show_target()
        self._scrolling.start()

    @Slot(bool)
    def _end_drag(self, dropped: bool) -> None:
        target, row, self._dragged = self._target(), self._dragged, None
        self._scrolling.stop()
        self._line.hide()
        if dropped and target is not None and row is not None:
            self._request_move(row, target[0])

    @Slot()
    def _scroll_dragged(self) -> None:
        y = self.viewport().mapFromGlobal(self._pointer).y()
        by = -_SCROLL_STEP if y < _SCROLL_EDGE else _SCROLL_STEP if y > self.viewport().height() - _SCROLL_EDGE else 0
        if by:
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + by)
            self._show_target()

    def _show_target(self) -> None:
        target = self._target()
        if target is None:
            self._line.hide()
        else:
            self._line.show_at(target[1])

    def _target(self) -> tuple[int, int] | None:
        """Where the row would be dropped: its place, and the y of the line; None if it would not move."""
        row, visible = self._dragged, self.visible_rows()
        if row is None or row not in visible:
            return None
        y = self._container.mapFromGlobal(self._pointer).y()
        after = sum(one.geometry().center().y() < y for one in visible)
        at = visible.index(row)
        if after in (at, at + 1):
            return None
        others = [number for number in self.rows if number != row.endpoint.id]
        if after < len(visible):
            place, height = others.index(visible[after].endpoint.id), visible[after].geometry().top() - 1
        else:
            place, height = others.index(visible[-1].endpoint.id) + 1, visible[-1].geometry().bottom() + 2
        return place, height

"""One endpoint on the dashboard: a painted row with a switch, a copy button and a menu button."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.core.text import count_of, exact_time, use_text
from app.ui.dashboard.columns import Columns
from app.ui.dashboard.painting import HEIGHT, OUTCOMES, Facts, UrlLine, full_text, paint_facts
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.copy_field import CopyButton
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.painted import PaintedButton
from app.ui.widgets.switch import Switch


class EndpointLine(PaintedButton):
    """A click or Enter opens the endpoint (`clicked`)."""

    menu_requested = Signal(object, object)
    switched = Signal(object, bool)

    def __init__(self, facts: Facts, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._facts = facts
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.switch = Switch("", theme, self)
        self.switch.clicked.connect(self._switch_clicked)
        self.copy_button = CopyButton(facts.url, "URL", theme, self)
        self.menu_button = IconButton("more", "More", theme, self)
        self.menu_button.clicked.connect(self._menu_clicked)
        self._show(facts)
        self.switch.set_now(facts.endpoint.active)

    @property
    def facts(self) -> Facts:
        return self._facts

    def show_facts(self, facts: Facts) -> None:
        """Repaint if `facts` changed."""
        if facts != self._facts:
            self._show(facts)

    def _show(self, facts: Facts) -> None:
        self._facts = facts
        endpoint = facts.endpoint
        self.setAccessibleName(endpoint.name)
        words = (full_text(facts.use), endpoint.description, count_of(facts.counts.total, "request"))
        self.setAccessibleDescription(" ".join(filter(None, words)))
        self.switch.setAccessibleName(f"{endpoint.name} active")
        self.menu_button.setAccessibleName(f"More actions for {endpoint.name}")
        self.switch.setChecked(endpoint.active)
        self.copy_button.text_to_copy = facts.url
        self._url = UrlLine(facts.url)
        self._place()
        self.update()

    def sizeHint(self) -> QSize:
        """Two lines and padding."""
        return QSize(760, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Narrow enough for the smallest window."""
        return QSize(560, HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(self._facts.endpoint, event.globalPos())

    def event(self, event: QEvent) -> bool:
        """Each column has its own tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self.tooltip_at(event.pos())), self)
            return True
        return super().event(event)

    def tooltip_at(self, place: QPoint) -> str:
        """The tooltip of the column at `place`."""
        facts, columns = self._facts, self._columns()
        if columns.mirror.contains(place) and facts.endpoint.forward_url:
            return f"{facts.endpoint.forward_url}\n{OUTCOMES[facts.outcome][2]}"
        if columns.requests.contains(place) and facts.counts.last_received_at is not None:
            return f"Last request {exact_time(facts.counts.last_received_at)}"
        if columns.retention.contains(place) and facts.use.limit is not None:
            return f"{use_text(facts.use.used, facts.use.limit)} stored"
        if columns.activity.contains(place):
            return f"{count_of(sum(facts.activity), 'request')} in the last hour, while this window was open"
        if columns.name.contains(place):
            return "\n".join(filter(None, (facts.endpoint.name, facts.endpoint.description, facts.url)))
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, columns = self.theme.tokens, self._columns()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse():
            painter.fillRect(self.rect(), QColor(tokens.hover))
        painter.fillRect(QRect(0, 0, self.width(), 1), QColor(tokens.border))
        paint_facts(painter, self._facts, self._url, columns, self.theme)
        if self.ringed:
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(2, 2, -2, -3), metrics.RADIUS, metrics.RADIUS)

    def _columns(self) -> Columns:
        return Columns.of(self.width(), HEIGHT)

    def _place(self) -> None:
        columns = self._columns()
        for widget in (self.switch, self.copy_button, self.menu_button):
            widget.resize(widget.sizeHint())
        self.switch.move(columns.switch.left(), (HEIGHT - self.switch.height()) // 2)
        room = UrlLine.room(columns.name)
        middle = room.center().y() - self.copy_button.height() // 2
        self.copy_button.move(self._url.end(room) + 4, middle)
        self.menu_button.move(columns.menu.left(), (HEIGHT - self.menu_button.height()) // 2)

    @Slot()
    def _switch_clicked(self) -> None:
        self.switched.emit(self._facts.endpoint, self.switch.isChecked())

    @Slot()
    def _menu_clicked(self) -> None:
        place = self.menu_button.mapToGlobal(self.menu_button.rect().bottomLeft())
        self.menu_requested.emit(self._facts.endpoint, place)

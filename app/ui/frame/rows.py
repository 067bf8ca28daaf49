"""The sidebar's rows: painted whole, so that two hundred of them cost little."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.model import Endpoint
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import Tone, count_text, paint_pill, pill_width
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.painted import PaintedButton
from app.ui.widgets.switch import Switch

_PAD = 10


class SidebarRow(PaintedButton):
    """One line that can be chosen: text from `text_left` on, a count at the right. Up and Down ask for a neighbour."""

    step = Signal(int)

    def __init__(self, text: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._count = 0
        self.by_mouse = False
        """Whether the click that is being told of is a pointer's, not a key's."""
        self.setText(text)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def count(self) -> int:
        """The number in the badge; 0 shows none."""
        return self._count

    def set_count(self, count: int, what: str) -> None:
        """Show a number of `what`."""
        if count != self._count:
            self._count = count
            self.update()
        self.setAccessibleDescription(f"{count} {what}" if count else "")

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(metrics.SIDEBAR_WIDTH - 2 * metrics.SPACE_2, metrics.ROW)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Say whose click it is while it is told."""
        self.by_mouse = True
        super().mouseReleaseEvent(event)
        self.by_mouse = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move, Enter chooses."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.step.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, mark, text, count and focus ring."""
        tokens = self.theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        ground = self.ground(tokens)
        if ground:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(ground))
            painter.drawRoundedRect(rect, metrics.RADIUS, metrics.RADIUS)
        self.paint_mark(painter, tokens)
        right = self.width() - _PAD
        if self._count:
            text = count_text(self._count)
            width = max(20, pill_width(text))
            paint_pill(
                painter, QRectF(right - width, self.height() / 2 - 9, width, 18), text, tokens, self.badge_tone()
            )
            right -= width + 6
        self._paint_text(painter, tokens, right)
        if self.ringed:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.accent), 1.5))
            painter.drawRoundedRect(rect, metrics.RADIUS, metrics.RADIUS)

    def _paint_text(self, painter: QPainter, tokens: Tokens, right: int) -> None:
        heavy = self.isChecked() or self.emphasised()
        font = ui_font(BASE, QFont.Weight.DemiBold if heavy else QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(QColor(self.text_colour(tokens)))
        room = QRect(self.text_left(), 0, right - self.text_left(), self.height())
        shown = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)

    def ground(self, tokens: Tokens) -> str | None:
        """The row's ground; none when it rests."""
        if self.isChecked():
            return tokens.selection
        return tokens.pressed if self.underMouse() else None

    def text_left(self) -> int:
        """Where the text begins."""
        return _PAD + 26

    def text_colour(self, tokens: Tokens) -> str:
        """The text's colour."""
        return tokens.text if self.isChecked() else tokens.text_muted

    def emphasised(self) -> bool:
        """Whether the text is heavy though not chosen."""
        return False

    def badge_tone(self) -> Tone:
        """The count's tone."""
        return "neutral"

    def paint_mark(self, painter: QPainter, tokens: Tokens) -> None:
        """What stands before the text."""


class NavRow(SidebarRow):
    """A page of the window."""

    def __init__(self, icon: str, text: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(text, theme, parent)
        self._icon_name = icon

    def paint_mark(self, painter: QPainter, tokens: Tokens) -> None:
        """The page's icon."""
        icon = self.theme.icon(self._icon_name, "accent_text" if self.isChecked() else "text_muted")
        icon.paint(painter, QRect(_PAD, (self.height() - 18) // 2, 18, 18))


class EndpointRow(SidebarRow):
    """An endpoint: its switch, its name, its unread requests."""

    menu_wanted = Signal(object, object)
    switched = Signal(object, bool)

    def __init__(self, endpoint: Endpoint, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("", theme, parent)
        self._switch = Switch("", theme, self, mini=True)
        self._switch.clicked.connect(self._clicked_switch)
        self._endpoint = endpoint
        self.show_endpoint(endpoint)

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint as last shown."""
        return self._endpoint

    def show_endpoint(self, endpoint: Endpoint) -> None:
        """Show it as it is now."""
        self._endpoint = endpoint
        self.setText(endpoint.name)
        self.setToolTip(plain_tooltip(endpoint.name if endpoint.active else f"{endpoint.name} (switched off)"))
        self.setAccessibleName(endpoint.name)
        self._switch.setAccessibleName(f"{endpoint.name} active")
        if self._switch.isChecked() != endpoint.active:
            self._switch.setChecked(endpoint.active) if self.isVisible() else self._switch.set_now(endpoint.active)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the switch in its place."""
        super().resizeEvent(event)
        self._switch.resize(self._switch.sizeHint())
        self._switch.move(_PAD - 5, (self.height() - self._switch.height()) // 2)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the endpoint's menu."""
        keyboard = event.reason() == QContextMenuEvent.Reason.Keyboard
        place = self.mapToGlobal(QPoint(self.text_left(), self.height())) if keyboard else event.globalPos()
        self.menu_wanted.emit(self._endpoint, place)

    def text_left(self) -> int:
        """After the switch."""
        return _PAD + 32

    def text_colour(self, tokens: Tokens) -> str:
        """Faint while switched off."""
        if not self._endpoint.active:
            return tokens.text_faint
        return tokens.text if self.isChecked() or self.count else tokens.text_muted

    def emphasised(self) -> bool:
        """Unread requests make it heavy."""
        return bool(self.count)

    def badge_tone(self) -> Tone:
        """Unread counts take the accent."""
        return "accent"

    @Slot()
    def _clicked_switch(self) -> None:
        self.switched.emit(self._endpoint, self._switch.isChecked())

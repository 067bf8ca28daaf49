"""The sidebar's head: the store in use, whether requests are captured, and the way to the palette."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAccessible, QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.core.text import capturing_text
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.stores.recent_stores import name_of
from app.ui.stores.store_commands import StoreCommands
from app.ui.theme import metrics
from app.ui.theme.fonts import LARGE, ui_font
from app.ui.theme.icons import mark
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton, PaintedButton
from app.ui.widgets.labels import FittingLabel, plain_tooltip
from app.ui.widgets.layout import hbox, vbox

_ICON, _CHEVRON = 12, 18
"""The size of the button's icon, and with the space before it."""


class StatusDot(QWidget):
    """Whether Hookline listens: filled and green if so, else a hollow red ring; told apart without colours, too."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._on = theme, False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def set_on(self, on: bool) -> None:
        self._on = on
        self.setAccessibleName("Listening" if on else "Not listening")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(8, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._theme.tokens
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
        room = self.width() - (_CHEVRON if self.isEnabled() else 0)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, room)
        painter.setPen(QColor(tokens.accent_text if self.isEnabled() and self.underMouse() else tokens.text))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        if self.isEnabled():
            left = self.fontMetrics().horizontalAdvance(text) + _CHEVRON - _ICON
            place = QRect(left, (self.height() - _ICON) // 2 + 1, _ICON, _ICON)
            self.theme.icon("collapse", "text_muted").paint(painter, place)
        if self.ringed:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(tokens.accent), 1.5))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), metrics.RADIUS, metrics.RADIUS)


class SidebarHead(QWidget):
    """Other stores are offered only to who has used a team's."""

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
        self.store.setEnabled(not stores.is_own or bool(stores.recent.all()))
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
        qt_events.settings_changed.connect(self._refresh)
        qt_events.storage_changed.connect(self._refresh)
        qt_events.capture_urls_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
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
        self._stores.refresh()
        self._stores.menu().popup(self.store.mapToGlobal(self.store.rect().bottomLeft()))

"""An endpoint in the sidebar: its switch, its name, its unread requests."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.core.model import Endpoint
from app.ui.shell.sidebar_rows import PAD, SidebarRow
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import Tone
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.switch import Switch

_KEYS_OF_ROW = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_F2)


class EndpointRow(SidebarRow):
    """Left moves the focus to the switch, Right back.

    While dragged, `dragged` carries the row and the global pointer position; `dropped` or `drag_ended` follows.
    `shifted` carries the row and -1 or 1, for up and down.
    """

    menu_requested = Signal(object, object)
    edit_wanted = Signal(object)
    switched = Signal(object, bool)
    dragged = Signal(object, object)
    dropped = Signal()
    drag_ended = Signal()
    shifted = Signal(object, int)

    def __init__(self, endpoint: Endpoint, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("", theme, parent)
        self._pressed_at: QPoint | None = None
        self._dragging = False
        self._switch = Switch("", theme, self, mini=True)
        self._switch.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._switch.clicked.connect(self._clicked_switch)
        self._switch.installEventFilter(self)
        self._endpoint = endpoint
        self.show_endpoint(endpoint)

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint as last shown."""
        return self._endpoint

    def show_endpoint(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.setText(endpoint.name)
        self.setToolTip(plain_tooltip(endpoint.name if endpoint.active else f"{endpoint.name} (switched off)"))
        self.setAccessibleName(endpoint.name)
        self._switch.setAccessibleName(f"{endpoint.name} active")
        if self._switch.isChecked() != endpoint.active:
            self._switch.setChecked(endpoint.active) if self.isVisible() else self._switch.set_now(endpoint.active)
        self.update()

    def holds_focus(self) -> bool:
        """Whether the row or its switch has the focus, or gets it back when a dialog closes."""
        return self.window().focusWidget() in (self, self._switch)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left focuses the switch, F2 edits, Alt with Up and Down moves the endpoint, Esc stops dragging."""
        key, modifiers = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key == Qt.Key.Key_Escape and self._dragging:
            self._end_drag()
            self.drag_ended.emit()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and modifiers == Qt.KeyboardModifier.AltModifier:
            self.shifted.emit(self, -1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_Left and not modifiers:
            self._switch.setFocus(Qt.FocusReason.TabFocusReason)
        elif key == Qt.Key.Key_F2 and not modifiers:
            self.edit_wanted.emit(self._endpoint)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys move from the switch back to the row and to its neighbours."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.setFocus(Qt.FocusReason.TabFocusReason)
        elif event.key() in _KEYS_OF_ROW:
            self.setFocus(Qt.FocusReason.TabFocusReason)
            self.keyPressEvent(event)
        else:
            return super().eventFilter(watched, event)
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_at = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag once the pointer moved too far for a click."""
        if self._pressed_at is None:
            super().mouseMoveEvent(event)
            return
        way = (event.position().toPoint() - self._pressed_at).manhattanLength()
        if not self._dragging and way >= QApplication.startDragDistance():
            self._dragging = True
            self.setDown(False)  # the release is not a click
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.update()
        if self._dragging:
            self.dragged.emit(self, event.globalPosition().toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Drop, or select."""
        dragging = self._dragging
        self._end_drag()
        super().mouseReleaseEvent(event)
        if dragging:
            self.dropped.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Faint while it is dragged."""
        super().paintEvent(event)
        if self._dragging:
            painter = QPainter(self)
            veil = QColor(self.theme.tokens.sidebar)
            veil.setAlphaF(0.5)
            painter.fillRect(self.rect(), veil)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the switch in its place."""
        super().resizeEvent(event)
        self._switch.resize(self._switch.sizeHint())
        self._switch.move(PAD - 5, (self.height() - self._switch.height()) // 2)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the endpoint's menu."""
        keyboard = event.reason() == QContextMenuEvent.Reason.Keyboard
        place = self.mapToGlobal(QPoint(self.text_left(), self.height())) if keyboard else event.globalPos()
        self.menu_requested.emit(self._endpoint, place)

    def text_left(self) -> int:
        """After the switch."""
        return PAD + 32

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

    def _end_drag(self) -> None:
        self._pressed_at, self._dragging = None, False
        self.unsetCursor()
        self.update()

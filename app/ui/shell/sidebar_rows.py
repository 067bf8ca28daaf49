"""The sidebar's rows, of pages and endpoints: painted without child labels, so that two hundred of them cost little.

Tab stops at one row of a list; the arrow keys lead to the others and to a row's switch.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from app.core.model import Endpoint
from app.core.worst_state import GOOD, State
from app.ui.state_look import LOOKS
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import Tone, count_text, paint_box, paint_pill, paint_tags, pill_width, tags_text
from app.ui.widgets.buttons import PaintedButton
from app.ui.widgets.fields import Switch
from app.ui.widgets.labels import plain_tooltip
from app.ui.widgets.rows import paint_line

PAD = 10
_ALL = 1_000_000
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Home: -_ALL, Qt.Key.Key_End: _ALL}
_ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)


class SidebarRow(PaintedButton):
    """A selectable line: text from `text_left` on, a count at the right. `step` requests another row.

    `focused` and `selected` carry the row; the receiver of `selected` unchecks the others.
    """

    step = Signal(int)
    """The number of rows to move down, negative for up."""
    focused = Signal(object)
    selected = Signal(object)
    accessible_role = QAccessible.Role.ListItem
    text_left = PAD + 26
    badge_tone: Tone = "neutral"

    def __init__(self, text: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.count = 0
        """The number in the badge; 0 shows none."""
        self.state = State.NONE
        self.by_mouse = False
        """Whether the current click was made with the mouse, not with a key."""
        self.setText(text)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._emit_selected)

    def set_tab_stop(self, on: bool) -> None:
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.ClickFocus)

    def is_tab_stop(self) -> bool:
        return bool(self.focusPolicy() & Qt.FocusPolicy.TabFocus)

    def nextCheckState(self) -> None:
        """A click selects the row, even if it is selected already."""
        self.setChecked(True)

    def set_count(self, count: int, what: str, state: State = State.NONE) -> None:
        """Show a number of `what`, and a mark before it if `state` is not good."""
        if (count, state) != (self.count, self.state):
            self.count, self.state = count, state
            self.update()
        wrong = "" if state in GOOD else f"{LOOKS[state].words}."
        self.setAccessibleDescription(" ".join(filter(None, (wrong, f"{count} {what}" if count else ""))))

    def sizeHint(self) -> QSize:
        return QSize(metrics.SIDEBAR_WIDTH - 2 * metrics.SPACE_2, metrics.ROW)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Set `by_mouse` during the click."""
        self.by_mouse = True
        super().mouseReleaseEvent(event)
        self.by_mouse = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up, Down, Home and End move, Enter selects. Qt would treat Left and Right as Up and Down."""
        steps = _STEPS.get(Qt.Key(event.key()))
        if steps is not None and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.step.emit(steps)
        elif event.key() in _ARROWS:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self.theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self.isChecked() or self.underMouse():
            paint_box(painter, rect, metrics.RADIUS, tokens.selection if self.isChecked() else tokens.pressed)
        mark = self.mark()
        if mark is not None:
            self.theme.icon(*mark).paint(painter, QRect(PAD, (self.height() - 18) // 2, 18, 18))
        right = self.width() - PAD
        if self.count:
            text = count_text(self.count)
            width = max(20, pill_width(text))
            paint_pill(painter, QRectF(right - width, self.height() / 2 - 9, width, 18), text, tokens, self.badge_tone)
            right -= width + 6
        if self.state not in GOOD:
            look, size = LOOKS[self.state], metrics.ICON
            place = QRect(right - size, (self.height() - size) // 2, size, size)
            self.theme.icon(look.icon, look.colour).paint(painter, place)
            right -= size + 6
        self._paint_text(painter, tokens, right)
        self.paint_ring(painter, rect)

    def _paint_text(self, painter: QPainter, tokens: Tokens, right: int) -> None:
        bold = self.isChecked() or self.emphasised()
        font = ui_font(BASE, QFont.Weight.DemiBold if bold else QFont.Weight.Medium)
        room = QRect(self.text_left, 0, right - self.text_left, self.height())
        used = paint_line(painter, room, self.text(), font, self.text_colour(tokens)) + 8
        self.paint_after_text(painter, room.adjusted(used, 0, 0, 0), tokens)

    def text_colour(self, tokens: Tokens) -> str:
        return tokens.text if self.isChecked() else tokens.text_muted

    def emphasised(self) -> bool:
        """Whether the text is bold even if the row is not selected."""
        return False

    def mark(self) -> tuple[str, str] | None:
        """The icon before the text, and its colour."""
        return None

    def paint_after_text(self, painter: QPainter, room: QRect, tokens: Tokens) -> None:
        """Paint what follows the text, in the `room` that it leaves."""

    @Slot()
    def _emit_selected(self) -> None:
        self.selected.emit(self)


class NavRow(SidebarRow):
    """A page of the window."""

    def __init__(self, icon: str, text: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(text, theme, parent)
        self._icon_name = icon

    def mark(self) -> tuple[str, str]:
        return self._icon_name, "accent_text" if self.isChecked() else "text_muted"


_KEYS_OF_ROW = (*_STEPS, Qt.Key.Key_F2)


class EndpointRow(SidebarRow):
    """An endpoint: its switch, name and unread requests. Left moves the focus to the switch, Right back.

    While dragged, `dragged` carries the row and the global pointer position; `drag_ended` follows, with whether it was
    dropped.
    `shifted` carries the row and -1 or 1, for up and down.
    """

    menu_requested = Signal(object, object)
    edit_requested = Signal(object)
    switched = Signal(object, bool)
    dragged = Signal(object, object)
    drag_ended = Signal(bool)
    shifted = Signal(object, int)
    text_left = PAD + 32
    badge_tone: Tone = "accent"

    def __init__(self, endpoint: Endpoint, theme: Theme, parent: QWidget) -> None:
        super().__init__("", theme, parent)
        self._pressed_at: QPoint | None = None
        self._dragging = False
        self._switch = Switch("", theme, self, mini=True)
        self._switch.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._switch.clicked.connect(self._clicked_switch)
        self._switch.installEventFilter(self)
        self.show_endpoint(endpoint)

    def show_endpoint(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.setText(endpoint.name)
        self._show_tooltip()
        self.setAccessibleName(endpoint.name)
        self._switch.setAccessibleName(f"{endpoint.name} active")
        self._switch.setChecked(endpoint.active)
        self.update()

    def set_count(self, count: int, what: str, state: State = State.NONE) -> None:
        before = self.state
        super().set_count(count, what, state)
        if state is not before:
            self._show_tooltip()

    def _show_tooltip(self) -> None:
        endpoint = self.endpoint
        name = endpoint.name if endpoint.active else f"{endpoint.name} (switched off)"
        wrong = "" if self.state in GOOD else LOOKS[self.state].words
        self.setToolTip(plain_tooltip("\n".join(filter(None, (name, wrong, tags_text(endpoint.tags))))))

    def refuse_switching(self, reason: str) -> None:
        """The endpoint cannot be switched, for this reason."""
        self._switch.setEnabled(False)
        self._switch.setToolTip(plain_tooltip(reason))

    def holds_focus(self) -> bool:
        """Whether the row or its switch has the focus, or gets it back when a dialog closes."""
        return self.window().focusWidget() in (self, self._switch)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left focuses the switch, F2 edits, Alt with Up and Down moves the endpoint, Esc stops dragging."""
        key, modifiers = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key == Qt.Key.Key_Escape and self._dragging:
            self._end_drag()
            self.drag_ended.emit(False)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and modifiers == Qt.KeyboardModifier.AltModifier:
            self.shifted.emit(self, -1 if key == Qt.Key.Key_Up else 1)
        elif key == Qt.Key.Key_Left and not modifiers:
            self._switch.setFocus(Qt.FocusReason.TabFocusReason)
        elif key == Qt.Key.Key_F2 and not modifiers:
            self.edit_requested.emit(self.endpoint)
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
            self.drag_ended.emit(True)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Faint while it is dragged."""
        super().paintEvent(event)
        if self._dragging:
            painter = QPainter(self)
            veil = QColor(self.theme.tokens.sidebar)
            veil.setAlphaF(0.5)
            painter.fillRect(self.rect(), veil)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._switch.resize(self._switch.sizeHint())
        self._switch.move(PAD - 5, (self.height() - self._switch.height()) // 2)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the endpoint's menu."""
        keyboard = event.reason() == QContextMenuEvent.Reason.Keyboard
        place = self.mapToGlobal(QPoint(self.text_left, self.height())) if keyboard else event.globalPos()
        self.menu_requested.emit(self.endpoint, place)

    def text_colour(self, tokens: Tokens) -> str:
        """Faint while switched off."""
        if not self.endpoint.active:
            return tokens.text_faint
        return tokens.text if self.isChecked() or self.count else tokens.text_muted

    def paint_after_text(self, painter: QPainter, room: QRect, tokens: Tokens) -> None:
        paint_tags(painter, room, self.endpoint.tags, tokens)

    def emphasised(self) -> bool:
        """With unread requests."""
        return bool(self.count)

    @Slot()
    def _clicked_switch(self) -> None:
        self.switched.emit(self.endpoint, self._switch.isChecked())

    def _end_drag(self) -> None:
        self._pressed_at, self._dragging = None, False
        self.unsetCursor()
        self.update()

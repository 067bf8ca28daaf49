"""A switch that is toggled by click, Space or Enter."""

from __future__ import annotations

from PySide6.QtCore import Property, QEasingCurve, QPoint, QPropertyAnimation, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.theme import Theme
from app.ui.theme.tokens import mix
from app.ui.widgets.fields import CheckField
from app.ui.widgets.focus import by_keyboard, is_enter

_MARGIN = 3


class Switch(CheckField):
    """A check box drawn as a switch, so that screen readers know it; `clicked` is emitted only for user changes."""

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None, *, mini: bool = False) -> None:
        super().__init__("", parent)
        self._theme = theme
        self._track = QSize(26, 14) if mini else QSize(34, 18)
        self._place = 0.0
        self._by_keyboard = False
        self._glide = QPropertyAnimation(self, b"place", self)
        self._glide.setDuration(120)
        self._glide.setEasingCurve(QEasingCurve.Type.InOutCubic)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.toggled.connect(self._start_glide)
        theme.changed.connect(self.update)

    def _get_place(self) -> float:
        return self._place

    def _set_place(self, place: float) -> None:
        self._place = place
        self.update()

    place = Property(float, _get_place, _set_place)
    """The knob's position: 0 off, 1 on."""

    def set_now(self, on: bool) -> None:
        """Set the state without animation and without emitting `clicked`."""
        self.setChecked(on)
        self._glide.stop()
        self._set_place(float(on))

    def set_value(self, value: bool) -> None:
        self.set_now(value)

    def sizeHint(self) -> QSize:
        """The size of the track and the focus ring."""
        return self._track + QSize(2 * _MARGIN, 2 * _MARGIN)

    def minimumSizeHint(self) -> QSize:
        """A switch does not shrink."""
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:
        """The whole widget can be clicked."""
        return self.rect().contains(pos)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus ring only for keyboard focus."""
        self._by_keyboard = by_keyboard(event)
        super().focusInEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track, knob and, with keyboard focus, a ring."""
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.isEnabled():
            painter.setOpacity(0.5)
        track = QRectF(0, 0, self._track.width(), self._track.height())
        track.moveCenter(QRectF(self.rect()).center())
        radius = track.height() / 2
        on_colour = tokens.accent_hover if self.underMouse() else tokens.accent
        off_colour = tokens.text_faint if self.underMouse() else tokens.track
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mix(on_colour, off_colour, self._place)))
        painter.drawRoundedRect(track, radius, radius)
        knob = track.height() - 4
        left = track.left() + 2 + self._place * (track.width() - knob - 4)
        painter.setBrush(QColor("#ffffff"))
        painter.drawEllipse(QRectF(left, track.top() + 2, knob, knob))
        if self.hasFocus() and self._by_keyboard:
            ring = track.adjusted(-2, -2, 2, 2)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.accent_text), 1.5))
            painter.drawRoundedRect(ring, radius + 2, radius + 2)

    @Slot(bool)
    def _start_glide(self, on: bool) -> None:
        self._glide.stop()
        if not self.isVisible():
            self._set_place(float(on))
            return
        self._glide.setStartValue(self._place)
        self._glide.setEndValue(float(on))
        self._glide.start()

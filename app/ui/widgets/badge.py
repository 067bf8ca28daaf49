"""Method badges, state pills, count badges and an endpoint's tags, as widgets and as paint functions for delegates; and
the meter of a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.ui.theme.fonts import mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens, mix
from app.ui.widgets.labels import style

Tone = Literal["neutral", "accent", "success", "warning", "danger"]
_SHORT = {"OPTIONS": "OPT", "DELETE": "DEL"}
METHOD_SIZE = QSize(52, 20)
"""Wide enough for the longest short method name in a badge."""
HEIGHT, GAP = 18, 4
WEIGHT = QFont.Weight.Normal


@cache
def method_font() -> QFont:
    return mono_font(11, QFont.Weight.DemiBold)


def paint_box(painter: QPainter, rect: QRectF, radius: float, colour: QColor | str) -> None:
    """Fill a rectangle with round corners. The painter then has no pen."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawRoundedRect(rect, radius, radius)


def paint_method(painter: QPainter, rect: QRectF, method: str, tokens: Tokens, background: str | None = None) -> None:
    """Paint a method's badge filling `rect`: its name in its colour, on a soft shade over `background`, or over what
    is there.

    Nearly all webhooks are POST, so POST is muted and the other methods stand out.
    """
    usual = method == "POST"
    colour = tokens.text_muted if usual else tokens.method(method)
    painter.save()
    share = 0.05 if usual else 0.12
    shade = QColor(mix(colour, background, share)) if background is not None else QColor(colour)
    shade.setAlphaF(1 if background is not None else share)
    paint_box(painter, rect, 4, shade)
    painter.setPen(QColor(colour))
    font = method_font()
    painter.setFont(font)
    text = method if len(method) <= 5 else _SHORT.get(method, method[:4] + "…")
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()


def pill_width(text: str, weight: QFont.Weight = QFont.Weight.DemiBold) -> int:
    """The width in pixels of a painted pill with `text`."""
    return QFontMetrics(ui_font(11, weight)).horizontalAdvance(text) + 14


def paint_pill(
    painter: QPainter,
    rect: QRectF,
    text: str,
    tokens: Tokens,
    tone: Tone = "neutral",
    *,
    weight: QFont.Weight = QFont.Weight.DemiBold,
) -> None:
    """Paint a state pill filling `rect`."""
    background, colour = pill_colours(tokens, tone)
    painter.save()
    paint_box(painter, rect, rect.height() / 2, background)
    painter.setPen(QColor(colour))
    painter.setFont(ui_font(11, weight))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()


def pill_colours(tokens: Tokens, tone: Tone) -> tuple[str, str]:
    """The background and text colours of a pill."""
    if tone == "neutral":
        return tokens.pressed, tokens.text_muted
    if tone == "accent":
        return tokens.accent_soft, tokens.accent_text
    return str(getattr(tokens, f"{tone}_soft")), str(getattr(tokens, tone))


def count_text(count: int) -> str:
    """A count that fits a badge: 7, 999, 1.2k, 35k, 2M."""
    if count < 1000:
        return str(count)
    if count < 10_000:
        return f"{count // 100 / 10:.1f}k"
    return f"{count // 1000}k" if count < 1_000_000 else f"{count // 1_000_000}M"


class Painted(QWidget):
    """Paints itself in this size, again when the theme changes."""

    def __init__(self, size: QSize, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._size, self.theme = size, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return self._size


class MethodBadge(Painted):
    accessible_role = QAccessible.Role.StaticText

    def __init__(self, method: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(METHOD_SIZE, theme, parent)
        self.set_method(method)

    def set_method(self, method: str) -> None:
        self._method = method
        self.setAccessibleName(method)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_method(QPainter(self), QRectF(self.rect()), self._method, self.theme.tokens)


class Pill(QLabel):
    """A short state; its colour follows the tone."""

    def __init__(self, text: str = "", tone: Tone = "neutral", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setProperty("tone", tone)
        self.setText(text)

    def show_state(self, text: str, tone: Tone) -> None:
        self.setText(text)
        style(self, "tone", tone)


def fitting_labels(tags: Sequence[str], width: int) -> list[str]:
    """The first tags, whole, and how many more there are, as far as all of it fits into `width` pixels; otherwise
    only their number, or nothing."""
    for shown in range(len(tags), -1, -1):
        labels = [*tags[:shown], *([f"+{len(tags) - shown}"] if shown < len(tags) else [])]
        if labels and sum(pill_width(one, WEIGHT) + GAP for one in labels) - GAP <= width:
            return labels
    return []


def paint_tags(painter: QPainter, room: QRect, tags: Sequence[str], tokens: Tokens) -> int:
    """Paint what fits into `room` from its left edge, and return its width with the gap after it."""
    left = room.left()
    for text in fitting_labels(tags, room.width()):
        width = pill_width(text, WEIGHT)
        paint_pill(
            painter, QRectF(left, room.center().y() - HEIGHT / 2 + 1, width, HEIGHT), text, tokens, weight=WEIGHT
        )
        left += width + GAP
    return left - room.left()


def tags_text(tags: Sequence[str]) -> str:
    """`Tags: shop, staging`, "" without any."""
    return f"Tags: {', '.join(tags)}" if tags else ""


METER_LEAST = 24
"""Pixels; a shorter one would look like a dash behind the figure, and is not painted."""


class Meter(Painted):
    """A thin bar, filled in proportion to use; amber when full, empty without a limit. `name` says what is used."""

    accessible_role = QAccessible.Role.ProgressBar

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(QSize(80, 4), theme, parent)
        self._name, self._used, self._limit = name, 0, 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_use(self, used: int, limit: int) -> None:
        """A `limit` of 0 means no limit."""
        self._used, self._limit = used, limit
        share = f"{used * 100 // limit}% used" if limit else "no limit"
        self.setAccessibleName(f"{self._name}: {share}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.width() < METER_LEAST:
            return
        tokens = self.theme.tokens
        painter, rect = QPainter(self), QRectF(self.rect())
        paint_box(painter, rect, 2, tokens.border_strong)
        if self._limit and self._used:
            rect.setWidth(max(4.0, rect.width() * min(1.0, self._used / self._limit)))
            paint_box(painter, rect, 2, tokens.warning_fill if self._used >= self._limit else tokens.accent)

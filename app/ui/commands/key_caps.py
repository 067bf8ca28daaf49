"""Key caps: how a shortcut is split into keys, and how they are painted into rows or shown as a widget."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import Painted

HEIGHT = 20
_GAP, _PAD = 4, 6
_MAC = "⌃⌥⇧⌘"
_ON_KEYS = {"Return": "Enter"}
"""What is printed on the key, where Qt has another name for it."""

KeyNames = tuple[str, ...]


def key_names_of(keys: QKeySequence) -> KeyNames:
    """The keys to press together, as this system names them; none for an empty sequence."""
    return split_keys(keys.toString(QKeySequence.SequenceFormat.NativeText))


def split_keys(text: str) -> KeyNames:
    """`Ctrl+Shift+K`, `Ctrl++` or, as macOS writes it, `⇧⌘K`, as single keys."""
    key = text.lstrip(_MAC) or text
    modifiers = tuple(text[: len(text) - len(key)])
    if "+" in key[:-1]:
        at = key.rindex("+", 0, len(key) - 1)
        modifiers, key = tuple(key[:at].split("+")), key[at + 1 :]
    return (*modifiers, _ON_KEYS.get(key, key)) if key else ()


def key_cap_font() -> QFont:
    return ui_font(11, QFont.Weight.Medium)


def key_caps_width(key_names: Sequence[str]) -> int:
    """The width in pixels."""
    fm = QFontMetrics(key_cap_font())
    return sum(_cap_width(fm, cap) for cap in key_names) + _GAP * max(0, len(key_names) - 1)


def paint_key_caps(painter: QPainter, left: float, middle: float, key_names: Sequence[str], tokens: Tokens) -> None:
    """Draw key caps from `left` on, centred vertically on `middle`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(key_cap_font())
    fm = painter.fontMetrics()
    for number, cap in enumerate(key_names):
        left += _GAP if number else 0
        rect = QRectF(left + 0.5, middle - HEIGHT / 2 + 0.5, _cap_width(fm, cap) - 1, HEIGHT - 1)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.bg))
        painter.drawRoundedRect(rect, 4, 4)
        painter.setPen(QColor(tokens.text_muted))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, cap)
        left += _cap_width(fm, cap)
    painter.restore()


class KeyCaps(Painted):
    """The keys to press together."""

    def __init__(self, key_names: KeyNames, theme: Theme, parent: QWidget) -> None:
        super().__init__(QSize(key_caps_width(key_names), HEIGHT), theme, parent)
        self._key_names = key_names
        self.setAccessibleName(spoken_keys([key_names]))

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_key_caps(QPainter(self), 0.0, self.height() / 2, self._key_names, self.theme.tokens)


def spoken_keys(alternatives: Sequence[KeyNames]) -> str:
    """The keys in words: `Ctrl+K`, `F1 or ?`."""
    return " or ".join("+".join(key_names) for key_names in alternatives)


def _cap_width(fm: QFontMetrics, cap: str) -> int:
    return max(HEIGHT, fm.horizontalAdvance(cap) + 2 * _PAD)

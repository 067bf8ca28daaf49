"""Keys as key caps: how a shortcut is split into them, painted into rows, and as a widget."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens

HEIGHT = 20
_GAP, _PAD = 4, 6
_MAC = "⌃⌥⇧⌘"
_ON_KEYS = {"Return": "Enter"}
"""What is printed on the key, where Qt calls it otherwise."""

Caps = tuple[str, ...]


def caps_of(keys: QKeySequence) -> Caps:
    """The caps to press at once, named as this system names them; none for an empty sequence."""
    return split(keys.toString(QKeySequence.SequenceFormat.NativeText))


def split(text: str) -> Caps:
    """`Ctrl+Shift+K`, `Ctrl++` or, as macOS writes it, `⇧⌘K`, as single caps."""
    key = text.lstrip(_MAC) or text
    modifiers = tuple(text[: len(text) - len(key)])
    if "+" in key[:-1]:
        at = key.rindex("+", 0, len(key) - 1)
        modifiers, key = tuple(key[:at].split("+")), key[at + 1 :]
    return (*modifiers, _ON_KEYS.get(key, key)) if key else ()


def caps_font() -> QFont:
    """The font on caps."""
    return ui_font(11, QFont.Weight.Medium)


def caps_width(caps: Sequence[str]) -> int:
    """Pixels these caps take."""
    fm = QFontMetrics(caps_font())
    return sum(_cap_width(fm, cap) for cap in caps) + _GAP * max(0, len(caps) - 1)


def paint_caps(painter: QPainter, left: float, middle: float, caps: Sequence[str], tokens: Tokens) -> None:
    """Draw caps from `left` on, around the height `middle`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(caps_font())
    fm = painter.fontMetrics()
    for number, cap in enumerate(caps):
        left += _GAP if number else 0
        rect = QRectF(left + 0.5, middle - HEIGHT / 2 + 0.5, _cap_width(fm, cap) - 1, HEIGHT - 1)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.bg))
        painter.drawRoundedRect(rect, 4, 4)
        painter.setPen(QColor(tokens.text_muted))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, cap)
        left += _cap_width(fm, cap)
    painter.restore()


class KeyCaps(QWidget):
    """The caps to press at once."""

    def __init__(self, caps: Caps, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._caps, self._theme = caps, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(spoken([caps]))
        theme.changed.connect(self._repaint)

    def sizeHint(self) -> QSize:
        return QSize(caps_width(self._caps), HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_caps(QPainter(self), 0.0, self.height() / 2, self._caps, self._theme.tokens)

    @Slot()
    def _repaint(self) -> None:
        self.update()


def spoken(alternatives: Sequence[Caps]) -> str:
    """The keys in words: `Ctrl+K`, `F1 or ?`."""
    return " or ".join("+".join(caps) for caps in alternatives)


def _cap_width(fm: QFontMetrics, cap: str) -> int:
    return max(HEIGHT, fm.horizontalAdvance(cap) + 2 * _PAD)

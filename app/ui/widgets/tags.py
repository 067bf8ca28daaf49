"""An endpoint's tags, painted as quiet labels in the space that its name leaves."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QFont, QPainter

from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import paint_pill, pill_width

HEIGHT, GAP = 18, 4
WEIGHT = QFont.Weight.Normal


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

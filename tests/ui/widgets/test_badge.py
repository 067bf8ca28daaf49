"""Painted pills, and the labels of an endpoint's tags."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from app.ui.theme.theme import Theme
from app.ui.widgets.badge import GAP, WEIGHT, Tone, fitting_labels, paint_pill, pill_width, tags_text


def width_of(labels: list[str]) -> int:
    return sum(pill_width(one, WEIGHT) for one in labels) + GAP * (len(labels) - 1)


@pytest.mark.usefixtures("qapp")
def test_tags_are_shown_whole_or_counted() -> None:
    tags = ["shop", "x" * 32, "eu"]
    assert fitting_labels(tags, width_of(tags)) == tags
    assert fitting_labels(tags, width_of(tags) - 1) in (["shop", "x" * 32, "+1"], ["shop", "+2"])
    assert fitting_labels(tags, width_of(["shop", "+2"])) == ["shop", "+2"]
    assert fitting_labels(tags, width_of(["+3"])) == ["+3"]
    assert fitting_labels(tags, width_of(["+3"]) - 1) == []
    assert fitting_labels([], 500) == []


def test_tags_in_words() -> None:
    assert tags_text(("shop", "eu")) == "Tags: shop, eu"
    assert tags_text(()) == ""


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("tone", "ground"),
    [("neutral", "pressed"), ("accent", "accent_soft"), ("warning", "warning_soft"), ("danger", "danger_soft")],
)
def test_a_painted_pill_has_the_colour_of_its_tone(tone: Tone, ground: str) -> None:
    theme, picture = Theme(), QImage(60, 18, QImage.Format.Format_ARGB32)
    painter = QPainter(picture)
    paint_pill(painter, QRectF(0, 0, 60, 18), "x", theme.tokens, tone)
    painter.end()
    assert picture.pixelColor(6, 9) == QColor(getattr(theme.tokens, ground))

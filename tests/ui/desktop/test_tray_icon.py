"""The tray's icon: sharp digits in every size, bounded, and another shape while paused."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QApplication

from app.ui.desktop.tray import DIGITS, badge_text, digits_height, digits_width, icon_pixmap, tray_icon
from app.ui.theme.tokens import LIGHT, contrast

pytestmark = pytest.mark.usefixtures("qapp")


def pixels(pixmap: QPixmap) -> list[list[str]]:
    image = pixmap.toImage().convertToFormat(QImage.Format.Format_ARGB32)
    return [[image.pixelColor(x, y).name() for x in range(image.width())] for y in range(image.height())]


@pytest.mark.parametrize(("unread", "text"), [(-1, ""), (0, ""), (1, "1"), (99, "99"), (100, "99+"), (2**40, "99+")])
def test_the_count_is_bounded(unread: int, text: str) -> None:
    assert badge_text(unread) == text


@pytest.mark.parametrize("size", sorted(DIGITS))
@pytest.mark.parametrize("text", ["3", "12", "88", "99+"])
def test_the_digits_are_whole_pixels_of_white_on_the_badge(qapp: QApplication, size: int, text: str) -> None:
    glyphs, scale = DIGITS[size]
    image = pixels(icon_pixmap(size, text, paused=False))
    wide, high = digits_width(text, glyphs) * scale, digits_height(glyphs) * scale
    top = size - high - scale
    rows = [row[max(0, size - wide - 4 * scale) :] for row in image[top : top + high]]
    ink = sum(row.count("#ffffff") for row in rows)
    drawn = sum(row.count("#") for one in text for row in glyphs[one])
    assert ink >= drawn * scale * scale
    inside = {colour for row in rows for colour in row[3 * scale : -3 * scale]}
    assert inside <= {"#ffffff", LIGHT.danger_fill}
    assert contrast("#ffffff", LIGHT.danger_fill) > 4.5


@pytest.mark.parametrize("size", sorted(DIGITS))
def test_every_state_looks_different_by_its_shape(qapp: QApplication, size: int) -> None:
    def shape(text: str, paused: bool, wrong: bool) -> bytes:
        image = icon_pixmap(size, text, paused=paused, wrong=wrong, mask=True).toImage()
        return bytes(image.convertToFormat(QImage.Format.Format_Alpha8).constBits())

    signs = ((False, False), (True, False), (False, True))
    states = [shape(text, *sign) for text in ("", "3", "12", "99+") for sign in signs]
    assert len(set(states)) == len(states)


def test_the_icon_holds_each_size(qapp: QApplication) -> None:
    icon = tray_icon(7, paused=True)
    assert sorted(size.width() for size in icon.availableSizes()) == sorted(DIGITS)
    assert not icon.isMask()
    assert tray_icon(7, paused=True, mask=True).isMask()

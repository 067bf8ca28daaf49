"""The icons by what they mean; one family (Phosphor), coloured from the tokens."""

from __future__ import annotations

from functools import cache

import qtawesome
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QIcon, QPixmap
from qtawesome.iconic_font import IconicFont

from app.ui.theme.resources import resource
from app.ui.theme.tokens import Tokens

NAMES = {
    "add": "ph.plus",
    "all": "ph.tray",
    "body": "ph.brackets-curly",
    "chart": "ph.chart-bar",
    "check": "ph.check",
    "check-circle": "ph.check-circle",
    "close": "ph.x",
    "code": "ph.code",
    "collapse": "ph.caret-down",
    "command": "ph.command",
    "copy": "ph.copy",
    "dashboard": "ph.squares-four",
    "delete": "ph.trash",
    "download": "ph.download-simple",
    "down": "ph.arrow-down",
    "edit": "ph.pencil-simple",
    "expand": "ph.caret-right",
    "failed": "ph.x-circle",
    "filter": "ph.funnel",
    "folder": "ph.folder-open",
    "hook": "ph.anchor-simple",
    "image": "ph.image",
    "info": "ph.info",
    "key": "ph.key",
    "keyboard": "ph.keyboard",
    "light": "ph.sun",
    "link": "ph.link",
    "mirror": "ph.arrow-bend-up-right",
    "more": "ph.dots-three-vertical-bold",
    "notify": "ph.bell",
    "note": "ph.note",
    "own-window": "ph.arrow-square-out",
    "pause": "ph.pause",
    "play": "ph.play",
    "queued": "ph.clock",
    "quit": "ph.sign-out",
    "read": "ph.envelope-open",
    "refused": "ph.shield-warning",
    "saved": "ph.bookmark-simple",
    "search": "ph.magnifying-glass",
    "send": "ph.paper-plane-tilt",
    "select-all": "ph.selection-all",
    "settings": "ph.gear-six",
    "system": "ph.monitor",
    "star": "ph.star",
    "starred": "ph.star-fill",
    "text": "ph.text-align-left",
    "theme": "ph.moon",
    "unread": "ph.envelope-simple",
    "up": "ph.arrow-up",
    "newest": "ph.arrow-line-up",
    "warning": "ph.warning",
}
"""Meaning to glyph; widgets use the meanings only."""

WINDOW_SIZES = (16, 24, 32, 48, 64, 128, 256)
SMALL = 32
"""Pixels up to which the drawing for small sizes is used; it has no margin."""
MARGIN = 12
"""Of the other drawing, in its 128 units."""


def themed_icon(name: str, tokens: Tokens, colour: str = "text_muted", active: str | None = None) -> QIcon:
    """The icon `name` in the token `colour`; in `active` (default: the same) while hovered or selected."""
    plain = QColor(getattr(tokens, colour))
    lit = QColor(getattr(tokens, active or colour))
    icon: QIcon = _phosphor().icon(
        NAMES[name],
        color=plain,
        color_active=lit,
        color_on=lit,
        scale_factor=1.14,
        color_disabled=QColor(tokens.border_strong),
    )
    return icon


@cache
def _phosphor() -> IconicFont:
    """The one font of these icons; needs the QApplication. `qtawesome.icon` would read and hash twelve, 6 MB."""
    font = next(name for name in qtawesome.get_fonts_info()[1] if name.startswith("phosphor-"))
    charmap = font.replace("phosphor-", "phosphor-charmap-").removesuffix(".ttf") + ".json"
    return IconicFont(("ph", font, charmap))


def mark(size: int) -> QPixmap:
    """Hookline's mark without a margin, `size` pixels wide and high on a screen of scale 1 and sharp on any."""
    if size <= SMALL:
        return _drawing(size).pixmap(QSize(size, size))
    whole = round(size * 128 / (128 - 2 * MARGIN))
    picture = _drawing(whole).pixmap(QSize(whole, whole))
    edge = round(picture.width() * MARGIN / 128)
    side = picture.width() - 2 * edge
    return picture.copy(edge, edge, side, side)


def app_icon() -> QIcon:
    """Hookline's mark for windows, which show it in many sizes."""
    icon = QIcon()
    # An icon holds one SVG only, so the two drawings go in as pictures.
    for size in WINDOW_SIZES:
        icon.addPixmap(_drawing(size).pixmap(QSize(size, size), 1.0))
    return icon


def _drawing(size: int) -> QIcon:
    """The simpler drawing up to 32 pixels."""
    return QIcon(str(resource("icons/hookline-small.svg" if size <= SMALL else "icons/hookline.svg")))

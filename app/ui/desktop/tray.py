"""The system tray: its icon with the number of unread requests, its tooltip and its menu; and what a notification says,
which may be shown there. Many desktops have no tray, and it may appear or disappear while Hookline runs.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QColor, QIcon, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from app.core.bodies.escape import escape
from app.core.files import resource
from app.core.model import Endpoint
from app.core.record import Record
from app.core.text import capturing_text, shortened
from app.core.tunnel import TunnelState
from app.ui.commands.command import menu_text
from app.ui.theme.tokens import LIGHT
from app.ui.throttle import Pause

if TYPE_CHECKING:
    from app.db.store import Store

NAME_MAX, WRONG_MAX = 60, 30
"""Maximum characters of an endpoint's name, and of one in the tooltip."""
TOOLTIP_MAX = 127
"""Maximum characters that Windows shows of a tray icon's tooltip."""
COUNT_MAX = 99
TUNNEL_KEY = "the tunnel"
"""Of notifications about the tunnel. Not a slug: other keys are those of endpoints."""


class Notice(Record, frozen=True):
    """A notification; a later one with the same `key` replaces it.

    `capture_id` is the request it is about; None if it is about several, or about none.
    """

    key: str
    title: str
    text: str
    capture_id: str | None = None


def tooltip(
    unread: int,
    listening: str | None,
    tunnel: TunnelState,
    *,
    paused: bool,
    nodes: int | None = None,
    wrong: tuple[Endpoint, str] | None = None,
) -> str:
    """`Hookline · 12 unread · paused · Stripe: failed · listening on 127.0.0.1:8787 · tunnel: up`. `nodes` is how many
    capture where this machine does not, `wrong` the endpoint in the worst state, and its words."""
    listens = f"listening on {listening}" if listening else "not listening"
    parts = (
        "Hookline",
        f"{unread:,} unread" if unread else "",
        "paused" if paused else "",
        f"{shortened(escape(wrong[0].name), WRONG_MAX)}: {wrong[1].lower()}" if wrong is not None else "",
        capturing_text(nodes) if nodes is not None else listens,
        f"tunnel: {tunnel}" if tunnel is not TunnelState.OFF else "",
    )
    return " · ".join(filter(None, parts))[:TOOLTIP_MAX]


def badge_text(unread: int) -> str:
    """`12`, `99+`; empty for none."""
    return "" if unread <= 0 else str(unread) if unread <= COUNT_MAX else f"{COUNT_MAX}+"


def window_title(unread: int) -> str:
    """`(12) Hookline`: for taskbars and window lists where there is neither a tray nor a badge."""
    return f"({badge_text(unread)}) Hookline" if unread else "Hookline"


Glyphs = dict[str, tuple[str, ...]]

SMALL_DIGITS: Glyphs = {
    "0": ("###", "#.#", "#.#", "#.#", "###"),
    "1": (".#", "##", ".#", ".#", ".#"),
    "2": ("###", "..#", "###", "#..", "###"),
    "3": ("###", "..#", ".##", "..#", "###"),
    "4": ("#.#", "#.#", "###", "..#", "..#"),
    "5": ("###", "#..", "###", "..#", "###"),
    "6": ("###", "#..", "###", "#.#", "###"),
    "7": ("###", "..#", "..#", ".#.", ".#."),
    "8": ("###", "#.#", "###", "#.#", "###"),
    "9": ("###", "#.#", "###", "..#", "###"),
    "+": ("...", ".#.", "###", ".#.", "..."),
}
LARGE_DIGITS: Glyphs = {
    "0": (".##.", "#..#", "#..#", "#..#", "#..#", "#..#", ".##."),
    "1": (".#", "##", ".#", ".#", ".#", ".#", ".#"),
    "2": (".##.", "#..#", "...#", "..#.", ".#..", "#...", "####"),
    "3": ("###.", "...#", "...#", ".##.", "...#", "...#", "###."),
    "4": ("#..#", "#..#", "#..#", "####", "...#", "...#", "...#"),
    "5": ("####", "#...", "###.", "...#", "...#", "#..#", ".##."),
    "6": (".##.", "#..#", "#...", "###.", "#..#", "#..#", ".##."),
    "7": ("####", "...#", "...#", "..#.", "..#.", ".#..", ".#.."),
    "8": (".##.", "#..#", "#..#", ".##.", "#..#", "#..#", ".##."),
    "9": (".##.", "#..#", "#..#", ".###", "...#", "#..#", ".##."),
    "+": ("...", "...", ".#.", "###", ".#.", "...", "..."),
}


def digits_width(text: str, glyphs: Glyphs) -> int:
    """The width of `text` in pixels, with one pixel between two digits."""
    return sum(len(glyphs[one][0]) for one in text) + len(text) - 1


def digits_height(glyphs: Glyphs) -> int:
    """The height of each digit in pixels."""
    return len(glyphs["0"])


def draw_digits(painter: QPainter, place: QPoint, text: str, *, glyphs: Glyphs, scale: int, colour: QColor) -> None:
    """Draw `text` with its top left corner at `place`; each pixel of a digit is `scale` pixels wide and high: no font
    is sharp at five or seven pixels."""
    left = place.x()
    for one in text:
        for line, row in enumerate(glyphs[one]):
            for column, mark in enumerate(row):
                if mark == "#":
                    painter.fillRect(left + column * scale, place.y() + line * scale, scale, scale, colour)
        left += (len(glyphs[one][0]) + 1) * scale


DIGITS: dict[int, tuple[Glyphs, int]] = {
    16: (SMALL_DIGITS, 1),
    20: (SMALL_DIGITS, 1),
    22: (LARGE_DIGITS, 1),
    24: (LARGE_DIGITS, 1),
    32: (SMALL_DIGITS, 2),
    40: (SMALL_DIGITS, 2),
    44: (LARGE_DIGITS, 2),
    48: (LARGE_DIGITS, 2),
    64: (SMALL_DIGITS, 4),
}
"""Each size in pixels that trays ask for, on screens of scale 1 and 2: its digits and their magnification."""
_RING = 1
"""Transparent pixels around badge and bars, which separate them from the mark on any tray."""
_PAUSED_OPACITY = 0.55


def tray_icon(unread: int, *, paused: bool, wrong: bool = False, mask: bool = False) -> QIcon:
    """The icon in all sizes. As a `mask` only its shape counts, and the system colours it, as on macOS."""
    icon = QIcon()
    for size in DIGITS:
        icon.addPixmap(icon_pixmap(size, badge_text(unread), paused=paused, wrong=wrong, mask=mask))
    icon.setIsMask(mask)
    return icon


def icon_pixmap(size: int, text: str, *, paused: bool, wrong: bool = False, mask: bool = False) -> QPixmap:
    """The icon in one size, on a transparent background. What is `wrong` hides that it is paused."""
    result = QPixmap(size, size)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    painter.setOpacity(_PAUSED_OPACITY if paused else 1.0)
    painter.drawImage(0, 0, _mark(size, mask))
    painter.setOpacity(1.0)
    if wrong:
        _sign(painter, size, mask, LIGHT.danger_fill, _EXCLAMATION)
    elif paused:
        _sign(painter, size, mask, LIGHT.accent, _BARS)
    if text:
        _badge(painter, size, text, mask)
    painter.end()
    return result


@cache
def _mark(size: int, mask: bool) -> QImage:
    """Cached: parsing the SVG takes longer than all other steps together."""
    name = "symbolic" if mask else "small"
    return QIcon(str(resource(f"icons/hookline-{name}.svg"))).pixmap(QSize(size, size), 1.0).toImage()


def _badge(painter: QPainter, size: int, text: str, mask: bool) -> None:
    glyphs, scale = DIGITS[size]
    wide, high = digits_width(text, glyphs) * scale, digits_height(glyphs) * scale
    box_high = high + 2 * scale
    box_wide = min(size, max(wide + 4 * scale, box_high))
    box = QRect(size - box_wide, size - box_high, box_wide, box_high)
    _box(painter, box, 3 * scale, QColor("black" if mask else LIGHT.danger_fill))
    place = QPoint(box.left() + (box_wide - wide) // 2, box.top() + scale)
    if mask:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    draw_digits(painter, place, text, glyphs=glyphs, scale=scale, colour=QColor("white"))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)


_BARS = (QRect(1, 2, 2, 4), QRect(4, 2, 2, 4))
_EXCLAMATION = (QRect(3, 1, 1, 4), QRect(3, 6, 1, 1))


def _sign(painter: QPainter, size: int, mask: bool, colour: str, parts: tuple[QRect, ...]) -> None:
    """A box at the top left, and in it what stands for what is so."""
    unit = max(1, size // 16)
    _box(painter, QRect(0, 0, 7 * unit, 8 * unit), 2 * unit, QColor("black" if mask else colour))
    if mask:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    for part in parts:
        painter.fillRect(part.x() * unit, part.y() * unit, part.width() * unit, part.height() * unit, QColor("white"))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)


def _box(painter: QPainter, box: QRect, radius: int, colour: QColor) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    painter.drawRoundedRect(QRectF(box).adjusted(-_RING, -_RING, _RING, _RING), radius + _RING, radius + _RING)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
    painter.drawRoundedRect(QRectF(box), radius, radius)
    painter.restore()


def unread_requests(store: Store) -> list[tuple[Endpoint, int]]:
    """The endpoints that have any and how many, the one with the newest request first. The store keeps the counts in
    memory, so reading them is cheap.
    """
    counted = [(endpoint, store.captures.counts(endpoint.id)) for endpoint in store.endpoints.all()]
    counted.sort(key=lambda one: one[1].last_received_at or 0, reverse=True)
    return [(endpoint, counts.unread) for endpoint, counts in counted if counts.unread]


IS_MAC = sys.platform == "darwin"
_CLICKS = (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick)


class SystemTray(QObject):
    """Qt's tray icon, with a menu. On macOS a click only opens that, as is usual there."""

    clicked = Signal()
    message_clicked = Signal()
    """The newest message was clicked."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._icon: QSystemTrayIcon | None = None
        self.menu: QMenu | None = None

    def available(self) -> bool:
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self, icon: QIcon, tooltip: str) -> None:
        """Show the icon, or update it."""
        tray = self._icon
        if tray is None:
            # Created late: Qt detects the kind of tray only once, on creation.
            tray = self._icon = QSystemTrayIcon(self)
            if self.menu is not None:
                tray.setContextMenu(self.menu)
            tray.activated.connect(self._activated)
            tray.messageClicked.connect(self.message_clicked)
        if icon.cacheKey() != tray.icon().cacheKey():
            tray.setIcon(icon)
        tray.setToolTip(tooltip)
        if not tray.isVisible():
            tray.show()

    def hide(self) -> None:
        """Remove the icon; a tray that returns needs a new one."""
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None

    def can_show_message(self) -> bool:
        """Whether messages can be shown now."""
        return self._icon is not None and QSystemTrayIcon.supportsMessages()

    def show_message(self, title: str, text: str) -> None:
        """Show a message for as long as the system likes, without a sound."""
        if self._icon is not None:
            self._icon.showMessage(title, text, self._icon.icon())

    @Slot(QSystemTrayIcon.ActivationReason)
    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in _CLICKS and not IS_MAC:
            self.clicked.emit()


ENDPOINTS = 5
"""Maximum number of endpoints with unread requests in the menu, newest first. Each entry opens the endpoint's list."""


class TrayMenu(QMenu):
    """Entries are updated in place: on some desktops an open menu closes when it is rebuilt."""

    endpoint_requested = Signal(str)

    def __init__(self, store: Store, pause: Pause, parent: QWidget) -> None:
        super().__init__(parent)
        self._store, self._pause = store, pause
        self.show_window = self.addAction("Show Hookline")
        self.setDefaultAction(self.show_window)
        self._above = self.addSeparator()
        self._endpoints = [self.addAction("") for _ in range(ENDPOINTS)]
        self.addSeparator()
        self._hold = self.addAction("Pause list")
        self._hold.triggered.connect(pause.toggle)
        self.new_endpoint = self.addAction("New endpoint…")
        self.addSeparator()
        self.quit = self.addAction("Quit Hookline")
        self.triggered.connect(self._triggered)

    def refresh(self) -> None:
        """Call it before the menu is shown, and when the counts or the pause have changed."""
        self._hold.setText("Resume list" if self._pause.on else "Pause list")
        found = unread_requests(self._store)[:ENDPOINTS]
        self._above.setVisible(bool(found))
        for place, action in enumerate(self._endpoints):
            action.setVisible(place < len(found))
            if place < len(found):
                endpoint, unread = found[place]
                name = shortened(escape(endpoint.name), NAME_MAX)
                action.setText(menu_text(f"{name}: {unread:,} unread"))
                action.setData(endpoint.slug)

    @Slot(QAction)
    def _triggered(self, action: QAction) -> None:
        if action.data():
            self.endpoint_requested.emit(action.data())

"""Keeps windows and dialogs on the screen: no larger than what panels and the window's own frame leave of it."""

from __future__ import annotations

from PySide6.QtCore import QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QWidget

FRAME = QMargins(8, 38, 8, 8)
"""Title bar and borders, while the system has not told them: about the widest of Windows, GNOME, KDE and macOS."""
_LEFT_OF_WINDOW = 48
"""Pixels of the window below that a tall dialog leaves visible, above and beneath it together."""
_LOW_WINDOW = 640
"""A dialog may be as tall as this, however low the window below is."""


def room(window: QWidget) -> QSize:
    """The largest size that `window` may have without its frame."""
    return _screen(window).availableGeometry().marginsRemoved(_frame(window)).size()


def bounded(dialog: QWidget, wanted: QSize) -> QSize:
    """`wanted`, as far as the screen has room, and the window that the dialog stands on."""
    below = dialog.parentWidget()
    while below is not None and (beyond := below.parentWidget()) is not None:
        below = beyond  # the dialog it was opened from may be smaller than the window
    height = wanted.height()
    if below is not None:
        height = min(height, max(below.height() - _LEFT_OF_WINDOW, _LOW_WINDOW))
    return QSize(wanted.width(), height).boundedTo(room(dialog))


def fit(window: QWidget) -> None:
    """Make `window` smaller, and move it, as far as it takes to lie on one screen with its frame.

    For each `showEvent`: the size may come from another screen, or the contents ask for too much.
    """
    if window.windowState() & (Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen):
        return
    available, frame = _screen(window).availableGeometry(), _frame(window)
    most = available.marginsRemoved(frame).size()
    least = window.minimumSize().boundedTo(most)
    if least != window.minimumSize():
        window.setMinimumSize(least)
    size = window.size().boundedTo(most)
    if size != window.size():
        window.resize(size)
    handle = window.windowHandle()
    if not (window.testAttribute(Qt.WidgetAttribute.WA_Moved) or (handle is not None and handle.isExposed())):
        return  # the system finds a place for it, which a move would forestall
    place = _moved_into(QRect(window.pos(), window.size().grownBy(frame)), available)
    if place != window.pos():
        window.move(place)


def _frame(window: QWidget) -> QMargins:
    handle = window.windowHandle() if window.isVisible() else None
    told = handle.frameMargins() if handle is not None else QMargins()
    return told if not told.isNull() else FRAME


def _screen(window: QWidget) -> QScreen:
    """The one that most of the window lies on; of a dialog not yet shown, that of the window below."""
    of = window
    while not of.isVisible() and (below := of.parentWidget()) is not None:
        of = below.window()
    place = of.frameGeometry()

    def shared(screen: QScreen) -> int:
        common = screen.geometry().intersected(place)
        return common.width() * common.height()

    primary = QGuiApplication.primaryScreen()
    best = max(QGuiApplication.screens(), key=shared, default=primary)
    return best if shared(best) else primary


def _moved_into(frame: QRect, available: QRect) -> QPoint:
    """The top left corner of `frame`, moved so that it lies in what is available; its own top and left count most."""
    x = max(available.left(), min(frame.left(), available.right() - frame.width() + 1))
    y = max(available.top(), min(frame.top(), available.bottom() - frame.height() + 1))
    return QPoint(x, y)

"""Keeps windows and dialogs on the screen and as they were left, and scrolls what the screen is too small for."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent, QScreen
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.ui.window_file import WindowFile

FRAME = QMargins(8, 38, 8, 8)
"""Title bar and borders until the system reports them: about the widest of Windows, GNOME, KDE and macOS."""
_LEFT_OF_WINDOW = 48
"""Pixels of the window that stay visible above and below a tall dialog, in total."""
_LOW_WINDOW = 640
"""A dialog may be at least this tall, however low its window is."""


def room(window: QWidget) -> QSize:
    """The largest size that `window` may have, without its frame."""
    return _screen(window).availableGeometry().marginsRemoved(_frame(window)).size()


def bounded(dialog: QWidget, preferred: QSize) -> QSize:
    """`preferred`, limited by the screen and by the window of the dialog."""
    below = dialog.parentWidget()
    while below is not None and (beyond := below.parentWidget()) is not None:
        below = beyond  # The dialog it was opened from may be smaller than the window.
    height = preferred.height()
    if below is not None:
        height = min(height, max(below.height() - _LEFT_OF_WINDOW, _LOW_WINDOW))
    return QSize(preferred.width(), height).boundedTo(room(dialog))


def fit(window: QWidget) -> None:
    """Shrink and move `window` as needed to fit on one screen with its frame.

    Call in each `showEvent`: the size may come from another screen, or the contents may be too large.
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
        return  # The system places it, unless it was moved before.
    place = _moved_into(QRect(window.pos(), window.size().grownBy(frame)), available)
    if place != window.pos():
        window.move(place)


def _frame(window: QWidget) -> QMargins:
    handle = window.windowHandle() if window.isVisible() else None
    margins = handle.frameMargins() if handle is not None else QMargins()
    return margins if not margins.isNull() else FRAME


def _screen(window: QWidget) -> QScreen:
    """The screen with most of the window; for a dialog not shown yet, its window's screen."""
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
    """The top left corner of `frame` moved into the available area; top and left edges take priority."""
    x = max(available.left(), min(frame.left(), available.right() - frame.width() + 1))
    y = max(available.top(), min(frame.top(), available.bottom() - frame.height() + 1))
    return QPoint(x, y)


class ColumnScroll(QScrollArea):
    """Scrolls `content` up and down alone. Tab leads to what is in it, and does not stop at the area itself."""

    def __init__(self, content: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)


class Scrolling(ColumnScroll):
    """Prefers the size of `content`, and can shrink to `least`; a least width of 0 means the content's own, so that it
    never scrolls sideways. What is behind it is seen behind `content`.
    """

    def __init__(self, content: QWidget, least: QSize, parent: QWidget) -> None:
        self._content, self._least = content, least
        content.setProperty("transparent", True)
        super().__init__(content, parent)
        if least.width():
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)

    def sizeHint(self) -> QSize:
        return self._content.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Never more than the content's own."""
        needed = self._content.minimumSizeHint()
        return QSize(self._least.width() or needed.width(), self._least.height()).boundedTo(needed)


class FormScroll(ColumnScroll):
    """Scrolls `form`. The scroll bar takes its room from the form's right margin, so that the fields keep their width,
    and stay in line with what is above and below. What is behind it is seen behind `form`.
    """

    def __init__(self, form: QWidget, parent: QWidget) -> None:
        self._layout = form.layout()
        self._margins = self._layout.contentsMargins() if self._layout is not None else QMargins()
        form.setProperty("transparent", True)
        super().__init__(form, parent)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        margins = self._margins - QMargins(0, 0, self.width() - self.viewport().width(), 0)
        if self._layout is not None and self._layout.contentsMargins() != margins:
            self._layout.setContentsMargins(margins)


class StoredGeometry:
    """Stored in `file` below `key`. What a smaller screen makes of a window is not stored, unless the user resizes it
    there.
    """

    def __init__(self, file: WindowFile, key: str) -> None:
        self._file, self._key = file, key
        self._wanted = self._fitted = QSize()
        """The window's size before it was fitted on a smaller screen, and since then."""

    def restore(self, window: QWidget, first: QSize) -> None:
        """Restore the window; the first time it gets the size `first`."""
        geometry = self._file.value(f"{self._key}/geometry", QByteArray(), type=QByteArray)
        if not (isinstance(geometry, QByteArray) and not geometry.isEmpty() and window.restoreGeometry(geometry)):
            window.resize(first)
        # Qt does not restore more than fits on the screen.
        size = self._file.value(f"{self._key}/size", window.size(), type=QSize)
        self._wanted = size if isinstance(size, QSize) else window.size()
        self._fitted = window.size()

    def fit(self, window: QWidget) -> None:
        """Fit the window on its screen."""
        before = window.size()
        fit(window)
        if window.size() != before:
            self._wanted = self._wanted if before == self._fitted else before
            self._fitted = window.size()

    def save(self, window: QWidget) -> None:
        if window.isMaximized() or window.size() != self._fitted or self._fitted == self._wanted:
            self._file.setValue(f"{self._key}/geometry", window.saveGeometry())
            self._file.setValue(f"{self._key}/size", window.normalGeometry().size())

"""A short notice at the bottom of the window that hides by itself, may offer an undo, and covers nothing in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFrame,
    QGraphicsDropShadowEffect,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel

_CONTROLS = (QAbstractButton, QLineEdit, QAbstractSpinBox, QComboBox, QTabBar, QSlider)
_BARS = frozenset({"footer", "bar", "selection", "popup", "toast"})
"""Values of `part` of frames that must not be covered at all."""
_STEP = 4
_AROUND = 2
"""The distance in pixels to keep from a control."""

Box = tuple[int, int, int, int]
"""Left, top, right, bottom; the last two are exclusive."""


def free_place(size: QSize, parent: QWidget, without: QWidget) -> QPoint:
    """A position where `without`, of this size, covers nothing in use: as low as possible, centred if possible.

    Where there is room, it covers no text of a body either. If there is none, at the bottom.
    """
    used = [_box(rect) for rect in used_places(parent, without)]
    texts = [_box(rect) for rect in _text_places(parent)]
    edge, width, height = metrics.SPACE_5, size.width(), size.height()
    lowest = parent.height() - height - edge
    middle, right = (parent.width() - width) // 2, parent.width() - width - edge
    lefts = sorted({middle, edge, right, (middle + edge) // 2, (middle + right) // 2}, key=lambda x: abs(x - middle))
    for occupied in ([*used, *texts], used):
        for top in range(lowest, 0, -_STEP):
            row = [box for box in occupied if box[1] < top + height + _AROUND and box[3] > top - _AROUND]
            for left in lefts:
                if not any(box[0] < left + width + _AROUND and box[2] > left - _AROUND for box in row):
                    return QPoint(left, top)
    return QPoint(middle, lowest)


def _text_places(parent: QWidget) -> Iterator[QRect]:
    """The visible lines of the text views in `parent`, in its coordinates."""
    for view in parent.findChildren(QPlainTextEdit):
        if not view.isVisible():
            continue
        port = view.viewport()
        seen = port.visibleRegion().boundingRect()
        block = view.firstVisibleBlock()
        while block.isValid():
            rows = view.blockBoundingGeometry(block).translated(view.contentOffset())
            if rows.top() > seen.bottom():
                break
            layout = block.layout()
            width = max((layout.lineAt(n).naturalTextRect().right() for n in range(layout.lineCount())), default=0.0)
            text = QRect(0, int(rows.top()), int(width), int(rows.height())).intersected(seen)
            if width and not text.isEmpty():
                yield QRect(port.mapTo(parent, text.topLeft()), text.size())
            block = block.next()


def used_places(parent: QWidget, without: QWidget) -> Iterator[QRect]:
    """The visible parts of everything in use in `parent`, in its coordinates, ignoring overlays."""
    return _used(parent, QPoint(0, 0), parent.rect(), without)


def _used(holder: QWidget, origin: QPoint, clip: QRect, without: QWidget) -> Iterator[QRect]:
    """`holder` begins at `origin` and is visible within `clip`; what is scrolled out of it is skipped."""
    for child in holder.children():
        if not isinstance(child, QWidget) or child is without or child.isHidden() or child.isWindow():
            continue
        seen = child.geometry().translated(origin).intersected(clip)
        if seen.isEmpty():
            continue
        begin = origin + child.pos()
        rect = _used_of(child)
        if rect is not None and not rect.isEmpty():
            yield rect.translated(begin).intersected(seen)
        yield from _used(child, begin, seen, without)


def _used_of(widget: QWidget) -> QRect | None:
    """The area of a widget that is in use, in its own coordinates."""
    if isinstance(widget, _CONTROLS) or (isinstance(widget, QFrame) and widget.property("part") in _BARS):
        return widget.rect()
    if isinstance(widget, QAbstractItemView) and widget.currentIndex().isValid():
        view = widget.viewport()
        row = widget.visualRect(widget.currentIndex()).intersected(view.rect())
        return QRect(0, row.top(), view.width(), row.height()).translated(view.pos()) if row.isValid() else None
    if widget is not QApplication.focusWidget():
        return None
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        return widget.cursorRect().translated(widget.viewport().pos())
    return None if isinstance(widget, QAbstractScrollArea) else widget.rect()


def _box(rect: QRect) -> Box:
    return rect.left(), rect.top(), rect.left() + rect.width(), rect.top() + rect.height()


SHOWN_MS = 5000
_CHECK_MS = 200
"""Something in use may appear below it while it is shown: a row is selected, a bar opens."""


class Toast(QFrame):
    """One notice at a time over `parent`; a later one replaces it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._undo: Callable[[], object] | None = None
        self.setProperty("part", "toast")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = ElidedLabel("", "", self)
        self.button = Button("Undo", theme, self, kind="link")
        self.button.clicked.connect(self._act)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_2, metrics.SPACE_3, metrics.SPACE_2)
        row.setSpacing(metrics.SPACE_3)
        row.addWidget(self._text, 1)
        row.addWidget(self.button)
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(24)
        shadow.setOffset(0, 4)
        shadow.setColor(QColor(0, 0, 0, 70))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.hide)
        self._check = QTimer(self)
        self._check.setInterval(_CHECK_MS)
        self._check.timeout.connect(self._move_off)
        parent.installEventFilter(self)
        self.hide()

    def say(self, text: str, undo: Callable[[], object] | None = None, undo_label: str = "Undo") -> None:
        """Show `text` for a while, unless the window was closed meanwhile; `undo` gets a button."""
        if not isValid(self):
            return
        self._text.setText(text)
        self._undo = undo
        self.button.setText(undo_label)
        self.button.setVisible(undo is not None)
        # Without a button clicks go to what lies below.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, undo is None)
        self._place()
        self.show()
        self.raise_()
        self._timer.start()
        self._check.start()

    def take_back(self, text: str) -> None:
        """Hide it if it still shows `text`, which is no longer true."""
        if self._text.text() == text:
            self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay within the parent."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        parent = self.parentWidget()
        if parent is None:
            return
        width = min(self.sizeHint().width(), parent.width() - 2 * metrics.SPACE_5)
        self.resize(width, self.sizeHint().height())
        self.move(free_place(self.size(), parent, self))

    @Slot()
    def _move_off(self) -> None:
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            self._check.stop()
        elif any(self.geometry().intersects(rect) for rect in used_places(parent, self)):
            self._place()

    @Slot()
    def _act(self) -> None:
        self.hide()
        if self._undo is not None:
            self._undo()

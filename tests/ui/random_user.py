"""A user who does random things to whatever is on the screen, and never waits for what comes of them."""

from __future__ import annotations

import random
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QInputMethodEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSplitterHandle,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from app.ui.shell.main_window import MINIMUM, MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL

Button, Modifier = Qt.MouseButton, Qt.KeyboardModifier
LEFT, RIGHT, MIDDLE = Button.LeftButton, Button.RightButton, Button.MiddleButton
NONE, SHIFT, CTRL, ALT = (
    *(Modifier.NoModifier, Modifier.ShiftModifier),
    *(Modifier.ControlModifier, Modifier.AltModifier),
)
LARGEST = (1_920, 1_080)
TEXTS = (
    *("paid", "method:POST", "status:>=400 -paid", "is:unread", "tag:shop OR", 'path:"a', "size:>1k", "/", "7", "-1"),
    *("مرحبا بالعالم", "e\u0301\u200d😀👩\u200d👩\u200d👧", "\u202eabc\u2066", "\ufeff\u0000\t", "<b>&amp;", "%s{}\\"),
    *("W" * 3_000, "a\nb\r\n" * 50, "http://127.0.0.1:9/a?b=ü", "9" * 20, " "),
)
KEYS = (
    *("Tab", "Tab", "Backtab", "Up", "Down", "Down", "Left", "Right", "Return", "Return", "Space", "Escape", "Escape"),
    *("Home", "End", "PageUp", "PageDown", "Delete", "Backspace", "Menu", "F1", "F2", "F10"),
)
DRAGS_TEXT = (QLabel, QLineEdit, QPlainTextEdit, QTextEdit)
"""A drag of selected text would not end before the mouse does something on the real screen."""


class RandomUser:
    def __init__(self, window: MainWindow, dice: random.Random) -> None:
        self.window, self.dice = window, dice
        self._acts: dict[Callable[[], str], int] = {
            self.click: 30,
            self.double_click: 5,
            self.open_menu: 8,
            self.press: 20,
            self.use_command: 12,
            self.type: 8,
            self.paste: 3,
            self.turn_wheel: 8,
            self.drag: 5,
            self.drag_splitter: 3,
            self.resize: 3,
            self.go_elsewhere: 6,
            self.close_front: 3,
            self.move_mouse: 5,
        }

    def act(self) -> None:
        """Do one thing."""
        (act,) = self.dice.choices(list(self._acts), list(self._acts.values()))
        print(act.__name__, act(), flush=True)

    @property
    def front(self) -> QWidget:
        """The window that gets what the user does: a menu, or a dialog, before what is under it."""
        over = QApplication.activePopupWidget() or QApplication.activeModalWidget()
        windows = {name_of(one): one for one in QApplication.topLevelWidgets() if one.isVisible()}
        return over or windows[self.dice.choice(sorted(windows))]

    def place(self, kind: type[QWidget] = QWidget) -> tuple[QWidget, QPoint]:
        """A widget of this kind at a random place of the front window, and where in it; what is on top there."""
        front = self.front
        shown = [one for one in front.findChildren(kind) if one.isVisible() and not one.visibleRegion().isEmpty()]
        chosen = self.dice.choice(shown) if shown else front
        room = chosen.visibleRegion().boundingRect()
        x, y = (self.dice.randint(0, max(0, length - 1)) for length in (room.width(), room.height()))
        there = chosen.mapTo(front, room.topLeft() + QPoint(x, y)) if chosen is not front else QPoint(x, y)
        found = front.childAt(there) or front
        return found, found.mapFrom(front, there)

    def click(self) -> str:
        widget, at = self.place(self.dice.choice((QWidget, QAbstractButton, QAbstractItemView)))
        button = self.dice.choices((LEFT, MIDDLE), (30, 1))[0]
        said = f"{name_of(widget)} at {at.x()},{at.y()} {button.name}"
        QTest.mouseClick(widget, button, self.dice.choices((NONE, SHIFT, CTRL), (10, 1, 1))[0], at)
        return said

    def double_click(self) -> str:
        widget, at = self.place()
        said = f"{name_of(widget)} at {at.x()},{at.y()}"
        QTest.mouseDClick(widget, LEFT, NONE, at)
        return said

    def open_menu(self) -> str:
        widget, at = self.place()
        said = f"{name_of(widget)} at {at.x()},{at.y()}"
        QTest.mousePress(widget, RIGHT, NONE, at)
        asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.mapToGlobal(at))
        QApplication.sendEvent(widget, asked)
        return said

    def press(self) -> str:
        widget = self._with_focus()
        key = self.dice.choice((*KEYS, *"abcdjkmnrsuxz/?"))
        modifier = self.dice.choices((NONE, SHIFT, CTRL, ALT), (12, 2, 2, 1))[0]
        said = f"{modifier.name} {key} in {name_of(widget)}"
        QTest.keyClick(widget, getattr(Qt.Key, f"Key_{key}", key) if len(key) > 1 else key, modifier)
        return said

    def use_command(self) -> str:
        """One of the palette, which also has all menus' commands."""
        if QApplication.activeModalWidget() or QApplication.activePopupWidget():
            return f"after closing {self.close_front()}"
        command = self.dice.choice(list(self.window.commands.registry.all()))
        said = command.text()
        command.trigger()
        return said

    def type(self) -> str:
        """As input methods do it."""
        widget, text = self._with_focus(), self.dice.choice(TEXTS)
        said = f"{text[:20]!r} in {name_of(widget)}"
        event = QInputMethodEvent()
        event.setCommitString(text)
        QApplication.sendEvent(widget, event)
        return said

    def paste(self) -> str:
        text, widget = self.dice.choice(TEXTS), self._with_focus()
        said = f"{text[:20]!r} in {name_of(widget)}"
        QGuiApplication.clipboard().setText(text)
        QTest.keyClick(widget, "v", CTRL)
        return said

    def turn_wheel(self) -> str:
        widget, at = self.place()
        turn = QPoint(0, self.dice.choice((-960, -120, 120, 960)))
        modifier = self.dice.choices((NONE, CTRL, SHIFT), (8, 1, 1))[0]
        event = QWheelEvent(
            *(QPointF(at), QPointF(widget.mapToGlobal(at)), QPoint(), turn),
            *(Button.NoButton, modifier, Qt.ScrollPhase.NoScrollPhase, False),
        )
        said = name_of(widget)
        QApplication.sendEvent(widget, event)
        return said

    def drag(self, kind: type[QWidget] = QWidget) -> str:
        widget, at = self.place(kind)
        if isinstance(widget, DRAGS_TEXT) or isinstance(widget.parentWidget(), DRAGS_TEXT):
            return "no text"
        said = name_of(widget)
        QTest.mousePress(widget, LEFT, NONE, at)
        for _ in range(3):
            at += QPoint(self.dice.randint(-200, 200), self.dice.randint(-200, 200))
            self._move(widget, at, LEFT)
            if not isValid(widget):
                return said
        QTest.mouseRelease(widget, LEFT, NONE, at if widget.rect().contains(at) else QPoint(0, 0))
        return said

    def drag_splitter(self) -> str:
        return self.drag(QSplitterHandle)

    def move_mouse(self) -> str:
        widget, at = self.place()
        said = name_of(widget)
        self._move(widget, at, Button.NoButton)
        return said

    def resize(self) -> str:
        width, height = (self.dice.randint(*bounds) for bounds in zip(MINIMUM, LARGEST, strict=True))
        self.window.resize(width, height)
        return f"to {width}x{height}"

    def go_elsewhere(self) -> str:
        """As the tray, a notification or another start of the program leads there, whatever dialog is open."""
        places: list[object] = [DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REPLAYS, REFUSED, TUNNEL]
        places += [endpoint.id for endpoint in self.window.services.store.endpoints.all()]
        place = self.dice.choice(places)
        if isinstance(place, str):
            self.window.enter_page(place)
        else:
            self.window.enter_endpoint(place)
        return str(place)

    def close_front(self) -> str:
        front = self.front
        if front is self.window and self.dice.random() < 0.8:
            return "not the main window"
        said = name_of(front)
        front.close()
        return said

    def _move(self, widget: QWidget, at: QPoint, buttons: Qt.MouseButton) -> None:
        there = QPointF(widget.mapToGlobal(at))
        event = QMouseEvent(QEvent.Type.MouseMove, QPointF(at), there, Button.NoButton, buttons, NONE)
        QApplication.sendEvent(widget, event)

    def _with_focus(self) -> QWidget:
        return QApplication.activePopupWidget() or QApplication.focusWidget() or self.front


def name_of(widget: QWidget) -> str:
    """Enough to find it in the code."""
    words = widget.accessibleName() or widget.property("text")
    chain = [type(widget).__name__]
    while (parent := widget.parentWidget()) is not None and len(chain) < 4:
        widget = parent
        chain.append(type(widget).__name__)
    return f"{' < '.join(chain)} {str(words or '')[:30]!r}"

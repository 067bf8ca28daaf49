"""A user without a mouse: keys go where the focus is, and the focus has to be somewhere that can be seen and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAccessible, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from tests.ui.waiting import activate, settle, until

STOPS_MAX = 60
"""More than any window has."""
MOUSE_BUTTONS = (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease, QEvent.Type.MouseButtonDblClick)


class Keyboard:
    """`window` is the one that the system activates when a dialog closes."""

    def __init__(self, window: QWidget) -> None:
        self._window = window

    @property
    def focus(self) -> QWidget:
        """The widget with the focus; AssertionError if the user could not tell where that is."""
        widget = QApplication.focusWidget()
        assert widget is not None, "nothing has the focus"
        assert widget.isVisible(), f"hidden, but has the focus: {widget!r}"
        assert widget.isEnabled(), f"disabled, but has the focus: {widget!r}"
        assert not widget.visibleRegion().isEmpty(), f"out of view, but has the focus: {widget!r}"
        assert name_of(widget), f"has the focus, but no name: {widget!r}"
        return widget

    async def press(self, *keys: str) -> None:
        """One after the other, each where the focus is by then."""
        for key in keys:
            QTest.keySequence(QApplication.activePopupWidget() or self.focus, QKeySequence(key))
            await settle()
            await self._activate()
            assert self.focus

    async def type(self, text: str) -> None:
        QTest.keyClicks(self.focus, text)
        await settle()
        assert self.focus

    async def close(self, key: str) -> None:
        """Press the key that closes the dialog in front, and wait until it has done so."""
        dialog = self.focus.window()
        QTest.keySequence(self.focus, QKeySequence(key))
        await until(lambda: dialog not in QApplication.topLevelWidgets() or not dialog.isVisible())
        await self._activate()
        await settle()
        assert self.focus

    async def run(self, command: str) -> None:
        """Choose it in the palette by its name."""
        await self.press("Ctrl+K")
        await self.type(command)
        await self.press("Return")

    async def tab_to(self, place: str | QWidget, key: str = "Tab") -> None:
        """Press Tab, or `key`, until the focus is in that widget, or in one with that name."""
        passed: list[str] = []
        while place not in (self.focus, name_of(self.focus)):
            passed.append(name_of(self.focus))
            assert len(passed) < STOPS_MAX, f"{key} does not lead to {place}: {passed}"
            await self.press(key)

    async def tab_around(self) -> list[str]:
        """The names of all that Tab leads to, back to where the focus is now; Shift+Tab leads there the other way."""
        ways: list[list[QWidget]] = []
        for key in ("Tab", "Shift+Tab"):
            start, way = self.focus, list[QWidget]()
            while not way or way[-1] is not start:
                assert len(way) < STOPS_MAX, f"{key} does not come back: {list(map(name_of, way))}"
                await self.press(key)
                way.append(self.focus)
            ways.append(way)
        onward, back = ways
        assert [*reversed(back[:-1])] == onward[:-1]
        return list(map(name_of, onward))

    async def _activate(self) -> None:
        """The system gives the keyboard to the window below a closed one; the offscreen platform does not.

        No window has it for a moment while a dialog opens, either: then the dialog is next.
        """
        if QApplication.activeWindow() is None:
            await activate(QApplication.activeModalWidget() or self._window)


def name_of(widget: QWidget) -> str:
    """What a screen reader calls it."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


class _ButtonWatch(QObject):
    """Counts the events of mouse buttons."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() in MOUSE_BUTTONS
        return False


@contextmanager
def no_mouse() -> Iterator[None]:
    """Nothing is clicked meanwhile, by the user or by code."""
    app = QApplication.instance()
    assert app is not None
    watch = _ButtonWatch()
    app.installEventFilter(watch)
    try:
        yield
    finally:
        app.removeEventFilter(watch)
    assert watch.count == 0

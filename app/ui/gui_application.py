"""Qt's application object, which handles the system's request to quit and, on macOS, links clicked in other programs;
what screen readers are told of the program's own widgets, of which Qt only knows the base classes; and when Python's
garbage is collected while a window is open.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QFileOpenEvent
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QApplication, QWidget

YOUNG_MS = 1_000
FULL_EVERY = 60


class GuiApplication(QApplication):
    """Stores links until a handler is set: the first may arrive before there is a window.

    `quit_requested` follows when the system or the Dock quits the program. Qt itself would close the windows, and one
    that is hidden in the tray on closing would prevent that.

    Not an event filter, which would be called for every event of every object.
    """

    quit_requested = Signal()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._links: list[str] = []
        self._handler: Callable[[str], None] | None = None
        QAccessible.installFactory(_interface)

    def set_link_handler(self, handler: Callable[[str], None] | None) -> None:
        """Call `handler` with each link, the stored ones first; None stores them again."""
        self._handler = handler
        while handler is not None and self._links:
            handler(self._links.pop(0))

    def event(self, event: QEvent) -> bool:
        """Handle links and quit events; Qt handles the others."""
        if event.type() == QEvent.Type.Quit:
            self.quit_requested.emit()
            return True
        if not isinstance(event, QFileOpenEvent):
            return super().event(event)
        self._links.append(event.url().toString() or event.file())
        self.set_link_handler(self._handler)
        return True


class GuiCollector(QObject):
    """Collects garbage on the GUI thread until `stop`: elsewhere that could destroy widgets on the wrong thread. Call
    `freeze` after start-up.

    Young objects are collected each second, the oldest generation once a minute. Objects created at start-up are
    frozen, so that a collection takes much less than a frame. While a program starts, nearly all objects it creates are
    kept: collecting them repeatedly, as Python does by default, would take a tenth of the start-up time.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._turn, self._frozen = 0, False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._collect)
        self._timer.start(YOUNG_MS)

    def freeze(self) -> None:
        """Exclude all present objects from later collections. The next time, those are collected first that were for a
        window that is gone."""
        if self._frozen:
            gc.unfreeze()
            gc.collect()
        self._frozen = True
        gc.freeze()

    def stop(self) -> None:
        """Let Python collect automatically again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def _collect(self) -> None:
        self._turn += 1
        gc.collect(2 if self._turn % FULL_EVERY == 0 else 1)


_SELECTABLE_ROLES = (QAccessible.Role.ListItem, QAccessible.Role.PageTab)


def _interface(key: str, qt_object: QObject | None) -> QAccessibleWidget | None:
    """Gives widgets whose class has an `accessible_role` that role."""
    role = getattr(qt_object, "accessible_role", None)
    return _Accessible(qt_object, role) if isinstance(qt_object, QWidget) and role is not None else None


class _Accessible(QAccessibleWidget):
    """A widget with its own role. A button can be pressed whatever its role."""

    def text(self, which: QAccessible.Text) -> str:
        """A button without an accessible name is named by its text."""
        text = super().text(which)
        button = self.object()
        if not text and which == QAccessible.Text.Name and isinstance(button, QAbstractButton):
            return button.text().replace("&", "")
        return text

    def state(self) -> QAccessible.State:
        """Adds the states that belong to a checked button in this role."""
        state = super().state()
        button = self.object()
        if not isinstance(button, QAbstractButton) or not button.isCheckable():
            return state
        if self.role() in _SELECTABLE_ROLES:
            state.selectable, state.selected = 1, int(button.isChecked())
        elif self.role() == QAccessible.Role.Button:
            state.expandable, state.expanded, state.collapsed = 1, int(button.isChecked()), int(not button.isChecked())
        else:
            state.checkable, state.checked = 1, int(button.isChecked())
        return state

    def actionNames(self) -> list[str]:
        names = list(super().actionNames())
        return [QAccessibleActionInterface.pressAction(), *names] if self._is_button() else names

    def doAction(self, name: str) -> None:
        button = self.object()
        if isinstance(button, QAbstractButton) and name == QAccessibleActionInterface.pressAction():
            button.click()
        else:
            super().doAction(name)

    def _is_button(self) -> bool:
        return isinstance(self.object(), QAbstractButton)

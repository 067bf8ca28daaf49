"""The bar at the bottom of the window that offers to undo the newest deletion, with the seconds left."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.ui.commands.command import Command, CommandGroup
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.undo.pending_delete import PendingDelete
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import hbox

HEIGHT = 44
UNDO_KEY = "Ctrl+Z"


class UndoBar(QFrame):
    """Shown while a deletion can be undone; the countdown stops while the pointer or the focus is in it.

    Ctrl+Z does the same in every window; in a text field it undoes typing.
    """

    def __init__(self, pending: PendingDelete, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._pending = pending
        self._announced: int | None = None
        self._previous_focus: QWidget | None = None
        self._under_mouse = False
        self.setProperty("part", "undo")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(HEIGHT)
        self.text = ElidedLabel("", "strong", self)
        self.left = label("", "faint", self)
        self.button = Button("Undo", theme, self, icon="undo")
        self.button.setToolTip(f"Undo ({UNDO_KEY})")
        self.button.clicked.connect(pending.undo)
        hbox(
            (self.text, 1),
            self.left,
            self.button,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_3, 0),
        )
        self.command = Command(
            "Undo delete",
            theme,
            self,
            run=pending.undo,
            icon="undo",
            keys=(UNDO_KEY,),
            group=CommandGroup.LIST,
            context=Qt.ShortcutContext.ApplicationShortcut,
            unavailable=self._nothing_to_undo,
        )
        self.command.add_to(parent)  # a shortcut of the bar itself would not work while it is hidden
        pending.changed.connect(self._follow)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._focus_changed)
        self._follow()

    def event(self, event: QEvent) -> bool:
        """The pointer entered or left, or the window was hidden, for example by closing it to the tray."""
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.Hide):
            self._under_mouse = event.type() == QEvent.Type.Enter
            self._hold_countdown()
        return super().event(event)

    @Slot(object, object)
    def _focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        # Qt also reports the return to this window, from none or from a widget of another window.
        if new is self.button and old is not None and old.window() is self.window():
            self._previous_focus = old
        self._hold_countdown()

    def _hold_countdown(self) -> None:
        self._pending.hold(self.isVisible() and (self._under_mouse or self.button.hasFocus()))

    @Slot()
    def _follow(self) -> None:
        newest = self._pending.newest
        self.command.refresh()
        if newest is None:
            self._announced = None
            self._leave()
            return
        text = escape(newest.text)
        self.text.setText(text)
        self.left.setText(f"{self._pending.seconds_left} s")
        self.button.setAccessibleName("Undo")
        self.button.setAccessibleDescription(text)
        self.show()
        if newest.number != self._announced:
            self._announced = newest.number
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, f"{text} Press {UNDO_KEY} to undo."))

    def _nothing_to_undo(self) -> str | None:
        return None if self._pending.newest is not None else "There is nothing to undo."

    def _leave(self) -> None:
        """Hide; the focus returns to what is shown above."""
        had_focus = self.button.hasFocus()
        self._pending.hold(False)
        self.hide()
        if had_focus and self._previous_focus is not None and isValid(self._previous_focus):
            self._previous_focus.setFocus()

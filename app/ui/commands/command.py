"""An action that keeps an icon of the theme: one object behind a key, a button, a menu entry and the palette."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication

from app.ui.theme.theme import Theme


class Command(QAction):
    """Its keys work in the widgets it is added to and in what they hold, so that two lists may use the same keys."""

    def __init__(
        self,
        text: str,
        theme: Theme,
        parent: QObject,
        *,
        does: Callable[[], object],
        icon: str | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        super().__init__(text, parent)
        self._theme, self.icon_name, self.colour = theme, icon, "text_muted"
        self.setShortcuts([QKeySequence(key) for key in keys])
        self.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.setShortcutVisibleInContextMenu(True)
        self.triggered.connect(does)
        theme.changed.connect(self._recolour)
        self._recolour()

    def show_as(self, text: str, icon: str, colour: str = "text_muted") -> None:
        """Another text and icon, in the token `colour`."""
        self.setText(text)
        if (icon, colour) != (self.icon_name, self.colour):
            self.icon_name, self.colour = icon, colour
            self._recolour()

    def told(self) -> str:
        """What it does, with its first key in parentheses."""
        key = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        return f"{self.text()} ({key})" if key else self.text()

    def event(self, event: QEvent) -> bool:
        """While a menu is open, keys do nothing in the widget behind it that has the keyboard."""
        if event.type() == QEvent.Type.Shortcut and QApplication.activePopupWidget() is not None:
            return True
        return super().event(event)

    @Slot()
    def _recolour(self) -> None:
        if self.icon_name is not None:
            self.setProperty("glyph", self.icon_name)
            self.setIcon(self._theme.icon(self.icon_name, self.colour))

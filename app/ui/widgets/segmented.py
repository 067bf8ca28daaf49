"""A row of options, one of which is selected."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QToolButton, QWidget

from app.ui.widgets.layout import hbox


class Segmented(QFrame):
    """`activated` carries the key that the user selected. Tab goes to the selected option, the arrow keys to its
    neighbours.
    """

    activated = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget, *, compact: bool = False) -> None:
        super().__init__(parent)
        self.setProperty("part", "segmented")
        self.setProperty("compact", compact)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, _Choice] = {}
        row = hbox(inside=self, spacing=2, margins=2)
        for key, title in choices:
            button = _Choice(self)
            button.setText(title)
            button.setCheckable(True)
            button.setProperty("key", key)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.installEventFilter(self)
            self._group.addButton(button)
            self._buttons[key] = button
            row.addWidget(button)
        self._group.buttonClicked.connect(self._clicked)
        self._group.buttonToggled.connect(self._lead_tab)

    def set_current(self, key: str) -> None:
        """Select `key` without emitting `activated`."""
        self._buttons[key].setChecked(True)

    def current(self) -> str | None:
        """The selected key."""
        return next((key for key, button in self._buttons.items() if button.isChecked()), None)

    def set_enabled(self, key: str, enabled: bool) -> None:
        """Whether `key` can be selected."""
        self._buttons[key].setEnabled(enabled)

    def set_option_visible(self, key: str, visible: bool) -> None:
        """Whether `key` is shown at all."""
        self._buttons[key].setVisible(visible)

    def set_title(self, key: str, title: str) -> None:
        """Replace the label of `key`."""
        self._buttons[key].setText(title)

    def explain(self, key: str, text: str) -> None:
        """Set the full text for the short label of `key`, as tooltip and for screen readers."""
        self._buttons[key].setToolTip(text)
        self._buttons[key].setAccessibleName(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys move between options; Tab returns to the selected one."""
        if event.type() == QEvent.Type.FocusOut:
            self._lead_tab()
        return super().eventFilter(watched, event)

    @Slot()
    def _lead_tab(self) -> None:
        """Tab goes to the selected option and skips the others."""
        current = self._group.checkedButton()
        for button in self._buttons.values():
            there = current is None or button is current
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if there else Qt.FocusPolicy.ClickFocus)

    @Slot(QAbstractButton)
    def _clicked(self, button: QAbstractButton) -> None:
        self.activated.emit(str(button.property("key")))


class _Choice(QToolButton):
    """One option of the row."""

    accessible_role = QAccessible.Role.RadioButton

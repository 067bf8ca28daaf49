"""Describes the program's own widgets to screen readers: Qt only knows their base classes."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleActionInterface
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QLineEdit, QToolButton, QWidget

Role = QAccessible.Role
_SELECTABLE_ROLES = (Role.ListItem, Role.PageTab)


def install() -> None:
    """From now on, give widgets whose class has an `accessible_role` that role."""
    QAccessible.installFactory(_interface)


def name_clear_button(field: QLineEdit) -> None:
    """Set the accessible name of a field's clear button; Qt gives it none."""
    for button in field.findChildren(QToolButton):
        button.setAccessibleName("Clear")


def _interface(key: str, qt_object: QObject | None) -> QAccessibleWidget | None:
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
        elif self.role() == Role.Button:
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

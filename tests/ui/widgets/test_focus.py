"""The order in which Tab moves the focus."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QSpacerItem,
    QSplitter,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)
from pytestqt.qtbot import QtBot
from shiboken6 import getAllValidWrappers

from app.ui.widgets.focus import order_tabs


def names_in_tab_order(first: QWidget) -> str:
    names, widget = first.objectName(), first.nextInFocusChain()
    while widget is not first:
        names += widget.objectName() if isinstance(widget, QPushButton) else ""
        widget = widget.nextInFocusChain()
    return names


def form(qtbot: QtBot) -> QWidget:
    """Buttons whose names are their order on the screen, made in another order; the last is in no layout."""
    widget = QWidget()
    qtbot.addWidget(widget)
    made = {name: QPushButton(widget, objectName=name) for name in "fdcbea"}
    outer, inner = QVBoxLayout(widget), QHBoxLayout()
    outer.addWidget(made["a"])
    outer.addLayout(inner)
    outer.addStretch()
    outer.addWidget(made["e"])
    for name in "bcd":
        inner.addWidget(made[name])
    return widget


def test_it_follows_the_layouts_inside_each_other_then_what_is_in_none(qtbot: QtBot) -> None:
    widget = form(qtbot)
    order_tabs(widget)
    first = widget.findChild(QPushButton, "a")
    assert first is not None
    assert names_in_tab_order(first) == "abcdef"


def test_it_follows_a_splitter_and_leaves_other_windows_alone(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    splitter, dialog = QSplitter(widget), QDialog(widget)
    made = {name: QPushButton(objectName=name) for name in "cab"}
    column = QVBoxLayout(widget)
    column.addWidget(splitter)
    column.addWidget(made["c"])
    for name in "ab":
        splitter.addWidget(made[name])
    splitter.insertWidget(0, made["a"])
    other = [QPushButton(dialog, objectName=name) for name in "yx"]
    order_tabs(widget)
    assert names_in_tab_order(made["a"]) == "abc"
    assert names_in_tab_order(other[0]) == "yx"


def test_it_leaves_no_items_of_layouts_behind(qtbot: QtBot) -> None:
    """PySide would take the next object at the address of one that Qt has deleted for that item."""
    before = items_of_layouts()
    widget = form(qtbot)
    order_tabs(widget)
    assert items_of_layouts() <= before


def items_of_layouts() -> set[object]:
    return {one for one in getAllValidWrappers() if isinstance(one, (QWidgetItem, QSpacerItem))}

"""The order in which Tab moves the focus."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
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

from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Dialog
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


def test_what_has_its_focus_proxy_inside_comes_where_it_is_on_the_screen(qtbot: QtBot) -> None:
    """Qt takes it for a place of its own; at the end Tab would lead back from there and never reach the beginning."""
    widget = QWidget()
    qtbot.addWidget(widget)
    column = QVBoxLayout(widget)
    first, last, field = QPushButton(widget), QPushButton(widget), QWidget(widget)
    inside = [QPushButton(field), QPushButton(field)]
    row = QHBoxLayout(field)
    for button in inside:
        row.addWidget(button)
    for part in (first, field, last):
        column.addWidget(part)
    field.setFocusProxy(inside[0])
    order_tabs(widget)
    widget.show()
    qtbot.waitUntil(widget.isVisible)
    first.setFocus()
    ring = [first, *inside, last]
    for key, way in (("Tab", [*ring[1:], first]), ("Shift+Tab", [*reversed(ring)])):
        for place in way:
            QTest.keySequence(widget.focusWidget(), QKeySequence(key))
            assert widget.focusWidget() is place


def test_tab_into_a_scroll_area_of_a_dialog_scrolls_to_the_focus(qtbot: QtBot) -> None:
    theme = Theme()
    dialog = Dialog("Title", theme, None)
    qtbot.addWidget(dialog)
    fields = [QPushButton() for _ in range(40)]
    for field in fields:
        dialog.body.addWidget(field)
    close = Button("Close", theme, dialog)
    dialog.footer.addWidget(close)
    dialog.resize(300, 200)
    dialog.show()
    qtbot.waitUntil(dialog.isVisible)
    for key, place in (("Tab", fields[0]), ("Shift+Tab", fields[-1])):
        close.setFocus()
        bar = dialog.content_area.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        assert place.visibleRegion().isEmpty()
        QTest.keySequence(close, QKeySequence(key))
        assert dialog.focusWidget() is place
        assert not place.visibleRegion().isEmpty()


def test_it_leaves_no_items_of_layouts_behind(qtbot: QtBot) -> None:
    """PySide would take the next object at the address of one that Qt has deleted for that item."""
    before = items_of_layouts()
    widget = form(qtbot)
    order_tabs(widget)
    assert items_of_layouts() <= before


def items_of_layouts() -> set[object]:
    return {one for one in getAllValidWrappers() if isinstance(one, (QWidgetItem, QSpacerItem))}

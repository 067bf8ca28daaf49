"""What looks for faults in a window finds them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.ui.layout_faults import layout_faults


def cut_line(parent: QWidget) -> None:
    QLabel("A text that is wider than its label", parent).setFixedWidth(40)


def cut_lines(parent: QWidget) -> None:
    label = QLabel("Several lines of text that need more height than there is", parent)
    label.setWordWrap(True)
    label.setFixedSize(80, 14)


def cut_button(parent: QWidget) -> None:
    QPushButton("A button with many words", parent).setFixedWidth(40)


def cut_number(parent: QWidget) -> None:
    table, cell = QTableWidget(1, 1, parent), QTableWidgetItem("1,234,567 ms")
    table.setAccessibleName("Table")
    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight)
    table.setItem(0, 0, cell)
    table.setColumnWidth(0, 40)


def overlap(parent: QWidget) -> None:
    grid = QGridLayout(parent)
    for name in ("One", "Two"):
        grid.addWidget(QPushButton(name, parent), 0, 0)


def sideways(parent: QWidget) -> None:
    area, wide = QScrollArea(parent), QWidget()
    area.setAccessibleName("Area")
    area.resize(200, 100)
    wide.setFixedSize(900, 20)
    area.setWidget(wide)


def without_name(parent: QWidget) -> None:
    QLineEdit(parent)


def doubled_name(parent: QWidget) -> None:
    for place in (0, 60):
        QPushButton("Save", parent).move(0, place)


def faint(parent: QWidget) -> None:
    QLabel("Faint", parent).setStyleSheet("color: #999999; background: #ffffff")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (cut_line, "cut"),
        (cut_lines, "lines cut"),
        (cut_button, "cut"),
        (cut_number, "cut"),
        (overlap, "overlap"),
        (sideways, "scrolls sideways"),
        (without_name, "no name"),
        (doubled_name, "2 of the name"),
        (faint, "faint"),
    ],
)
def test_each_fault_is_found(qtbot: QtBot, make: Callable[[QWidget], None], words: str) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(400, 300)
    window.show()
    assert layout_faults(window) == set()
    make(window)
    for one in window.findChildren(QWidget):
        if not isinstance(one, QScrollBar):
            one.show()
    qtbot.wait(1)
    (fault,) = layout_faults(window)
    assert words in fault

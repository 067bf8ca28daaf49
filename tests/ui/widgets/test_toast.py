"""The toast covers nothing that is used, on any page and whatever comes while it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.core.model import Plan, Refusal
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_REQUESTS, DASHBOARD, REFUSED
from app.ui.theme.theme import Theme
from app.ui.widgets.toast import Toast
from tests.ui.desk import shown
from tests.ui.waiting import settle, until

SAID = "Copied a sample curl command for an endpoint with a fairly long name."


def seen(widget: QWidget) -> QRect:
    """What is to be seen of a widget, on the screen."""
    region = widget.visibleRegion().boundingRect()
    return QRect(widget.mapToGlobal(region.topLeft()), region.size())


def on_screen(toast: Toast) -> QRect:
    """Where it is, without its shadow."""
    return QRect(toast.mapToGlobal(QPoint(0, 0)), toast.size())


def covered(window: MainWindow, toast: Toast) -> list[str]:
    """Names of what the toast covers: buttons, lines, current rows, and what has the keyboard."""
    toast.setVisible(False)  # what it covers would not count as seen
    places = [
        (widget, seen(widget))
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and isinstance(widget, QAbstractButton | QLineEdit) and not toast.isAncestorOf(widget)
    ]
    for view in window.findChildren(QAbstractItemView):
        if view.isVisible() and view.currentIndex().isValid():
            row = view.visualRect(view.currentIndex()).intersected(view.viewport().rect())
            places.append((view, QRect(view.viewport().mapToGlobal(row.topLeft()), row.size())))
    toast.setVisible(True)
    lies = on_screen(toast)
    return [widget.accessibleName() or type(widget).__name__ for widget, place in places if lies.intersects(place)]


@pytest.mark.parametrize("size", [(1280, 720), (960, 600)])
@pytest.mark.parametrize("page", [DASHBOARD, ALL_REQUESTS, REFUSED, "endpoint"])
async def test_it_covers_nothing_on_any_page(tmp_path: Path, page: str, size: tuple[int, int]) -> None:
    async with shown(tmp_path, endpoints=12, plan=Plan.PRO) as (desk, window):
        window.resize(*size)
        first = desk.store.endpoints.all()[0]
        for number in range(12):
            await desk.capture(first)
            desk.refused.add(
                Refusal(at=number, source_address="::1", source_port=1, status=404, reason="r", target="/x"), b"x"
            )
        if page == "endpoint":
            window.enter_endpoint(first.id)
            await until(lambda: window.requests.feed.model.rowCount() == 12)
            QTest.keyClick(window.requests.list, Qt.Key.Key_End)
            await until(lambda: window.requests.detail.capture is not None)
        else:
            window.show_page(page)
            if page == REFUSED:
                window.refused.table.selectRow(11)
        await settle(10)
        toasts = [window.toast] if page != "endpoint" else [window.toast, window.requests._toast]
        for toast in toasts:
            toast.say(SAID)
            await settle()
        for toast in toasts:
            assert toast.isVisible()
            assert covered(window, toast) == []
            parent = toast.parentWidget()
            assert parent is not None
            assert parent.rect().contains(toast.geometry())
        if len(toasts) == 2:
            await until(lambda: not on_screen(toasts[0]).intersects(on_screen(toasts[1])))


class TestAlone:
    @pytest.fixture
    def theme(self, qapp: QApplication) -> Theme:
        theme = Theme()
        theme.apply(qapp)
        theme.set_choice("light")
        return theme

    @pytest.fixture
    def window(self, qtbot: QtBot) -> QWidget:
        window = QWidget()
        qtbot.addWidget(window)
        window.resize(600, 400)
        window.show()
        return window

    def test_it_gives_way_to_what_comes_later(self, theme: Theme, qtbot: QtBot, window: QWidget) -> None:
        toast = Toast(theme, window)
        toast.say("Done.")
        first = toast.geometry()
        assert abs(first.center().x() - window.rect().center().x()) <= 1
        button = QPushButton("Later", window)
        button.setGeometry(first)
        button.show()
        qtbot.waitUntil(lambda: not toast.geometry().intersects(button.geometry()))
        assert window.rect().contains(toast.geometry())

    def test_clicks_go_through_it_unless_it_has_a_button(self, theme: Theme, qtbot: QtBot, window: QWidget) -> None:
        toast = Toast(theme, window)
        toast.say("Done.")
        assert window.childAt(toast.geometry().center()) is None
        toast.say("Done.", lambda: None)
        assert window.childAt(toast.button.mapTo(window, toast.button.rect().center())) is toast.button

    def test_it_lies_beside_the_text_that_is_read(self, theme: Theme, qtbot: QtBot, window: QWidget) -> None:
        code = QPlainTextEdit("\n".join(["a line of some text"] * 100), window)
        code.setGeometry(window.rect())
        code.show()
        qtbot.waitUntil(lambda: bool(code.verticalScrollBar().maximum()))
        toast = Toast(theme, window)
        toast.say("Saved a note that reaches far to both sides of the middle.")
        ends = code.cursorRect(code.cursorForPosition(QPoint(599, 200))).right()
        assert toast.geometry().left() > ends
        code.setPlainText("\n".join(["a long line of text" * 9] * 100))
        toast.say("Done.")
        assert toast.geometry().bottom() == window.height() - 25

    def test_without_a_free_place_it_is_at_the_foot(self, theme: Theme, qtbot: QtBot, window: QWidget) -> None:
        button = QPushButton("All", window)
        button.setGeometry(window.rect())
        button.show()
        toast = Toast(theme, window)
        toast.say("Done.")
        assert toast.geometry().bottom() == window.height() - 25

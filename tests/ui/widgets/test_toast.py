"""Where the toast is, and what clicks on it do."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.messages import MessageAction
from app.ui.requests.page.footer import ListFooter
from app.ui.theme.theme import Theme
from app.ui.widgets.notices import BELOW, Toast
from tests.ui.desk import shown
from tests.ui.waiting import settle, until


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    theme.set_choice("light")
    return theme


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(600, 400)
    window.show()
    return window


def test_it_is_in_the_middle_above_the_bottom_whatever_the_size(theme: Theme, window: QWidget) -> None:
    toast = Toast(theme, window)
    for text in ("Done.", "A notice that is too long for its window. " * 9):
        toast.say(text)
        for width, height in ((600, 400), (300, 240)):
            window.resize(width, height)
            assert abs(toast.geometry().center().x() - window.rect().center().x()) <= 1
            assert toast.geometry().bottom() == window.height() - BELOW - 1
            assert window.rect().contains(toast.geometry())


def test_clicks_go_through_it_unless_it_has_a_button(theme: Theme, window: QWidget) -> None:
    toast = Toast(theme, window)
    toast.say("Done.")
    assert window.childAt(toast.geometry().center()) is None
    toast.say("Done.", MessageAction("Undo", lambda: None))
    button, other = toast.buttons
    assert window.childAt(button.mapTo(window, button.rect().center())) is button
    assert other.isHidden()


@pytest.mark.parametrize("size", [(1280, 720), (960, 600)])
async def test_it_leaves_the_bar_below_the_list_free(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(*size)
        first = desk.store.endpoints.all()[0]
        await desk.capture(first)
        window.enter_endpoint(first.id)
        await until(lambda: window.requests.feed.model.rowCount() == 1)
        await settle()
        footer = window.requests.findChildren(ListFooter)[0]
        for toast in (window.toast, window.requests._toast):
            toast.say("Copied a sample curl command for an endpoint with a fairly long name.")
            assert toast.mapToGlobal(toast.rect().bottomLeft()).y() < footer.mapToGlobal(footer.rect().topLeft()).y()

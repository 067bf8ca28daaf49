"""The buttons of an open request: with labels where there is room, in a menu where there is not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.ui.commands.command import ActionButton
from app.ui.inspector.header import FACTS_WIDTH
from app.ui.theme.metrics import SPACE_1
from app.ui.widgets.buttons import IconButton
from tests.support import until
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle

pytestmark = [
    pytest.mark.usefixtures("each_font"),
    pytest.mark.qt_log_ignore("This plugin does not support", extend=True),  # said when a menu opens
]
LABELLED = Qt.ToolButtonStyle.ToolButtonTextBesideIcon


def buttons(shown: PageDesk) -> list[ActionButton]:
    """From left to right."""
    found = shown.detail.header.findChildren(ActionButton)
    return sorted((one for one in found if one.isVisible()), key=lambda one: one.x())


async def resized(shown: PageDesk, page: int, pane: int) -> list[ActionButton]:
    """The buttons once the pane has this width, all of them inside it and none over another."""
    shown.page.resize(page, 800)
    shown.page.splitter.setSizes([page - pane, pane])
    await settle()
    visible = buttons(shown)
    assert visible[-1].geometry().right() <= shown.detail.width()
    for left, right in pairwise(visible):
        assert left.geometry().right() < right.x()
        assert left.width() >= left.sizeHint().width()
    return visible


async def test_a_wide_pane_labels_all_and_a_narrower_one_the_first(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    opened = shown.page.commands.opened
    wide = await resized(shown, 2200, 1800)
    assert [one.command for one in wide] == opened.with_keys()
    assert all(one.toolButtonStyle() is LABELLED for one in wide)
    medium = await resized(shown, 1300, 760)
    assert [one.command for one in medium] == opened.with_keys()
    labelled = [one.command for one in medium if one.toolButtonStyle() is LABELLED]
    order = sorted(opened.with_keys(), key=lambda one: one in (opened.own_window, opened.link))
    assert labelled == order[: len(labelled)]
    assert 0 < len(labelled) < len(order)
    facts = shown.detail.header.facts
    assert facts.width() >= facts.sizeHint().width()


async def test_what_a_narrow_pane_has_no_button_for_is_in_a_menu(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    opened = shown.page.commands.opened
    narrow = await resized(shown, 860, shown.detail.minimumSizeHint().width())
    assert narrow[0].command is opened.replay
    facts = shown.detail.header.facts
    assert facts.width() >= FACTS_WIDTH - 2 * SPACE_1
    hidden = [one for one in opened.with_keys() if one not in [button.command for button in narrow]]
    assert hidden
    (more,) = (one for one in shown.detail.header.findChildren(IconButton) if one.toolTip() == "More for this request")
    assert more.isVisible()
    QTest.keyClick(more, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.actions() == hidden
    assert menu.toolTipsVisible(), "they say why a command cannot be run"
    menu.close()
    await resized(shown, 2200, 1800)
    await until(lambda: not more.isVisible())


async def test_tab_goes_through_the_buttons_from_left_to_right(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    row = await resized(shown, 2200, 1800)
    for before, after in pairwise(row):
        stop = before.nextInFocusChain()
        while not stop.isVisible() or stop.focusPolicy() is Qt.FocusPolicy.NoFocus:
            stop = stop.nextInFocusChain()
        assert stop is after
    assert row[0].previousInFocusChain().window() is shown.page.window()
    tabs, stop = shown.detail.tabs, row[-1]
    while not stop.isVisible() or stop in row or stop.focusPolicy() is Qt.FocusPolicy.NoFocus:
        stop = stop.nextInFocusChain()
    assert stop.parentWidget() is tabs or stop is tabs

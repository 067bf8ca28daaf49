"""What gives way where height is short."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme.theme import Theme
from app.ui.widgets.empty_state import EMPTY_WIDTH, EmptyState


@pytest.mark.usefixtures("qapp", "each_font")
def test_the_icon_of_an_empty_state_goes_before_its_words(qtbot: QtBot) -> None:
    text = "The target responded, and its response was removed to stay within the limit of responses."
    state = EmptyState("forward", "Nothing sent yet", text, Theme())
    qtbot.addWidget(state)
    state.set_text_width(EMPTY_WIDTH)
    state.resize(600, 180)
    state.show()
    assert not state.tile.isVisible()
    assert state.text.visibleRegion().boundingRect() == state.text.rect()
    state.resize(600, 300)
    assert state.tile.isVisible()

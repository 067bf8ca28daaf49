"""The room between things, and what gives way where height is short."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import EMPTY_WIDTH, EmptyState
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.fit_screen import FormScroll
from app.ui.widgets.layout import vbox


def test_the_icon_of_a_button_does_not_touch_its_text(qapp: QApplication, qtbot: QtBot) -> None:
    widths = []
    for icon in (None, "send"):
        button = Button("Send a test request", Theme(), icon=icon)
        qtbot.addWidget(button)
        widths.append(button.sizeHint().width())
    assert widths[1] - widths[0] >= metrics.ICON + metrics.SPACE_2


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


def test_a_line_is_between_a_list_and_its_details(qtbot: QtBot) -> None:
    dialog, choices, details = Dialog("Targets", Theme(), None), QLabel("choices"), QLabel("details")
    qtbot.addWidget(dialog)
    dialog.fill_columns(vbox(choices), vbox(details))
    dialog.resize(400, 300)
    dialog.show()
    lines = [one for one in dialog.findChildren(QFrame) if one.property("part") == "line"]
    (between,) = (one for one in lines if choices.x() < one.x() < details.x())
    assert (between.width(), between.height()) == (1, details.height())


def test_a_long_error_does_not_widen_its_field(qtbot: QtBot) -> None:
    field = LabeledField("URL", QLineEdit())
    qtbot.addWidget(field)
    width = field.minimumSizeHint().width()
    field.set_error("This is no URL that a request can be sent to. " * 5)
    assert field.minimumSizeHint().width() < max(width, 200)


def test_a_line_is_below_the_title_where_the_content_is_scrolled_under_it(qapp: QApplication, qtbot: QtBot) -> None:
    dialog = Dialog("Edit and replay", Theme(), None)
    qtbot.addWidget(dialog)
    dialog.body.addWidget(QLabel("line\n" * 60))
    dialog.resize(400, 300)
    dialog.show()
    bar, height = dialog.content_area.verticalScrollBar(), dialog.content_area.height()
    assert not dialog.edge.isVisible()
    bar.setValue(bar.maximum())
    assert dialog.edge.isVisible()
    assert dialog.content_area.height() == height
    bar.setValue(0)
    assert not dialog.edge.isVisible()


def test_fields_keep_their_width_beside_a_scroll_bar(qtbot: QtBot) -> None:
    form, window, field = QWidget(), QWidget(), QLineEdit()
    qtbot.addWidget(window)
    vbox(field, QLabel("line\n" * 20), inside=form, margins=40)
    area = FormScroll(form, window)
    vbox(area, inside=window)
    window.show()
    bar = area.verticalScrollBar()
    for height in (800, 200):
        window.resize(400, height)
        qtbot.waitUntil(lambda: bar.isVisible() is (window.height() == 200) and field.width() == 400 - 2 * 40)

"""The theme in the settings: seen while it is chosen, and used from then on once it is saved."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import Question
from tests.ui.desk import Desk
from tests.ui.settings.test_tunnel import open_settings
from tests.ui.waiting import until


async def test_it_is_seen_before_it_is_saved(desk: Desk, window: MainWindow) -> None:
    dialog = open_settings(window)
    for index, dark in ((2, True), (1, False), (2, True)):
        dialog.form["theme"].setCurrentIndex(index)
        assert desk.theme.is_dark is dark
        # Another setting that others change meanwhile does not end it.
        await desk.change_settings({"port": 9000 + index})
        assert desk.theme.is_dark is dark
    assert desk.settings.theme == "system"
    assert dialog.has_changes()
    seen = []
    desk.theme.changed.connect(lambda _: seen.append(desk.theme.is_dark))
    dialog.save_button.click()
    await until(dialog.is_idle)
    assert desk.settings.theme == desk.theme.choice == "dark"
    dialog.reject()
    assert desk.theme.is_dark
    assert seen == []


async def test_it_goes_back_when_the_changes_are_discarded(desk: Desk, window: MainWindow) -> None:
    dialog = open_settings(window)
    dialog.form["theme"].setCurrentIndex(2)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    (question,) = dialog.findChildren(Question)
    assert desk.theme.is_dark
    question.confirm.click()
    assert not desk.theme.is_dark
    assert desk.settings.theme == "system"


@pytest.mark.slow
async def test_one_chosen_elsewhere_is_used_and_shown(desk: Desk, window: MainWindow) -> None:
    dialog = open_settings(window)
    field = dialog.form["theme"]
    for edited, choice in ((None, "dark"), (0, "light"), (2, "system")):
        if edited is not None:
            field.setCurrentIndex(edited)
            assert dialog.has_changes()
        name = "Theme: match system" if choice == "system" else f"Theme: {choice}"
        next(one for one in window.commands.registry.all() if one.text() == name).run()
        await until(lambda choice=choice: field.value() == desk.settings.theme == choice)  # type: ignore[misc]
        assert desk.theme.is_dark is (choice == "dark")
        assert not dialog.has_changes()
    dialog.reject()

"""The sections of the settings: one is shown, and the list says where something is not saved or wrong."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.model import Plan
from app.core.sizes import MIB
from app.ui.settings.sections import SettingsRow, SettingsSection
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.text_fields import NumberField
from tests.ui.desk import Desk
from tests.ui.settings.test_tunnel import open_settings
from tests.ui.waiting import activate, settle, until


async def test_one_section_is_shown_and_the_keys_choose_it(desk: Desk, window: MainWindow) -> None:
    dialog = open_settings(window)
    await activate(dialog)
    assert dialog.sections.hasFocus()
    focused = dialog.sections.grab().toImage()
    dialog.close_button.setFocus()
    assert dialog.sections.grab().toImage() != focused, "the focus is seen"
    dialog.sections.setFocus()
    for title in ("Window", "Network", "Account", "Storage"):
        shown = [one for one in dialog.findChildren(SettingsSection) if one.isVisible()]
        assert [one.title for one in shown] == [title]
        assert dialog.sections.currentItem().text() == title
        QTest.keyClick(dialog.sections, Qt.Key.Key_Down)
    dialog.reject()


async def test_a_section_with_an_error_says_so_and_enter_leads_there(desk: Desk, window: MainWindow) -> None:
    dialog = open_settings(window)
    await activate(dialog)
    network = dialog.sections.item(1)
    dialog.form["base_url"].setText("ftp://x")
    assert network.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "Has unsaved changes and an error"
    QTest.keyClick(dialog.sections, Qt.Key.Key_Return)
    await until(dialog.form["base_url"].hasFocus)
    assert dialog.network.isVisible()
    dialog.form["base_url"].setText("https://x.example")
    assert network.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "Has unsaved changes"
    dialog.form["base_url"].clear()
    assert not network.data(Qt.ItemDataRole.AccessibleDescriptionRole)
    dialog.reject()


async def test_a_section_with_unsaved_changes_is_marked_until_they_are_saved(desk: Desk, window: MainWindow) -> None:
    desk.overridden = {"body_limit": MIB}
    dialog = open_settings(window)
    await until(dialog.window_section.start.isEnabled)

    def marked() -> list[str]:
        items = [dialog.sections.item(row) for row in range(dialog.sections.count())]
        return [one.text() for one in items if one.data(Qt.ItemDataRole.AccessibleDescriptionRole)]

    pictures = [dialog.sections.grab().toImage()]
    for change, title in (
        (lambda: dialog.form["theme"].setCurrentIndex(1), "Window"),
        (dialog.window_section.start.click, "Window"),
        (dialog.form.rows["body_limit"].keep_box.click, "Network"),
        (lambda: dialog.form["plan"].setCurrentIndex(1), "Account"),
        (lambda: dialog.form["when_full"].setCurrentIndex(1), "Storage"),
    ):
        change()
        assert title in marked()
        assert dialog.save_button.isEnabled()
        pictures.append(dialog.sections.grab().toImage())
    assert marked() == ["Window", "Network", "Account", "Storage"]
    assert pictures[0] != pictures[1]
    assert pictures[2] != pictures[3] != pictures[4] != pictures[5]
    dialog.save_button.click()
    await until(lambda: not marked())
    assert dialog.sections.grab().toImage() == pictures[0]
    assert (desk.settings.theme, desk.store.account.plan) == ("light", Plan.PRO)
    dialog.reject()


@pytest.mark.usefixtures("each_font")
async def test_nothing_moves_while_something_wrong_is_typed(desk: Desk, window: MainWindow) -> None:
    desk.overridden = {"port": 8000}
    dialog = open_settings(window)
    await settle()
    for key, typed in (
        ("port", "x" * 60),
        ("host", "not an address at all " * 5),
        ("base_url", "ftp://" + "long" * 60),
        ("storage_limit", "much " * 20),
        ("disk_reserve", "1"),
    ):
        dialog.reveal(key)
        await settle(rounds=20)
        row, section = dialog.form.rows[key], dialog.form.rows[key].parentWidget()
        places = {one: one.geometry() for one in section.findChildren(SettingsRow) if one.isVisible()}
        control = row.control.geometry()
        line = row.control.lineEdit() if isinstance(row.control, NumberField) else row.control
        line.setText(typed)
        await settle()
        assert row.error()
        assert {one: one.geometry() for one in places} == places, key
        assert row.control.geometry() == control
    dialog.done(0)

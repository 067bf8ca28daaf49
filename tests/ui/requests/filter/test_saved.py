"""Filters saved by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.ui.requests.saved_filters import KEY, NameDialog, SavedFilter, SavedFilters
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import until, wait_for_widget

ODD = 'path:"/a, b=ü\\"%2F" OR -header:x-id=[1;2] 😀'


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions() if action.text()}


async def save_as(shown: PageDesk, name: str, confirm: str = "Save") -> None:
    """Keep the filter in force under a name, by the menu and the dialog."""
    entries(shown.page.filter.bar.saved.menu_now())["Save filter…"].trigger()
    dialog = await wait_for_widget(NameDialog, shown.page)
    assert not dialog.confirm.isEnabled()
    QTest.keyClicks(dialog.name, name)
    assert dialog.confirm.text() == confirm
    QTest.mouseClick(dialog.confirm, Qt.MouseButton.LeftButton)
    await until(lambda: not shown.page.findChildren(NameDialog))


@pytest.mark.slow
async def test_save_choose_replace_and_delete(tmp_path: Path) -> None:
    async def first() -> None:
        async with open_page(tmp_path) as shown:
            await shown.add(b"paid", method="PUT")
            await shown.add(b"paid")
            await shown.reload()
            bar = shown.page.filter.bar
            assert not entries(bar.saved.menu_now())["Save filter…"].isEnabled()
            bar.set_text("paid method:PUT")
            await save_as(shown, " R&D <b>puts</b> ")
            bar.set_text("paid")
            await save_as(shown, "All paid")
            assert [one.name for one in SavedFilters(shown.desk.folder).all()] == ["All paid", "R&D <b>puts</b>"]

    async def second() -> None:
        async with open_page(tmp_path) as shown:
            await shown.add(b"paid", method="PUT")
            await shown.reload()
            bar = shown.page.filter.bar
            menu = entries(bar.saved.menu_now())
            assert list(menu) == ["All paid", "R&&D <b>puts</b>", "Save filter…", "Delete"]
            menu["R&&D <b>puts</b>"].trigger()
            assert bar.line.text() == "paid method:PUT"
            await until(lambda: shown.model.rowCount() == 1)
            assert entries(bar.saved.menu_now())["R&&D <b>puts</b>"].isChecked()
            bar.set_text("paid -method:PUT")
            await save_as(shown, "All paid", "Replace")
            inner = bar.saved.menu_now().findChildren(QMenu)[0]
            entries(inner)["R&&D <b>puts</b>"].trigger()
            assert SavedFilters(shown.desk.folder).all() == [SavedFilter("All paid", "paid -method:PUT")]

    await first()
    await second()


async def test_a_name_not_given_saves_nothing(shown: PageDesk) -> None:
    await shown.add()
    await shown.reload()
    shown.page.filter.bar.set_text("paid")
    shown.page.filter.bar.saved.save_requested.emit()
    dialog = await wait_for_widget(NameDialog, shown.page)
    QTest.keyClicks(dialog.name, "   ")
    assert not dialog.confirm.isEnabled()
    dialog.reject()
    await until(lambda: not shown.page.findChildren(NameDialog))
    assert SavedFilters(shown.desk.folder).all() == []


def test_any_text_comes_back_as_it_was(qapp: QApplication, tmp_path: Path) -> None:
    SavedFilters(tmp_path).save('Straße, "a"/b=1', ODD)
    assert SavedFilters(tmp_path).all() == [SavedFilter('Straße, "a"/b=1', ODD)]


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"name":"a"}', '[{"name":"a"}]'])
def test_a_file_that_was_changed_by_hand_holds_none(qapp: QApplication, tmp_path: Path, text: str) -> None:
    file = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    file.setValue(KEY, text)
    file.sync()
    saved = SavedFilters(tmp_path)
    assert saved.all() == []
    saved.save("a", "b")
    assert saved.all() == [SavedFilter("a", "b")]

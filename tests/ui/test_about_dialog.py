"""The About dialog tells and copies what it should, the licences can be searched, and the start switch is honest."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.core.errors import HooklineError
from app.core.files import Component
from app.core.text import Fact
from app.system.autostart import DesktopEntry, Portable, StartCommand
from app.ui.about_dialog import AboutDialog, LicencesDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.theme.fonts import mono_font
from tests.ui.desk import BASE, Desk, DeskAbout, open_desk, shown
from tests.ui.opened_urls import opened_urls
from tests.ui.waiting import activate, settle, until


@pytest.fixture
def window(qapp: QApplication, qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(1000, 900)
    qtbot.addWidget(window)
    window.show()
    return window


def open_about(desk: Desk, window: QWidget) -> AboutDialog:
    dialog = AboutDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    return dialog


class TestAbout:
    async def test_it_says_what_runs_and_where(self, window: QWidget, tmp_path: Path, desk: Desk) -> None:
        dialog = open_about(desk, window)
        assert dialog.version.text() == "Version 1.2.3"
        assert dialog.folder.path.text() == str(tmp_path)
        assert dialog.base_url.text() == BASE
        assert dialog.installation.text() == "from source, /home/ann/hookline"
        assert dialog.built_on.text().startswith("Python 3.11.7 · Qt 6.")
        assert dialog.built_on.text().endswith(" · SQLite 3.40.1")
        plain = Qt.TextFormat.PlainText
        assert {shown.textFormat() for shown in dialog.findChildren(QLabel) if shown.text()} == {plain}
        dialog.reject()

    async def test_a_url_that_is_changed_meanwhile_is_shown(self, window: QWidget, desk: Desk) -> None:
        dialog = open_about(desk, window)
        await desk.change_settings({"base_url": "https://x.example"})
        assert dialog.base_url.text() == "https://x.example"
        dialog.reject()

    async def test_diagnostics_are_copied_and_that_is_said(self, window: QWidget, desk: Desk) -> None:
        dialog = open_about(desk, window)
        dialog.copy_button.setFocus()
        for _ in range(2):
            dialog.copy_button.click()
        await until(dialog.status.text)
        text = QGuiApplication.clipboard().text()
        assert text.startswith("Hookline 1.2.3\n")
        assert "  Platform plugin  offscreen\n" in text
        assert dialog.status.text() == "Copied the diagnostics. They contain no secrets."
        assert dialog.copy_button.accessibleDescription() == "Copied the diagnostics. They contain no secrets."
        assert dialog.focusWidget() is dialog.copy_button
        dialog.reject()

    async def test_what_went_wrong_is_said_in_the_dialog(self, window: QWidget, tmp_path: Path) -> None:
        class Broken(DeskAbout):
            async def diagnostics(self, window: Sequence[Fact]) -> str:
                raise HooklineError("The disk is gone.")

        async with open_desk(tmp_path) as desk:
            desk.services = desk.with_services(about=Broken())
            dialog = open_about(desk, window)
            dialog.copy_button.click()
            await until(dialog.status.text)
            assert dialog.status.text() == "The disk is gone."
            dialog.reject()

    @pytest.mark.qt_log_ignore("does not support QPlatformServices", extend=True)
    async def test_a_folder_that_nothing_opens_is_told(self, window: QWidget, tmp_path: Path) -> None:
        async with open_desk(tmp_path) as desk:
            folder = open_about(desk, window).folder
            folder.open_button.click()
            await settle()
            assert folder.problem.isVisible()
            assert folder.height() >= folder.sizeHint().height()
            assert "No program found" in folder.problem.text()
            with opened_urls("file") as opened:
                folder.open_button.click()
            assert opened == [str(tmp_path)]
            assert not folder.problem.isVisible()

    @pytest.mark.usefixtures("each_font")
    async def test_a_long_path_cuts_nothing_off(self, window: QWidget, tmp_path: Path, desk: Desk) -> None:
        desk.services = desk.with_services(data_folder=tmp_path / ("long-" * 40))
        dialog = open_about(desk, window)
        await settle()
        assert dialog.width() < 600
        for label in (dialog.folder, dialog.installation, dialog.built_on):
            assert label.height() >= label.sizeHint().height()
        dialog.reject()

    async def test_tab_goes_down_the_dialog_and_esc_closes_it(self, window: QWidget, desk: Desk) -> None:
        dialog = open_about(desk, window)
        await activate(dialog)
        await settle()
        seen = []
        for _ in range(6):
            QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
            widget = dialog.focusWidget()
            seen.append(getattr(widget, "text", str)() or widget.accessibleName())
        assert seen == ["Copy path", "Open", "Copy URL", "Licences", "Copy diagnostics", "Close"]
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()

    async def test_it_closes_while_diagnostics_are_collected(self, window: QWidget, desk: Desk) -> None:
        dialog = open_about(desk, window)
        dialog.copy_button.click()
        dialog.reject()
        await until(lambda: not desk.tasks.running())
        assert desk.messages.waiting() == ()

    async def test_the_sidebar_opens_it_once_and_settings_lead_there(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (_, window):
            window.sidebar.about_button.click()
            window.commands.about.trigger()
            await settle()
            (dialog,) = window.findChildren(AboutDialog)
            dialog.reject()
            await settle()
            assert window.commands.about.menuRole() is QAction.MenuRole.AboutRole
            window.dialogs.open_settings()
            (settings,) = window.findChildren(SettingsDialog)
            assert settings.about_button.text() == "About Hookline 1.2.3"
            settings.about_button.click()
            (dialog,) = settings.findChildren(AboutDialog)
            assert dialog.isVisible()
            dialog.reject()
            settings.reject()


def listed(dialog: LicencesDialog) -> list[str]:
    return [dialog.rows.index(row, 0).data() for row in range(dialog.rows.rowCount())]


class TestLicences:
    async def test_the_list_is_searched_by_name_and_licence(self, window: QWidget, desk: Desk) -> None:
        about = open_about(desk, window)
        about.licences_button.click()
        (dialog,) = about.findChildren(LicencesDialog)
        assert not dialog.no_matches.isVisible(), "they are still read"
        await until(dialog.rows.rowCount)
        assert listed(dialog) == ["Hookline 1.2.3", "Qt 6.11.3", "msgspec 0.22.0"]
        assert dialog.text.toPlainText() == "<b>Permission</b> is granted\n"
        assert dialog.text.font().family() == mono_font().family()
        dialog.search.setText("LGPL")
        assert listed(dialog) == ["Qt 6.11.3"]
        assert dialog.name.text() == "Qt 6.11.3"
        assert dialog.licence.text() == "LGPL-3.0-only"
        assert dialog.text.toPlainText() == "GNU LESSER GENERAL PUBLIC LICENSE\n"
        assert dialog.text.isReadOnly()
        dialog.search.setText("")
        assert dialog.name.text() == "Qt 6.11.3"
        dialog.search.setText("h")
        assert dialog.name.text() == "Hookline 1.2.3"
        dialog.search.setText("no such thing")
        assert listed(dialog) == []
        assert dialog.no_matches.isVisible()
        assert dialog.text.toPlainText() == ""
        dialog.search.clear()
        assert dialog.name.text() == "Hookline 1.2.3"
        QTest.keyClick(dialog.search, Qt.Key.Key_Down)
        assert dialog.name.text() == "Qt 6.11.3"
        QTest.keyClick(dialog.search, Qt.Key.Key_Return)
        assert dialog.isVisible()
        QTest.keyClick(dialog.search, Qt.Key.Key_Escape)
        assert not dialog.isVisible()
        assert about.isVisible()
        about.reject()

    async def test_a_part_without_a_text_says_so(self, window: QWidget, desk: Desk) -> None:
        dialog = LicencesDialog(DeskAbout(), desk.theme, desk.tasks, window)
        dialog.show_components([Component(name="x", version="", licence="MIT", text="")])
        assert dialog.name.text() == "x"
        assert "not included" in dialog.text.toPlainText()
        await until(lambda: dialog.rows.rowCount() == len(DeskAbout.parts))
        dialog.deleteLater()


class HeldEntry(DesktopEntry):
    """Written only when it `goes_on`."""

    def __init__(self, folder: Path, command: StartCommand) -> None:
        super().__init__(folder, command)
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def set(self, on: bool) -> None:
        self.begun.set()
        self.goes_on.wait(10)
        super().set(on)


class TestStartAtSignIn:
    @staticmethod
    async def opened(desk: Desk, window: QWidget) -> SettingsDialog:
        dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
        dialog.open()
        await until(dialog.window_section.start.isEnabled)
        return dialog

    async def test_it_is_saved_with_the_settings_and_read_afresh(self, window: QWidget, desk: Desk) -> None:
        entry = desk.services.autostart()
        for on, word in ((True, "on"), (False, "off")):
            dialog = await self.opened(desk, window)
            start = dialog.window_section.start
            assert start.isChecked() is not on
            assert not dialog.has_changes()
            start.click()
            await until(lambda: not desk.tasks.running())
            assert entry.enabled() is not on
            dialog.save_button.click()
            await until(dialog.status.text)
            assert dialog.status.text() == f"Saved. Start Hookline when I sign in: {word}."
            assert start.isChecked() is entry.enabled() is on
            assert not dialog.has_changes()
            dialog.reject()

    async def test_why_it_cannot_be_saved_stands_beside_it(self, window: QWidget, tmp_path: Path, desk: Desk) -> None:
        (tmp_path / "autostart").write_text("in the way")
        dialog = await self.opened(desk, window)
        start, row = dialog.window_section.start, dialog.window_section.start_row
        start.click()
        dialog.form["port"].set_value(9000)
        dialog.reveal("port")
        dialog.save_button.click()
        await until(row.error)
        assert "hookline.desktop cannot be written" in row.error()
        assert desk.settings.port == 9000
        assert dialog.focusWidget() is start
        assert start.isVisible()
        assert start.isChecked()
        assert dialog.has_changes()
        (tmp_path / "autostart").unlink()
        dialog.save_button.click()
        await until(dialog.is_idle)
        assert row.error() == ""
        assert desk.services.autostart().enabled()
        assert desk.messages.waiting() == ()
        dialog.reject()

    async def test_it_is_saved_though_the_dialog_is_closed_meanwhile(
        self, window: QWidget, tmp_path: Path, desk: Desk
    ) -> None:
        entry = HeldEntry(tmp_path / "autostart", StartCommand(["hookline"]))
        desk.services = desk.with_services(autostart=lambda: entry)
        dialog = await self.opened(desk, window)
        dialog.window_section.start.click()
        dialog.save_button.click()
        await until(entry.begun.is_set)
        dialog.reject()
        await until(lambda: not isValid(dialog))
        entry.goes_on.set()
        await until(lambda: not desk.tasks.running())
        assert entry.enabled()
        assert desk.messages.waiting() == ()

    async def test_where_it_cannot_be_the_reason_stands_beside_it(
        self, window: QWidget, tmp_path: Path, desk: Desk
    ) -> None:
        desk.services = desk.with_services(autostart=lambda: Portable(tmp_path / "hookline.portable"))
        dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
        dialog.open()
        start, row = dialog.window_section.start, dialog.window_section.start_row
        await until(lambda: "portable mode" in row.help_text())
        assert not start.isEnabled()
        assert "portable mode" in start.accessibleDescription()
        dialog.reject()

    async def test_another_program_in_its_place_is_named(self, window: QWidget, tmp_path: Path, desk: Desk) -> None:
        other = "/home/ann/Downloads/" + "very-long-name-" * 12 + "hookline"
        DesktopEntry(tmp_path / "autostart", StartCommand([other])).set(True)
        dialog = await self.opened(desk, window)
        start, row = dialog.window_section.start, dialog.window_section.start_row
        assert not start.isChecked()
        assert row.help_text().startswith("Another command starts at sign-in: /home/ann/Downloads/")
        (said,) = (one for one in row.findChildren(QLabel) if one.text() == row.help_text())
        assert other in said.toolTip().replace("\n", "")
        start.click()
        dialog.save_button.click()
        await until(dialog.is_idle)
        assert start.isChecked()
        assert said.toolTip() == ""
        dialog.reject()

"""The tunnel's settings in the dialog."""

from __future__ import annotations

from app.core.settings import Settings
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk
from tests.ui.tunnels import found
from tests.ui.waiting import until


def open_settings(window: MainWindow) -> SettingsDialog:
    window.dialogs.open_settings()
    return window.findChildren(SettingsDialog)[-1]


async def test_a_program_and_its_start_are_saved(desk: Desk, window: MainWindow) -> None:
    desk.tunnels.found = [found("bore", name="Bore"), found("zrok", installed=False), found("ssh")]
    dialog = open_settings(window)
    program, autostart = dialog.form["tunnel_program"], dialog.form["tunnel_autostart"]
    await until(lambda: program.count() == 3)
    assert [program.itemText(place) for place in range(3)] == ["None", "Bore", "ssh"]
    assert not autostart.isEnabled()
    assert not dialog.has_changes()
    program.setCurrentText("Bore")
    autostart.click()
    dialog.save_button.click()
    await until(lambda: desk.settings == Settings(tunnel_program="bore", tunnel_autostart=True))
    await until(dialog.status.text)
    assert dialog.status.text() == "Saved. Tunnel program: bore. Start tunnel with Hookline: on."
    program.setCurrentText("None")
    assert not autostart.isEnabled()
    dialog.done(0)


async def test_the_chosen_program_stays_though_it_is_gone(desk: Desk, window: MainWindow) -> None:
    for program, text in (("zrok", "zrok (not installed)"), ("other", "other (unknown)")):
        desk.tunnels.found = [found("bore"), found("zrok", installed=False)]
        await desk.change_settings({"tunnel_program": program, "tunnel_autostart": True})
        dialog = open_settings(window)
        await until(lambda dialog=dialog, text=text: dialog.form["tunnel_program"].currentText() == text)
        assert dialog.form["tunnel_autostart"].isChecked()
        assert not dialog.has_changes()
        dialog.reject()
        await until(lambda: not window.findChildren(SettingsDialog))

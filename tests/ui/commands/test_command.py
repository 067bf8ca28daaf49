"""A command that cannot be run now: what its buttons and menus show, and what its keys do."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from app.core.rules import FREE_ENDPOINTS
from app.ui.commands.body_text_commands import BodyTextCommands
from app.ui.commands.command import ActionButton, Command, CommandButton
from app.ui.theme.fonts import BASE
from app.ui.theme.theme import LARGEST, SMALLEST, Theme
from tests.ui.desk import shown
from tests.ui.waiting import notice, until


class Rig:
    """A window with one command whose `reason` is set at will, and all that it did and said."""

    def __init__(self) -> None:
        self.window, self.theme = QWidget(), Theme()
        self.reason: str | None = "Nothing is selected."
        self.done, self.said = 0, list[str]()
        self.command = Command(
            "Replay",
            self.theme,
            self.window,
            run=self._run,
            icon="send",
            keys=("R",),
            unavailable=lambda: self.reason,
            say=self.said.append,
        )
        self.command.add_to(self.window)
        self.command.refresh()
        self.window.show()
        self.window.activateWindow()

    def _run(self) -> None:
        self.done += 1


def test_its_key_says_why_it_cannot_be_run_and_runs_it_once_it_can(qapp: QApplication) -> None:
    rig = Rig()
    QTest.qWaitForWindowActive(rig.window)
    rig.window.setFocus()
    QTest.keyClick(rig.window, Qt.Key.Key_R)
    assert (rig.done, rig.said) == (0, ["Nothing is selected."])
    rig.reason = None
    rig.command.refresh()
    QTest.keyClick(rig.window, Qt.Key.Key_R)
    assert (rig.done, rig.said) == (1, ["Nothing is selected."])
    rig.window.deleteLater()


def test_its_buttons_are_disabled_for_the_same_reason(qapp: QApplication) -> None:
    rig = Rig()
    icon = ActionButton(rig.command, rig.theme, rig.window)
    words = CommandButton("Replay", rig.command, rig.theme, rig.window, tooltip="Replay the request")
    for button in (icon, words):
        assert not button.isEnabled()
        assert "Nothing is selected." in button.toolTip()
        assert button.accessibleDescription() == "Nothing is selected."
    rig.reason = None
    rig.command.refresh()
    assert icon.isEnabled()
    assert words.isEnabled()
    assert (icon.toolTip(), words.toolTip()) == ("Replay (R)", "Replay the request")
    assert icon.accessibleDescription() == words.accessibleDescription() == ""
    rig.window.deleteLater()


def test_it_checks_again_when_it_is_run(qapp: QApplication) -> None:
    rig = Rig()
    rig.reason = None
    rig.command.refresh()
    rig.reason = "It was deleted."
    rig.command.trigger()
    assert (rig.done, rig.said) == (0, ["It was deleted."])
    assert not rig.command.isEnabled()
    rig.window.deleteLater()


def test_its_key_runs_it_though_nobody_noticed_that_it_can_be_run_now(qapp: QApplication) -> None:
    rig = Rig()
    QTest.qWaitForWindowActive(rig.window)
    rig.window.setFocus()
    rig.reason = None
    QTest.keyClick(rig.window, Qt.Key.Key_R)
    assert (rig.done, rig.said) == (1, [])
    assert rig.command.isEnabled()
    rig.window.deleteLater()


def test_typing_into_a_field_is_no_key_of_it(qapp: QApplication) -> None:
    rig = Rig()
    field = QLineEdit(rig.window)
    field.show()
    field.setFocus()
    QTest.keyClicks(field, "r")
    assert (field.text(), rig.said) == ("r", [])
    rig.window.deleteLater()


def test_zooming_ends_at_a_size_and_says_so(qapp: QApplication) -> None:
    parent, theme = QWidget(), Theme()
    text = theme.body_text
    zoom_in, zoom_out, reset, wrap = BodyTextCommands(theme, None, parent).commands
    assert (text.size, reset.reason) == (BASE, "The text is already at its normal size.")
    for command, size, name in ((zoom_in, LARGEST, "largest"), (zoom_out, SMALLEST, "smallest")):
        for _ in range(SMALLEST, LARGEST):
            command.trigger()
        assert (text.size, command.reason) == (size, f"The text is already at its {name} size.")
        assert reset.isEnabled()
        reset.trigger()
        assert text.size == BASE
    for wrapped in (not text.wrap, text.wrap):
        wrap.trigger()
        assert text.wrap is wrap.isChecked() is wrapped
    parent.deleteLater()


async def test_the_palette_lists_new_endpoint_with_its_reason_when_the_plan_is_full(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=FREE_ENDPOINTS) as (_, window):
        entries = {entry.text: entry for entry in window.commands.palette.entries()}
        assert "includes up to 10" in entries["New endpoint"].reason
        entries["New endpoint"].run()
        await until(lambda: "includes up to 10" in notice(window))

"""The tray icon, its menu, the count in the title, and what closing the window does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.errors import HooklineError
from app.core.tunnel import Probe, TunnelState
from app.ui.desktop.desktop_integration import MISSES
from app.ui.desktop.tray import tooltip
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.widgets.dialog import ChoiceDialog
from tests.ui.desk import Desk
from tests.ui.desktop.recording import RecordingTray, TrayDesk, with_tray
from tests.ui.waiting import activate, settle, until, wait_for_widget

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # without a display none can
MARKUP = "<b>Tom</b> & Jerry"


async def keep_in_tray(shown: TrayDesk) -> None:
    await shown.desk.change_settings({"on_close": "tray"})


class TestCounts:
    async def test_icon_tooltip_and_title_follow_in_batches(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=2) as shown:
            first, second = shown.desk.store.endpoints.all()
            tray, window = shown.tray, shown.window
            assert tray.tooltip == "Hookline · listening on 127.0.0.1:8787"
            assert window.windowTitle() == "Hookline"
            before = len(tray.icons)
            await asyncio.gather(*(shown.desk.capture((first, second)[n % 2]) for n in range(120)))
            await until(lambda: tray.tooltip == "Hookline · 120 unread · listening on 127.0.0.1:8787")
            assert window.windowTitle() == "(99+) Hookline"
            assert len(tray.icons) - before < 20
            drawn = tray.icons[-1].cacheKey()
            await shown.desk.capture(first)
            await until(lambda: "121 unread" in (tray.tooltip or ""))
            assert tray.icons[-1].cacheKey() == drawn, "99+ is drawn once"
            await shown.desk.store.captures.mark_all_read(first.id)
            await until(lambda: window.windowTitle() == "(60) Hookline")
            assert tray.icons[-1].cacheKey() != drawn
            assert tray.tooltip == "Hookline · 60 unread · listening on 127.0.0.1:8787"

    async def test_nothing_is_drawn_anew_when_nothing_changed(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            before = len(shown.tray.icons)
            shown.window.qt_events.counts_changed.emit()
            assert len(shown.tray.icons) == before

    async def test_the_tooltip_says_what_is_not_so(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.desk.place = None
            await shown.desk.change_settings({})
            assert shown.tray.tooltip == "Hookline · not listening"
            shown.desk.tunnels.come_up()
            assert shown.tray.tooltip == "Hookline · not listening · tunnel: up"
            shown.desk.tunnels.probed(Probe(at=1, ms=None, problem="Nothing came back."))
            assert shown.tray.tooltip == "Hookline · not listening · tunnel: unreachable"
        assert (
            len(
                tooltip(10**9, "[2001:db8:85a3:8d3:1319:8a2e:370:7348]:65535" * 3, TunnelState.UNREACHABLE, paused=True)
            )
            <= 127
        )


class TestMenu:
    async def test_it_names_the_endpoints_with_unread_requests_and_opens_their_lists(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=6) as shown:
            tray, window = shown.tray, shown.window
            assert tray.entries() == ["Show Hookline", "Pause list", "New endpoint…", "Quit Hookline"]
            odd = await shown.desk.endpoint(name=MARKUP)
            for endpoint in shown.desk.store.endpoints.all():
                await shown.desk.capture(endpoint)
            await shown.desk.capture(odd)
            await until(lambda: "2 unread" in tray.entries()[1])
            shown_text = "<b>Tom</b> && Jerry: 2 unread"
            assert tray.entries()[1] == shown_text
            assert len(tray.entries()) == 4 + 5
            tray.entry(shown_text).trigger()
            assert window.requests.endpoint_id == odd.id
            assert window.pages.currentWidget() is window.requests

    async def test_pause_is_the_windows_own_and_shows(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.tray.entry("Pause list").trigger()
            assert shown.window.pause.on
            assert shown.tray.tooltip == "Hookline · paused · listening on 127.0.0.1:8787"
            shown.tray.entry("Resume list").trigger()
            assert not shown.window.pause.on
            shown.window.pause.set(True)
            assert "Resume list" in shown.tray.entries()

    async def test_new_endpoint_opens_its_form_in_the_window(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.window.hide()
            shown.tray.entry("New endpoint…").trigger()
            assert shown.window.isVisible()
            assert [form.isVisible() for form in shown.window.findChildren(EndpointDialog)] == [True]

    async def test_a_click_on_the_icon_shows_the_window(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.window.showMinimized()
            shown.tray.clicked.emit()
            assert not shown.window.isMinimized()
            shown.window.hide()
            shown.tray.entry("Show Hookline").trigger()
            assert shown.window.isVisible()


class TestClosing:
    async def test_the_first_close_asks_and_later_ones_do_as_chosen(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.window.close()
            shown.window.close()  # still the same question
            asked = await wait_for_widget(ChoiceDialog, shown.window)
            assert asked.windowTitle() == "Keep capturing?"
            asked.reject()
            await settle()
            assert (shown.window.isVisible(), shown.ended) == (True, 0)
            shown.window.close()
            asked = await wait_for_widget(ChoiceDialog, shown.window)
            QTest.keyClick(asked, Qt.Key.Key_Return)
            await until(lambda: not shown.window.isVisible())
            assert (shown.desk.settings.on_close, shown.ended) == ("tray", 0)
            shown.tray.clicked.emit()
            shown.window.close()
            assert not shown.window.isVisible()
            assert not shown.tray.told, "it was said in the question"

    async def test_quit_is_an_answer_for_good_and_nothing_else_asks(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.window.close()
            asked = await wait_for_widget(ChoiceDialog, shown.window)
            QTest.mouseClick(asked.buttons[0], Qt.MouseButton.LeftButton)
            await until(lambda: shown.ended == 1)
            assert shown.tray.tooltip is None, "an icon without a program"
            assert shown.desk.settings.on_close == "quit"
        async with with_tray(tmp_path) as shown:
            shown.window.close()
            assert shown.ended == 1

    async def test_where_settings_cannot_be_saved_quit_quits_and_what_keeps_capturing_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse(_: Desk, changes: Mapping[str, Any]) -> None:
            raise HooklineError("The disk is full.")

        monkeypatch.setattr(Desk, "change_settings", refuse)
        async with with_tray(tmp_path) as shown:
            for place in (1, 0):
                shown.window.close()
                asked = await wait_for_widget(ChoiceDialog, shown.window)
                QTest.mouseClick(asked.buttons[place], Qt.MouseButton.LeftButton)
                await until(lambda: not shown.window.findChildren(ChoiceDialog))
                await settle()
                assert [one.text for one in shown.desk.messages.waiting()] == ["The disk is full."]
                assert shown.ended == 1 - place

    async def test_in_the_tray_it_goes_on_and_says_so_once(self, tmp_path: Path) -> None:
        for round_ in range(2):
            async with with_tray(tmp_path, endpoints=1 - round_) as shown:
                await keep_in_tray(shown)
                for _ in range(2):
                    shown.window.close()
                    await settle()
                    assert not shown.window.isVisible()
                    assert shown.ended == 0
                    shown.tray.clicked.emit()
                    assert shown.window.isVisible()
                assert [title for title, _ in shown.tray.told] == ["Hookline keeps running"][round_:]
                await shown.desk.capture(shown.desk.store.endpoints.all()[0])
                await until(lambda: "unread" in (shown.tray.tooltip or ""))

    @pytest.mark.parametrize("way", ["menu", "keys"])
    async def test_quit_quits_even_then(self, tmp_path: Path, way: str) -> None:
        async with with_tray(tmp_path) as shown:
            await keep_in_tray(shown)
            if way == "menu":
                shown.window.close()
                shown.tray.entry("Quit Hookline").trigger()
            else:
                await activate(shown.window)
                QTest.keyClick(shown.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
            assert shown.ended == 1

    async def test_without_a_tray_it_quits_whatever_was_chosen(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, RecordingTray(there=False)) as shown:
            await keep_in_tray(shown)
            shown.window.close()
            assert shown.ended == 1

    async def test_a_tray_that_went_unnoticed_keeps_nothing(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            await keep_in_tray(shown)
            shown.tray.there = False
            shown.window.close()
            assert shown.ended == 1

    async def test_the_window_comes_back_when_the_tray_goes(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            await keep_in_tray(shown)
            shown.window.close()
            shown.tray.there = False
            for _ in range(MISSES - 1):
                shown.window.desktop.check_tray()
                assert not shown.window.isVisible(), "a desktop restarts its tray in a moment"
            shown.window.desktop.check_tray()
            assert shown.window.isVisible()
            assert shown.tray.tooltip is None
            assert shown.window.desktop.tray_unavailable()
            shown.tray.there = True
            shown.window.desktop.check_tray()
            assert shown.tray.tooltip is not None
            assert shown.window.desktop.tray_unavailable() is None


class TestMinimizedStart:
    async def test_it_starts_in_the_tray_if_closing_goes_there(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            shown.window.hide()
            shown.window.desktop.start_minimized()
            assert shown.window.isMinimized()
            shown.window.hide()
            shown.window.showNormal()
            shown.window.hide()
            await keep_in_tray(shown)
            shown.window.desktop.start_minimized()
            assert not shown.window.isVisible()

    @pytest.mark.parametrize("touched", [False, True])
    async def test_a_tray_that_comes_later_takes_a_window_nobody_touched(self, tmp_path: Path, touched: bool) -> None:
        async with with_tray(tmp_path, RecordingTray(there=False)) as shown:
            await keep_in_tray(shown)
            shown.window.hide()
            shown.window.desktop.start_minimized()
            assert shown.window.isMinimized()
            if touched:
                shown.window.showNormal()
            shown.tray.there = True
            shown.window.desktop.check_tray()
            assert shown.window.isVisible() is touched


class TestSettings:
    @staticmethod
    def dialog(shown: TrayDesk) -> SettingsDialog:
        shown.window.dialogs.open_settings()
        return shown.window.findChildren(SettingsDialog)[-1]

    async def test_what_closing_does_is_chosen_there(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            dialog = self.dialog(shown)
            closing = dialog.form["on_close"]
            assert closing.isEnabled()
            closing.setCurrentIndex(1)
            dialog.save_button.click()
            await until(lambda: shown.desk.settings.on_close == "tray" and dialog.is_idle())
            dialog.reject()
            shown.window.close()
            assert shown.ended == 0

    async def test_without_a_tray_it_is_not_offered_until_one_comes(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, RecordingTray(there=False)) as shown:
            dialog = self.dialog(shown)
            section = dialog.window_section
            assert not dialog.form["on_close"].isEnabled()
            assert "no system tray" in dialog.form.fields["on_close"].help_text()
            assert not section.notifications.button.isEnabled()
            assert "Notifications are not available" in section.notifications.help_text()
            shown.tray.there = True
            shown.window.desktop.check_tray()
            assert dialog.form["on_close"].isEnabled()
            assert section.notifications.button.isEnabled()

    async def test_a_notification_can_be_tried(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as shown:
            self.dialog(shown).window_section.notifications.button.click()
            await until(lambda: shown.tray.told)
            assert shown.tray.told[0][0] == "Hookline"
            shown.window.hide()
            shown.tray.message_clicked.emit()
            assert shown.window.isVisible()

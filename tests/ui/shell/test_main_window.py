"""The window as a whole: what it shows as things happen, its keys, what it remembers and leaves behind."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from app.core.events import DatabaseDamaged, FileTrouble, StorageTrouble
from app.core.model import Plan, Refusal
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL
from app.ui.shell.sidebar_rows import SidebarRow
from tests.ui.desk import Desk, open_desk, shown
from tests.ui.waiting import activate, settle, until

pytestmark = pytest.mark.smoke

MARKUP = '<b>bold</b><img src="http://127.0.0.1:1/x.png">'


class TestLive:
    async def test_captures_count_up_everywhere(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            first, second = desk.store.endpoints.all()
            for _ in range(7):
                await desk.capture(first)
            row, line = window.sidebar.row(first.id), window.dashboard.rows.row(first.id)
            assert line is not None
            await until(lambda: row.count == 7)
            await until(lambda: line.contents.counts.total == 7)
            assert sum(line.contents.activity) == 7
            assert window.sidebar.row(second.id).count == 0
            assert window.qt_events.session_stats.stored == 7
            await desk.store.captures.mark_all_read(first.id)
            await until(lambda: row.count == 0)

    async def test_refused_requests_show_in_the_sidebar_and_on_their_page(self, desk: Desk, window: MainWindow) -> None:
        window.show_page(REFUSED)
        assert window.refused.empty.isVisible()
        for number in range(3):
            desk.refused.add(
                Refusal(at=number, source_address="::1", source_port=1, status=404, reason=MARKUP, target="/x")
            )
        await until(lambda: window.refused.model.rowCount() == 3)
        assert window.refused.table.isVisible()
        window.refused.clear_button.click()
        assert window.refused.model.rowCount() == 0
        assert window.refused.empty.isVisible()

    async def test_trouble_of_the_store_raises_a_banner_until_it_is_over(self, desk: Desk, window: MainWindow) -> None:
        desk.bus.publish(StorageTrouble(reason="The disk is full."))
        assert window.error_bar.isVisible()
        desk.bus.publish(StorageTrouble(reason=None))
        assert not window.error_bar.isVisible()

    async def test_damage_and_a_file_that_cannot_be_written_raise_a_banner(
        self, desk: Desk, window: MainWindow
    ) -> None:
        desk.bus.publish(DatabaseDamaged(reason="The database is damaged."))
        desk.bus.publish(FileTrouble(reason="runtime.json cannot be written."))
        texts = [message.text for message in desk.tasks.messages.waiting()]
        assert texts == ["The database is damaged.", "runtime.json cannot be written."]
        assert "copy the data folder" in window.error_bar.accessibleName()
        desk.bus.publish(FileTrouble(reason=None))
        assert [message.text for message in desk.tasks.messages.waiting()] == texts[:1]
        assert window.error_bar.isVisible()


class TestKeys:
    async def test_numbers_choose_endpoints_and_arrows_walk_the_sidebar(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=3) as (desk, window):
            endpoints = desk.store.endpoints.all()
            QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
            assert window.requests.endpoint_id == endpoints[1].id
            # Nothing is captured yet: the list gets the keyboard once it is there.
            await desk.capture(endpoints[1])
            await until(lambda: window.focusWidget() is window.requests.list)
            QTest.keyClick(window, Qt.Key.Key_9, Qt.KeyboardModifier.ControlModifier)
            assert window.requests.endpoint_id == endpoints[1].id
            row = window.sidebar.row(endpoints[1].id)
            await activate(window)
            row.setFocus(Qt.FocusReason.TabFocusReason)
            QTest.keyClick(row, Qt.Key.Key_Down)
            below = window.sidebar.row(endpoints[2].id)
            assert window.focusWidget() is below
            QTest.keyClick(below, Qt.Key.Key_Return)
            assert window.requests.endpoint_id == endpoints[2].id

    async def test_tab_leads_from_the_list_through_everything_and_back(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            await desk.capture(endpoint)
            await activate(window)
            window.enter_endpoint(endpoint.id)
            page = window.requests
            await until(lambda: window.focusWidget() is page.list and page.feed.model.rowCount())
            QTest.keyClick(page.list, Qt.Key.Key_J)
            await until(page.detail.header.isVisible)
            visited: list[QWidget | None] = [page.list]
            while len(visited) < 60 and (len(visited) == 1 or visited[-1] is not page.list):
                QTest.keyClick(visited[-1], Qt.Key.Key_Tab)
                visited.append(window.focusWidget())
            sidebar, header = window.sidebar, page.header
            order = [header.edit, header.test, header.more, page.list, page.detail.tabs]
            for widget in (*order, sidebar.add_button, sidebar.settings_button):
                assert widget in visited, widget.accessibleName()
            assert any(isinstance(widget, SidebarRow) for widget in visited)
            assert visited[-1] is page.list
            assert visited.index(header.edit) < visited.index(header.test) < visited.index(header.more)

    async def test_pages_exclude_each_other_in_the_sidebar(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            row = window.sidebar.row(desk.store.endpoints.all()[0].id)
            for name in (REFUSED, ALL_REQUESTS, DASHBOARD):
                window.show_page(name)
                chosen = [b.text() for b in window.sidebar.findChildren(QAbstractButton) if _is_chosen_row(b)]
                assert len(chosen) == 1
            row.click()
            assert row.isChecked()
            assert window.requests.endpoint_id == row.endpoint.id
            window.sidebar.tunnel.click()
            assert not row.isChecked()
            assert window.pages.currentWidget() is window.tunnel_page

    @pytest.mark.slow
    async def test_everything_to_press_has_a_name(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (_, window):
            window.dialogs.open_settings()
            window.endpoint_actions.create()
            await settle()
            detail = window.requests.detail
            made_when_shown = [
                window.refused.raw.view,
                detail.view.raw,
                detail.view.deliveries.pane.body,
                window.tunnel_page,
            ]
            assert all(map(window.isAncestorOf, made_when_shown))
            ours = [b for b in window.findChildren(QAbstractButton) if type(b).__module__.startswith("app.")]
            assert len(ours) > 20
            nameless = [
                (type(button).__name__, button.parent())
                for button in ours
                if not (button.accessibleName() or button.text() or button.isHidden())
            ]
            assert nameless == []


class TestWindow:
    async def test_closing_tells_once_and_remembers_the_size(self, tmp_path: Path) -> None:
        closed: list[int] = []
        async with open_desk(tmp_path) as desk:
            window = desk.window(lambda: closed.append(1))
            window.resize(960, 640)
            window.show()
            window.close()
            assert closed == [1]
            window.deleteLater()
            again = desk.window()
            assert again.height() == 640
            again.close()
            again.deleteLater()
            await settle()
        kept = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
        assert "splitter/frame" in kept.allKeys()

    async def test_a_spoilt_memory_is_ignored(self, tmp_path: Path) -> None:
        (tmp_path / "window.ini").write_text("[window]\ngeometry=nonsense\n[splitter]\nframe=1, 2, 3\n")
        async with shown(tmp_path) as (_, window):
            assert window.width() >= 960

    async def test_settings_and_form_open_once(self, window: MainWindow) -> None:
        for _ in range(3):
            window.dialogs.open_settings()
        dialogs = [child for child in window.children() if type(child).__name__ == "SettingsDialog"]
        assert len(dialogs) == 1
        dialogs[0].reject()
        await settle()
        window.dialogs.open_settings()
        assert sum(type(child).__name__ == "SettingsDialog" for child in window.children()) == 1

    async def test_the_theme_changes_under_an_open_window(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            desk.theme.set_choice("light")
            light = window.grab().toImage().pixelColor(20, window.height() - 100)
            desk.theme.set_choice("dark")
            dark = window.grab().toImage().pixelColor(20, window.height() - 100)
            desk.theme.set_choice("light")
            assert light.lightness() > 200
            assert dark.lightness() < 60
            window.commands.refresh()
            reasons = {one.text(): one.reason for one in window.commands.commands if one.text().startswith("Theme: ")}
            in_use = "This theme is already in use."
            assert reasons == {"Theme: light": in_use, "Theme: dark": "", "Theme: match system": ""}

    async def test_a_theme_that_a_script_sets_is_shown(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, _):
            for theme, dark in (("dark", True), ("light", False)):
                await desk.services.change_settings({"theme": theme})
                await until(lambda dark=dark: desk.theme.is_dark is dark)

    async def test_windows_leave_nothing_behind(self, tmp_path: Path) -> None:
        async with open_desk(tmp_path, endpoints=1) as desk:
            followed = desk.followed()
            for page in (ALL_REQUESTS, ALL_DELIVERIES, REPLAYS, REFUSED, TUNNEL):
                window = desk.window()
                window.show()
                window.show_page(page)
                await settle()
                window.close()
                await window.pending.close()
                await desk.tasks.cancel_all()
                window.deleteLater()
                del window
                await settle(5)
            gc.collect()
            left = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MainWindow)]
            assert left == []
            assert desk.followed() == followed
            desk.bus.publish(StorageTrouble(reason=None))
            await desk.capture(desk.store.endpoints.all()[0])
            assert desk.messages.waiting() == ()


@pytest.mark.slow
async def test_two_hundred_endpoints_hold_nothing_up(tmp_path: Path) -> None:
    async with open_desk(tmp_path, plan=Plan.PRO) as desk:
        for _ in range(200):
            await desk.endpoint()
        window = desk.window()
        window.show()
        longest, last = 0.0, time.thread_time()  # the loop's own work, however busy the machine is
        while window.dashboard.rows.row_count() < 200:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, last = max(longest, now - last), now
        started = time.thread_time()
        window.dashboard.refresh()
        window.sidebar.refresh()
        refreshed = time.thread_time() - started
        window.close()
        await desk.tasks.cancel_all()
        window.deleteLater()
        await settle()
        assert longest < 1.0, f"the loop stood still for {longest:.2f} s"
        assert refreshed < 0.5, f"a refresh took {refreshed:.2f} s"


def _is_chosen_row(button: QAbstractButton) -> bool:
    return button.isChecked() and type(button).__name__ in ("NavRow", "EndpointRow")

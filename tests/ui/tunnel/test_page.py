"""Starting, watching and stopping the tunnel on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest

from app.core.clock import now_us
from app.core.tunnel import Probe, TunnelState, TunnelUrl
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import TUNNEL
from app.ui.tunnel.page import TunnelPage
from tests.ui.desk import Desk, shown_over
from tests.ui.tunnel_page import page_of, pane_of
from tests.ui.tunnels import HOST, URL, found
from tests.ui.waiting import settle, until

SECOND = 1_000_000


class TestTheKeyboardBegins:
    """With what the user does first."""

    @staticmethod
    async def enter(window: MainWindow) -> TunnelPage:
        window.enter_page(TUNNEL)
        page = window.tunnel_page
        await until(page.programs.list.rows.rowCount)
        await settle()
        return page

    async def test_on_start_but_not_when_the_page_is_the_one_of_the_last_time(self, desk: Desk) -> None:
        async with shown_over(desk) as window:
            page = await self.enter(window)
            assert window.focusWidget() is page.programs.panes["cloudflared"].start
        async with shown_over(desk) as window:
            programs = window.tunnel_page.programs
            await until(lambda: "cloudflared" in programs.panes)
            assert window.focusWidget() is programs.list
            QTest.keyClick(programs.list, Qt.Key.Key_Return)
            await settle()
            assert desk.tunnels.tunnel.state is TunnelState.OFF

    async def test_on_start_that_is_whole_on_a_small_screen(self, desk: Desk) -> None:
        async with shown_over(desk) as window:
            window.resize(911, 512)
            page = await self.enter(window)
            start = page.programs.panes["cloudflared"].start
            await until(lambda: start.visibleRegion().boundingRect() == start.rect())

    async def test_on_what_a_program_needs(self, desk: Desk) -> None:
        desk.tunnels.found = [found("named", options=(HOST,))]
        async with shown_over(desk) as window:
            page = await self.enter(window)
            assert window.focusWidget() is page.programs.panes["named"].form.fields["host"].control

    async def test_on_the_list_where_nothing_is_installed(self, desk: Desk) -> None:
        desk.tunnels.found = [found("named", installed=False)]
        async with shown_over(desk) as window:
            page = await self.enter(window)
            assert window.focusWidget() is page.programs.list
            assert page.programs.list.current_id() == "named"

    async def test_on_the_url_and_on_starting_again(self, desk: Desk) -> None:
        desk.tunnels.come_up()
        async with shown_over(desk) as window:
            page = await self.enter(window)
            focus = window.focusWidget()
            assert page.status.url.isAncestorOf(focus)
            QTest.keyClick(focus, Qt.Key.Key_Space)
            assert QGuiApplication.clipboard().text() == URL
            desk.tunnels.change(state=TunnelState.FAILED, url=None, problem="No network.")
            page.take_focus()
            assert window.focusWidget() is page.status.again


class TestRunning:
    async def test_from_start_to_stop(self, tmp_path: Path, announced: list[str]) -> None:
        async with page_of(tmp_path, found("bore", name="bore!")) as (desk, page):
            card, tunnels = page.status, desk.tunnels
            assert card.title.text() == "The tunnel is off"
            assert "http://127.0.0.1:8787" in card.facts.text()
            pane_of(page, "bore").start.click()
            await until(lambda: card.title.text() == "Starting bore!…")
            assert card.progress.isVisible()
            assert card.progress.accessibleName() == "Starting the tunnel"
            assert card.stop.isVisible()
            tunnels.come_up(probe=Probe(at=now_us(), ms=12.0), output=("Registered",))
            assert card.title.text() == "The tunnel is up"
            assert not card.output.isVisible(), "only where something is wrong"
            assert not card.progress.isVisible()
            assert card.url.text() == URL
            assert card.probe.text().endswith("reached in 12 ms")
            card.url.copy()
            assert QGuiApplication.clipboard().text() == URL
            card.stop.click()
            await until(lambda: card.title.text() == "The tunnel is off")
            assert not card.url.isVisible()
            assert announced == ["Starting bore!….", "The tunnel is up.", "The tunnel is off."]

    async def test_a_start_can_be_ended(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            desk.tunnels.change(state=TunnelState.STARTING, program="cloudflared")
            page.status.stop.click()
            await until(lambda: desk.tunnels.tunnel.state is TunnelState.OFF)

    async def test_the_keyboard_stays_where_the_buttons_are(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            start, card = pane_of(page, "cloudflared").start, page.status
            start.setFocus()
            start.click()
            await until(lambda: desk.settings.tunnel_program == "cloudflared")
            assert start.hasFocus()
            desk.tunnels.change(state=TunnelState.FAILED, problem="No network.")
            card.again.setFocus()
            card.again.click()
            await until(lambda: desk.tunnels.tunnel.state is TunnelState.STARTING)
            assert card.stop.hasFocus()
            card.stop.click()
            await until(lambda: desk.tunnels.tunnel.state is TunnelState.OFF)
            assert page.programs.list.hasFocus()

    async def test_checking_says_what_it_found(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            card = page.status
            desk.tunnels.come_up()
            desk.tunnels.next_probe = Probe(at=0, ms=None, problem="Somebody else's page came back.")
            card.check.click()
            assert card.check.text() == "Checking…"
            await until(lambda: card.check.text() == "Check")
            assert card.title.text() == "The tunnel is unreachable"
            assert card.problem.text.text() == "Somebody else’s page came back."
            desk.tunnels.next_probe = Probe(at=0, ms=5.0)
            card.check.click()
            await until(lambda: card.title.text() == "The tunnel is up")
            assert not card.problem.isVisible()

    @pytest.mark.usefixtures("each_font")
    async def test_the_title_is_whole_in_a_small_window(self, desk: Desk) -> None:
        async with shown_over(desk) as window:
            window.resize(911, 512)
            window.show_page(TUNNEL)
            desk.tunnels.come_up(state=TunnelState.UNREACHABLE, output=("line",))
            await settle(10)
            title = window.tunnel_page.status.title
            assert title.shown_text() in ("The tunnel is unreachable", "Unreachable")
            assert title.accessibleName() == "The tunnel is unreachable"

    async def test_a_restart_is_counted_down(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            desk.tunnels.come_up()
            at = now_us() + 60 * SECOND
            desk.tunnels.change(state=TunnelState.RESTARTING, restart_at=at, problem="It ended.")
            first = page.status.title.text()
            assert first.startswith("The tunnel ended. Restarting in ")
            assert page.status.problem.text.text() == "It ended."
            assert page.status.url.isVisible()
            await until(lambda: page.status.title.text() != first)

    async def test_a_failure_says_why_and_starts_again(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            card = page.status
            lines = ("line one", "line two")
            desk.tunnels.change(
                state=TunnelState.FAILED, program="cloudflared", problem="No network. Check it.", output=lines
            )
            assert card.problem.text.text() == "No network. Check it."
            card.output.click()
            assert page.tabs.currentWidget() is page.output
            assert page.output.text.toPlainText() == "\n".join(lines)
            card.again.click()
            await until(lambda: desk.tunnels.called("start") == [("cloudflared",)])

    async def test_warnings_stay_while_it_is_up(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("bore", warnings=("The URL is plain http.",))) as (desk, page):
            desk.tunnels.come_up("http://bore.pub:1")
            await until(lambda: page.status.warning.text.text() == "The URL is plain http.")
            assert page.status.warning.isVisible()
            assert not pane_of(page, "bore").warning.isVisible(), "said twice"

    async def test_a_running_program_can_be_restarted_or_replaced(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("bore"), found("ssh")) as (desk, page):
            desk.tunnels.come_up(program="bore")
            assert pane_of(page, "ssh").start.text() == "Use this instead"
            assert pane_of(page, "bore").start.text() == "Restart"
            pane_of(page, "bore").start.click()
            await until(lambda: desk.tunnels.called("start") == [("bore",)])
            await until(pane_of(page, "ssh").start.isEnabled)
            pane_of(page, "ssh").start.click()
            await until(lambda: desk.tunnels.tunnel.program == "ssh")

    async def test_a_base_url_of_the_settings_is_for_when_it_is_not_up(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            desk.tunnels.come_up()
            assert "begin with it" in page.status.hint.text()
            await desk.change_settings({"base_url": "https://own.example"})
            assert page.status.hint.text().endswith("Without the tunnel they begin with https://own.example.")


class TestBelow:
    async def test_output_is_followed_but_not_while_it_is_read(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            page.tabs.setCurrentWidget(page.output)
            assert not page.output.text.isVisible(), "that there is none is said instead"
            lines = tuple(f"line {number}" for number in range(300))
            desk.tunnels.change(state=TunnelState.STARTING, output=lines)
            bar = page.output.text.verticalScrollBar()
            await until(lambda: bar.maximum() > 0)
            bar.setValue(bar.maximum())
            desk.tunnels.change(output=(*lines, "more"))
            assert bar.value() == bar.maximum()
            bar.setValue(0)
            desk.tunnels.change(output=(*lines, "more", "<b>newest</b>"))
            assert bar.value() == 0
            assert page.output.text.toPlainText().endswith("\nmore\n<b>newest</b>")
            page.output.copy.click()
            assert QGuiApplication.clipboard().text().endswith("\n<b>newest</b>")
            desk.tunnels.change(output=("another run",))
            assert page.output.text.toPlainText() == "another run"
            assert page.output.caption.text() == "The last 1 line of the program"
            desk.tunnels.change(program="cloudflared", output=lines)
            assert page.output.caption.text() == "The last 300 lines of Cloudflare quick tunnel"

    async def test_history_lists_the_urls_with_their_times(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            table, now = page.history.table, now_us()
            page.tabs.setCurrentWidget(page.history)
            assert not table.isVisible()
            old = TunnelUrl(url="https://old.example", program="gone", since=now - 9 * SECOND, until=now - SECOND)
            desk.tunnels.urls = [TunnelUrl(url=URL, program="cloudflared", since=now), old]
            desk.tunnels.come_up()
            await until(lambda: table.model().rowCount() == 2 and table.isVisible())
            cells = [[str(table.model().index(row, column).data()) for column in range(4)] for row in range(2)]
            assert cells[0][:2] == [URL, "Cloudflare quick tunnel"]
            assert cells[0][3] == "now"
            assert cells[1][:2] == ["https://old.example", "gone"]
            table.selectAll()
            table.setFocus()
            QTest.keySequence(table, QKeySequence(QKeySequence.StandardKey.Copy))
            assert QGuiApplication.clipboard().text() == f"{URL}\nhttps://old.example"
            assert table.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
            assert [action.text() for action in table.actions()] == ["Copy URL"]
            desk.tunnels.change(state=TunnelState.STOPPING, url_changed=True)
            await until(lambda: not desk.tasks.running())
            assert table.model().index(0, 3).data() == "now"
            desk.tunnels.urls[0] = replace(desk.tunnels.urls[0], until=now_us())
            desk.tunnels.change(state=TunnelState.OFF, url=None)
            await until(lambda: table.model().index(0, 3).data() != "now")

    async def test_the_time_of_the_present_url_goes_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async with page_of(tmp_path) as (desk, page):
            table, now = page.history.table, now_us()
            desk.tunnels.urls = [TunnelUrl(url=URL, program="cloudflared", since=now)]
            desk.tunnels.come_up()
            await until(lambda: table.model().rowCount() == 1)
            page.tabs.setCurrentWidget(page.history)
            span = table.model().index(0, table.model().columnCount() - 1)
            assert span.data() == "less than a minute"
            table.selectRow(0)
            monkeypatch.setattr("app.ui.tunnel.page.now_us", lambda: now + 180 * SECOND)
            await until(lambda: span.data() == "3 minutes")
            assert span.data(Qt.ItemDataRole.ToolTipRole).startswith("3 minutes")
            assert table.selectionModel().isRowSelected(0)

    async def test_a_tunnel_that_was_started_elsewhere_can_start_with_hookline(self, tmp_path: Path) -> None:
        """By the command line, the settings name no program."""

        async with page_of(tmp_path) as (desk, page):
            card = page.status
            desk.tunnels.come_up(program="cloudflared")
            await until(card.autostart.isEnabled)
            assert "Cloudflare quick tunnel" in card.autostart_text.text()
            card.autostart.click()
            await until(lambda: desk.settings.tunnel_autostart)
            assert desk.settings.tunnel_program == "cloudflared"

    async def test_autostart_is_a_setting(self, tmp_path: Path) -> None:
        async with page_of(tmp_path) as (desk, page):
            card = page.status
            assert not card.autostart.isEnabled()
            pane_of(page, "cloudflared").start.click()
            await until(card.autostart.isEnabled)
            assert "Cloudflare quick tunnel" in card.autostart_text.text()
            card.autostart.click()
            await until(lambda: desk.settings.tunnel_autostart)
            assert card.autostart.isChecked()
            card.autostart.click()
            await until(lambda: not desk.settings.tunnel_autostart)
            await settle()
            assert not card.autostart.isChecked()

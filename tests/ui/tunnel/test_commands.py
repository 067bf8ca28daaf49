"""The tunnel by keyboard: the row at the sidebar's foot, keys, and the palette."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.clock import now_us
from app.core.errors import InvalidFieldsError
from app.core.rules import FieldError
from app.core.tunnel import TunnelState
from app.ui.shell.main_window import MainWindow
from app.ui.shell.window_commands import command_entries
from tests.ui.desk import Desk
from tests.ui.tunnels import PORT, found
from tests.ui.waiting import notice, until


def palette(window: MainWindow) -> set[str]:
    """The commands of the tunnel that the palette can run now."""
    window.commands.refresh()
    entries = command_entries(window.commands.registry)
    return {entry.text for entry in entries if "unnel" in entry.text and not entry.reason}


class TestRow:
    async def test_it_says_the_state_and_opens_the_page(self, desk: Desk, window: MainWindow) -> None:
        row = window.sidebar.tunnel
        assert row.text() == "Tunnel: off"
        assert row.accessibleName() == "Tunnel: off"
        row.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(row, Qt.Key.Key_Return)
        assert window.tunnel_page.isVisible()
        assert row.isChecked()
        assert row.hasFocus()
        desk.tunnels.come_up()
        assert row.text() == "swift-lake-reads-books.trycloudflare.com"
        window.show_page("dashboard")
        assert not row.isChecked()

    async def test_it_counts_down(self, desk: Desk, window: MainWindow) -> None:
        row = window.sidebar.tunnel
        desk.tunnels.change(state=TunnelState.RESTARTING, restart_at=now_us() + 90_000_000)
        first = row.text()
        assert first.startswith("Restarting in ")
        name = row.accessibleName()
        await until(lambda: row.text() != first)
        assert row.accessibleName() == name

    async def test_the_page_is_remembered(self, desk: Desk, window: MainWindow) -> None:
        QTest.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        assert window.tunnel_page.isVisible()
        window.quit()
        again = desk.window()
        assert again.pages.currentWidget() is again.tunnel_page
        again.stop()
        again.deleteLater()


class TestCommands:
    async def test_the_palette_offers_what_can_be_done(self, desk: Desk, window: MainWindow) -> None:
        assert palette(window) == {"Tunnel", "Start tunnel"}
        desk.tunnels.change(state=TunnelState.STARTING)
        assert palette(window) == {"Tunnel", "Stop tunnel"}
        desk.tunnels.come_up()
        assert palette(window) == {"Tunnel", "Stop tunnel", "Check tunnel"}
        desk.tunnels.change(state=TunnelState.STOPPING)
        assert palette(window) == {"Tunnel"}

    async def test_starting_without_a_program_leads_to_the_page(self, desk: Desk, window: MainWindow) -> None:
        actions = window.tunnel.actions
        actions.start_command.run()
        assert window.tunnel_page.isVisible()
        assert not desk.tunnels.called("start")
        await desk.change_settings({"tunnel_program": "ngrok"})
        actions.start_command.run()
        await until(lambda: desk.tunnels.called("start") == [("ngrok",)])
        actions.stop_command.run()
        await until(lambda: desk.tunnels.called("stop"))

    async def test_a_start_that_needs_an_option_leads_to_its_field(self, desk: Desk, window: MainWindow) -> None:
        desk.tunnels.found = [found("bore"), found("ssh", options=(PORT,))]
        await desk.change_settings({"tunnel_program": "ssh"})
        error = FieldError(field="port", message="Remote port is required.")
        desk.tunnels.errors["start"] = InvalidFieldsError([error])
        window.tunnel.actions.start_command.run()
        panes = window.tunnel_page.programs.panes
        await until(lambda: "ssh" in panes and panes["ssh"].form.fields["port"].error())
        assert window.tunnel_page.programs.list.current_id() == "ssh"
        assert panes["ssh"].isVisible()

    async def test_checking_tells_the_result_anywhere(self, desk: Desk, window: MainWindow) -> None:
        desk.tunnels.come_up()
        window.tunnel.actions.check_command.run()
        await until(window.toast.isVisible)
        assert notice(window) == "The tunnel works: a request through it took 84 ms."

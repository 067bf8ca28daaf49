"""Choosing a tunnel program and setting it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.files import resource
from app.core.rules import FieldError
from app.core.tunnel_program import FoundProgram, read_folder
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import TUNNEL
from app.ui.tunnel.programs_view import NOT_INSTALLED, READY, REMOVED, SAVED
from app.ui.widgets.fit_screen import FormScroll
from tests.ui.desk import Desk
from tests.ui.opened_urls import opened_urls
from tests.ui.tunnel_page import called, field_of, page_of, pane_of, type_into
from tests.ui.tunnels import COMMAND, HOST, PORT, REGION, TOKEN, found
from tests.ui.waiting import settle, until


class TestChoosing:
    async def test_installed_programs_come_first(self, tmp_path: Path) -> None:
        programs = (found("zrok", installed=False), found("ssh", name="SSH"), found("bore"))
        async with page_of(tmp_path, *programs) as (_, page):
            rows = page.programs.list.rows
            titles = [row if isinstance(row, str) else row.program.name for row in rows.records()]
            assert titles == [READY, "SSH", "bore", NOT_INSTALLED, "zrok"]
            assert page.programs.list.current_id() == "ssh"
            texts = [rows.index(place, 0).data() for place in range(1, rows.rowCount())]
            assert texts[0] == "SSH, ready to use. Free, no account."
            assert texts[-1] == "zrok, not installed. Free, no account."

    async def test_the_arrow_keys_skip_the_headings(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("bore"), found("zrok", installed=False)) as (_, page):
            page.programs.list.setFocus()
            QTest.keyClick(page.programs.list, Qt.Key.Key_Down)
            assert page.programs.list.current_id() == "zrok"
            QTest.keyClick(page.programs.list, Qt.Key.Key_Up)
            assert page.programs.list.current_id() == "bore"

    async def test_a_program_says_what_to_know_before_it_is_used(self, tmp_path: Path) -> None:
        warnings = ("Everyone who has the URL sees this computer's IP address.", "It ends after an hour.")
        programs = (found("pinggy", warnings=warnings), found("ngrok", fixed_url=True))
        async with page_of(tmp_path, *programs) as (_, page):
            pane = pane_of(page, "pinggy")
            assert pane.warning.text.text() == "\n".join(warnings).replace("'", "’")
            assert pane.kind.text() == "New URL each time"
            assert pane_of(page, "ngrok").kind.text() == "Same URL each time"
            assert not pane_of(page, "ngrok").warning.isVisible()

    @pytest.mark.slow
    @pytest.mark.parametrize("installed", [True, False])
    @pytest.mark.usefixtures("each_font")
    async def test_what_is_said_of_a_program_is_never_cut_off(self, tmp_path: Path, installed: bool) -> None:
        programs = [
            FoundProgram(spec.program, f"/usr/bin/{name}" if installed else None, {}, ())
            for name, spec in read_folder(resource("tunnels")).items()
        ]
        async with page_of(tmp_path, *programs) as (_, page):
            page.window().resize(894, 466)  # 1366 by 768 at 150 %, less the frame of a window
            await settle(10)
            for name in page.programs.panes:
                pane = pane_of(page, name)
                await settle(4)
                (area,) = pane.findChildren(FormScroll)
                room = area.viewport().width() - area.widget().layout().contentsMargins().right()
                for widget in area.widget().findChildren(QWidget):
                    if widget.isVisible():
                        right = widget.mapTo(area.viewport(), QPoint(widget.width(), 0)).x()
                        assert right <= room, (name, widget, widget.accessibleName())
                assert pane.kind.width() >= pane.kind.sizeHint().width()
                assert pane.website.width() >= pane.website.sizeHint().width()

    async def test_a_url_stays_once_the_option_that_fixes_it_is_entered(self, tmp_path: Path) -> None:
        ssh = found("ssh", options=(HOST, replace(PORT, default="")), fixed_url_with=("port",))
        async with page_of(tmp_path, ssh) as (_, page):
            pane, port = pane_of(page, "ssh"), field_of(page, "ssh", "port")
            assert pane.kind.text() == "New URL each time"
            type_into(port, "9001")
            assert pane.kind.text() == "Same URL each time"
            type_into(field_of(page, "ssh", "host"), "example.org")
            pane.save.click()
            await until(lambda: not pane.save.isEnabled())
            assert pane.kind.text() == "Same URL each time"

    async def test_a_service_that_ssh_reaches_is_not_called_installed(self, tmp_path: Path) -> None:
        service = replace(found("serveo"), path="/usr/bin/ssh")
        async with page_of(tmp_path, service, found("bore")) as (_, page):
            assert pane_of(page, "serveo").state.text() == "Via ssh"
            assert pane_of(page, "bore").state.text() == "Installed"

    async def test_one_that_is_not_installed_says_how_and_is_found_afterwards(self, tmp_path: Path) -> None:
        install = dict.fromkeys(("linux", "macos", "windows"), "brew install zrok2")
        programs = (found("bore"), found("zrok", installed=False, install=install))
        async with page_of(tmp_path, *programs) as (desk, page):
            pane = pane_of(page, "zrok")
            assert pane.install.isVisible()
            assert not pane.start.isVisible()
            pane.copy.click()
            assert QGuiApplication.clipboard().text() == "brew install zrok2"
            desk.tunnels.found[1] = found("zrok", install=install)
            pane.search.click()
            await until(pane.start.isVisible)
            assert not pane.install.isVisible()
            assert page.programs.list.current_id() == "zrok"

    async def test_an_own_command_needs_no_installation(self, tmp_path: Path) -> None:
        own = found("own", installed=False, executables=(), options=(COMMAND,))
        async with page_of(tmp_path, own) as (desk, page):
            type_into(field_of(page, "own", "command"), "my-tunnel {port}")
            pane_of(page, "own").start.click()
            await until(lambda: desk.tunnels.called("start") == [("own",)])

    async def test_the_program_used_last_is_selected(self, desk: Desk, window: MainWindow) -> None:
        desk.tunnels.found = [found("bore"), found("ssh")]
        desk.tunnels.change(program="ssh")
        window.show_page(TUNNEL)
        await until(lambda: window.tunnel_page.programs.list.current_id() == "ssh")


class TestOptions:
    async def test_start_saves_what_was_typed(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(HOST, PORT, REGION))) as (desk, page):
            type_into(field_of(page, "ssh", "host"), " me@example.org ")
            field_of(page, "ssh", "region").editor.setCurrentText("us")
            pane_of(page, "ssh").start.click()
            await until(lambda: desk.settings.tunnel_program == "ssh")
            values = {"host": "me@example.org", "port": "9001", "region": "us"}
            assert called(desk.tunnels, "configure", "start") == [("configure", "ssh", values), ("start", "ssh")]

    async def test_the_own_command_is_all_that_its_form_asks_for(self, tmp_path: Path) -> None:
        own = FoundProgram(read_folder(resource("tunnels"))["own"].program, None, {})
        async with page_of(tmp_path, own) as (_, page):
            form = pane_of(page, "own").form
            assert [name for name, field in form.fields.items() if field.isVisible()] == ["command"]
            form.show_errors([FieldError(field="url", message="It is not valid.")])
            assert all(field.isVisible() for field in form.fields.values())
        async with page_of(tmp_path, own) as (_, page):
            form = pane_of(page, "own").form
            form.more.click()
            assert all(field.isVisible() for field in form.fields.values())
            assert form.fields["url"].editor.hasFocus()
            assert not form.more.isVisible()
        saved = replace(own, values={"command": "frpc", "url": "https://hooks.example.com"})
        async with page_of(tmp_path, saved) as (_, page):
            assert pane_of(page, "own").form.fields["url"].isVisible()

    async def test_a_required_option_is_asked_for(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(HOST, PORT))) as (desk, page):
            field = field_of(page, "ssh", "host")
            pane_of(page, "ssh").start.click()
            assert field.error() == "Server is required."
            assert field.editor.hasFocus()
            assert not called(desk.tunnels, "configure", "start")
            QTest.keyClicks(field.editor, "m")
            assert not field.error()

    async def test_a_value_that_does_not_fit_is_marked_while_typing(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(PORT,))) as (_, page):
            field = field_of(page, "ssh", "port")
            type_into(field, "9x")
            assert "Remote port" in field.error()
            type_into(field, "90")
            assert not field.error()

    async def test_what_is_refused_stands_beside_its_field(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(PORT,))) as (desk, page):
            errors = [FieldError(field="port", message="Port 9001 is in use."), FieldError(field="?", message="No.")]
            desk.tunnels.errors["start"] = InvalidFieldsError(errors)
            pane, field = pane_of(page, "ssh"), field_of(page, "ssh", "port")
            pane.start.click()
            await until(field.error)
            assert field.error() == "Port 9001 is in use."
            assert pane.problem.text() == "No."
            await until(pane.start.isEnabled)
            assert desk.settings.tunnel_program is None
            await settle(6)  # the programs are read again, because the options were saved
            assert pane.problem.isVisible()
            assert field.error()
            desk.tunnels.errors["start"] = NotFoundError("ssh is not installed.")
            pane.start.click()
            await until(lambda: pane.problem.text() == "ssh is not installed.")
            assert not field.error()
            desk.tunnels.come_up(program="ssh")
            assert not pane.problem.isVisible(), "it runs"
            pane.start.click()
            await until(pane.problem.isVisible)
            desk.tunnels.found[0] = replace(desk.tunnels.found[0], path=None)
            page.programs.search_requested.emit()
            await until(pane.install.isVisible)
            assert not pane.problem.isVisible(), "it is said above"

    async def test_options_are_saved_without_starting(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(PORT,))) as (desk, page):
            pane, field = pane_of(page, "ssh"), field_of(page, "ssh", "port")
            assert not pane.save.isEnabled()
            type_into(field, "9002")
            pane.save.click()
            await until(lambda: desk.tunnels.found[0].values == {"port": "9002"})
            await until(lambda: not field.has_changes() and not pane.save.isEnabled())
            assert field.editor.text() == "9002"
            assert not called(desk.tunnels, "start")

    async def test_typed_options_stay_while_another_program_is_looked_at(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ssh", options=(PORT,)), found("bore")) as (desk, page):
            type_into(field_of(page, "ssh", "port"), "9002")
            pane_of(page, "bore")
            reads = len(desk.tunnels.called("programs"))
            desk.tunnels.come_up(program="bore")
            await until(lambda: len(desk.tunnels.called("programs")) > reads)
            await settle()
            assert field_of(page, "ssh", "port").editor.text() == "9002"


class TestSecrets:
    async def test_a_saved_secret_is_never_shown_and_stays(self, tmp_path: Path) -> None:
        ngrok = found("ngrok", options=(TOKEN, PORT), secrets_set=("token",))
        async with page_of(tmp_path, ngrok) as (desk, page):
            field = field_of(page, "ngrok", "token")
            assert field.editor.echoMode() is QLineEdit.EchoMode.Password
            assert field.editor.text() == ""
            assert field.help_text().startswith(SAVED)
            pane_of(page, "ngrok").start.click()
            await until(lambda: desk.settings.tunnel_program == "ngrok")
            assert desk.tunnels.called("configure") == [("ngrok", {"port": "9001"})]
            assert desk.tunnels.found[0].secrets_set == ("token",)

    async def test_it_can_be_replaced(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ngrok", options=(TOKEN,))) as (desk, page):
            field = field_of(page, "ngrok", "token")
            assert not field.remove.isVisible()
            type_into(field, "s3cret")
            pane_of(page, "ngrok").save.click()
            await until(field.remove.isVisible)
            assert desk.tunnels.called("configure") == [("ngrok", {"token": "s3cret"})]
            assert field.editor.text() == ""

    async def test_it_can_be_removed(self, tmp_path: Path) -> None:
        async with page_of(tmp_path, found("ngrok", options=(TOKEN,), secrets_set=("token",))) as (desk, page):
            field = field_of(page, "ngrok", "token")
            field.remove.click()
            assert field.help_text().startswith(REMOVED)
            assert field.editor.hasFocus()
            pane_of(page, "ngrok").save.click()
            await until(lambda: desk.tunnels.found[0].secrets_set == ())
            await until(lambda: field.help_text() == TOKEN.help)


@pytest.mark.qt_log_ignore("does not support QPlatformServices", extend=True)
async def test_a_website_that_nothing_opens_is_named(tmp_path: Path) -> None:
    async with page_of(tmp_path, found("bore"), found("zrok", installed=False)) as (_, page):
        for program in ("bore", "zrok"):
            pane = pane_of(page, program)
            pane.website.click()
            assert pane.problem.isVisible(), program
            assert pane.problem.text() == "No program found to open websites. The address is https://example.org."
            assert pane.start.isVisible() is (program == "bore")
        with opened_urls("https") as opened:
            pane.website.click()
        assert opened == ["https://example.org"]
        assert not pane.problem.isVisible()

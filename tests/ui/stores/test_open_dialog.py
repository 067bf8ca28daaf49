"""A team's store is checked before the window leaves the one that it works on."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.core.errors import StoreAddressError
from app.core.team import StoreChoice
from app.ui.open_store_dialog import OpenStoreDialog
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import opened as opened_dialog
from tests.ui.desk import Desk
from tests.ui.waiting import settle, until

ADDRESS = "postgresql://ann@db.example.com/team"


class Server:
    """Refuses with `refusal`, once `go` is set."""

    def __init__(self) -> None:
        self.go, self.refusal, self.ended = asyncio.Event(), "", False

    async def check(self, address: str, password: str) -> None:
        try:
            await self.go.wait()
        finally:
            self.ended = True
        if self.refusal:
            raise StoreAddressError(self.refusal)


def opened(desk: Desk, window: MainWindow, server: Server | None = None) -> OpenStoreDialog:
    services = desk.with_services(check_team_store=server.check) if server else desk.services
    dialog = OpenStoreDialog(services, desk.theme, desk.tasks, window, StoreChoice())
    dialog.open()
    return dialog


def typed(dialog: OpenStoreDialog, text: str) -> None:
    QTest.keyClicks(dialog.form["address"], text)


async def test_what_was_typed_is_checked_and_chosen(desk: Desk, window: MainWindow) -> None:
    dialog, chosen = opened(desk, window), list[StoreChoice]()
    dialog.checked.connect(chosen.append)
    assert not dialog.form["captures"].isChecked()
    typed(dialog, f" {ADDRESS} ")
    QTest.keyClicks(dialog.form["password"], "secret")
    QTest.keyClick(dialog.form["password"], Qt.Key.Key_Return)
    await until(lambda: chosen)
    assert chosen == [StoreChoice(address=ADDRESS, password="secret")]
    assert desk.checked == [(ADDRESS, "secret")]
    assert opened_dialog(window, OpenStoreDialog) is None


async def test_the_refusal_is_told_at_its_field(desk: Desk, window: MainWindow) -> None:
    server = Server()
    server.refusal = "The store at postgresql://ann@db.example.com/team cannot be used: connection refused."
    server.go.set()
    dialog = opened(desk, window, server)
    typed(dialog, ADDRESS)
    dialog.open_button.click()
    await until(lambda: dialog.form.fields["address"].error() == server.refusal)
    assert dialog.isVisible()
    assert dialog.open_button.isEnabled()
    assert dialog.focusWidget() is dialog.form["address"]
    QTest.keyClick(dialog.form["address"], Qt.Key.Key_End)
    typed(dialog, "2")
    assert not dialog.form.fields["address"].error()
    server.refusal = "The store cannot be used: no password supplied. Put the password into ~/.pgpass."
    dialog.open_button.click()
    await until(lambda: dialog.form.fields["password"].error() == server.refusal)
    assert dialog.focusWidget() is dialog.form["password"]
    dialog.reject()


async def test_while_it_is_checked_esc_ends_the_check_alone(desk: Desk, window: MainWindow) -> None:
    server = Server()
    dialog = opened(desk, window, server)
    typed(dialog, ADDRESS)
    dialog.open_button.click()
    await settle()
    assert dialog.progress.isVisible()
    assert dialog.state.text() == "Connecting to ann@db.example.com/team…"
    assert not dialog.form.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await until(lambda: server.ended)
    assert dialog.isVisible()
    assert dialog.form.isEnabled()
    assert not dialog.progress.isVisible()
    assert dialog.form["address"].text() == ADDRESS
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


async def test_a_password_in_the_address_goes_into_its_own_field(desk: Desk, window: MainWindow) -> None:
    dialog = opened(desk, window)
    dialog.form["address"].setText("postgresql://ann:s%2Fecret@db.example.com/team?sslmode=disable")
    assert dialog.form["address"].text() == f"{ADDRESS}?sslmode=disable"
    assert dialog.form["password"].text() == "s/ecret"
    assert dialog.form["password"].echoMode() is QLineEdit.EchoMode.Password
    dialog.form["address"].setText(f"{ADDRESS}?password=secret")
    dialog.open_button.click()
    assert "Store must not say the password" in dialog.form.fields["address"].error()
    dialog.reject()


async def test_without_an_address_nothing_is_checked(desk: Desk, window: MainWindow) -> None:
    dialog = opened(desk, window)
    dialog.open_button.click()
    assert dialog.form.fields["address"].error() == "Address is required."
    assert desk.checked == []
    dialog.reject()

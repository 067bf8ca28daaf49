"""Endpoints in the window, on a real store: create, switch, rename and delete by its widgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit

from app.core.model import Plan
from app.ui.commands.command import Command
from app.ui.endpoints.endpoint_actions import FIRST_NAME
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD
from app.ui.shell.sidebar_rows import EndpointRow
from app.ui.widgets.dialog import Question
from app.ui.widgets.labels import ElidedLabel
from tests.ui.desk import Desk, shown
from tests.ui.waiting import settle, until, wait_for_widget

MARKUP = '<b>bold</b><img src="http://127.0.0.1:1/x.png">'


class TestFirstRun:
    async def test_one_click_makes_an_endpoint_and_shows_it(self, desk: Desk, window: MainWindow) -> None:
        empty = window.dashboard.empty
        assert empty.isVisible()
        assert empty.button is not None
        empty.button.click()
        await until(desk.store.endpoints.all)
        await until(lambda: window.pages.currentWidget() is window.requests)
        endpoint = desk.store.endpoints.all()[0]
        assert endpoint.name == FIRST_NAME
        assert window.requests.endpoint_id == endpoint.id
        assert window.sidebar.row(endpoint.id).isChecked()
        window.show_page(DASHBOARD)
        assert not empty.isVisible()
        assert window.dashboard.rows.isVisible()


class TestEndpoints:
    async def test_create_by_key_and_form(self, desk: Desk, window: MainWindow) -> None:
        QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        edits = [edit for edit in window.findChildren(QLineEdit) if edit.placeholderText() == "Stripe test"]
        QTest.keyClicks(edits[0], "GitHub")
        QTest.keyClick(edits[0], Qt.Key.Key_Return)
        await until(desk.store.endpoints.all)
        await until(lambda: window.pages.currentWidget() is window.requests)
        endpoint = desk.store.endpoints.all()[0]
        assert window.sidebar.row(endpoint.id).text() == "GitHub"

    async def test_a_switch_in_the_sidebar_and_on_the_dashboard_is_the_same(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            first, second = desk.store.endpoints.all()
            sidebar_switch = window.sidebar.row(first.id).findChild(QAbstractButton)
            line = window.dashboard.rows.row(first.id)
            assert sidebar_switch is not None
            assert line is not None
            sidebar_switch.click()
            await until(lambda: not desk.store.endpoints.by_id(first.id).active)  # type: ignore[union-attr]
            await until(lambda: not line.switch.isChecked())
            line.switch.click()
            await until(lambda: desk.store.endpoints.by_id(first.id).active)  # type: ignore[union-attr]
            await until(sidebar_switch.isChecked)
            assert desk.store.endpoints.by_id(second.id) == second

    async def test_a_switch_that_cannot_be_stored_goes_back(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            line = window.dashboard.rows.row(endpoint.id)
            assert line is not None
            await desk.store.close()
            line.switch.click()
            await until(desk.messages.waiting)
            await settle()
            assert line.switch.isChecked()
            assert window.error_bar.isVisible()

    @pytest.mark.usefixtures("no_time_to_undo")
    async def test_deleting_asks_naming_what_goes(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await desk.endpoint(name="Stripe")
        for _ in range(3):
            await desk.capture(endpoint)
        window.show_endpoint(endpoint.id)
        window.endpoint_actions.delete(endpoint)
        window.endpoint_actions.delete(endpoint)
        question = await wait_for_widget(Question, window)
        assert question.title.text() == "Delete “Stripe” and its 3 requests?"
        question.cancel.click()
        await settle()
        assert desk.store.endpoints.all() == (endpoint,)
        await until(lambda: not window.findChildren(Question))
        window.endpoint_actions.delete(endpoint)
        (await wait_for_widget(Question, window)).confirm.click()
        await until(lambda: not desk.store.endpoints.all())
        await until(lambda: window.pages.currentWidget() is window.dashboard)
        await until(lambda: not window.sidebar.findChildren(EndpointRow))
        assert window.dashboard.empty.isVisible()

    async def test_the_menu_does_what_it_says(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            menu = window.endpoint_actions.menu(endpoint)
            names = [command.name for command in menu.actions() if isinstance(command, Command)]
            assert names == [
                "Open endpoint",
                "Copy endpoint URL",
                "Show QR code",
                "Copy link to endpoint",
                "Send test request",
                "Edit endpoint…",
                "Edit targets…",
                "Compare targets…",
                "Switch endpoint off",
                "Pause forwarding",
                "Resume forwarding",
                "Move endpoint up",
                "Move endpoint down",
                "Delete endpoint…",
            ]
            verbs = {action.text(): action for action in menu.actions()}
            verbs["Copy URL"].trigger()
            assert QGuiApplication.clipboard().text() == desk.capture_url(endpoint)
            verbs["Copy link"].trigger()
            assert QGuiApplication.clipboard().text() == f"hookline://endpoint/{endpoint.slug}"
            verbs["Send test request"].trigger()
            await until(lambda: desk.tests_sent == [endpoint.id])
            verbs["Switch off"].trigger()
            await until(lambda: not desk.store.endpoints.by_id(endpoint.id).active)  # type: ignore[union-attr]
            verbs["Open"].trigger()
            assert window.pages.currentWidget() is window.requests

    async def test_a_full_plan_disables_new_with_the_reason(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=10) as (desk, window):
            for button in (window.dashboard.new_button, window.sidebar.add_button):
                assert not button.isEnabled()
                assert "includes up to 10" in button.toolTip()
            QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
            await settle()
            assert window.findChildren(EndpointDialog) == []
            told = window.toast.findChild(ElidedLabel)
            assert told is not None
            assert told.isVisible()
            assert "includes up to 10" in told.text()
            await desk.store.account.set_plan(Plan.PRO)
            await until(window.dashboard.new_button.isEnabled)
            assert window.sidebar.add_button.isEnabled()

    async def test_a_rename_reaches_sidebar_and_dashboard(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            changed = endpoint.draft().__class__(name=MARKUP, slug=endpoint.slug)
            await desk.store.endpoints.update(endpoint.id, changed)
            await until(lambda: window.sidebar.row(endpoint.id).text() == MARKUP)
            line = window.dashboard.rows.row(endpoint.id)
            assert line is not None
            assert line.contents.endpoint.name == MARKUP
            window.endpoint_actions.delete(endpoint)
            question = await wait_for_widget(Question, window)
            question.reject()
            rich = [
                shown_label.text()
                for shown_label in window.findChildren(QLabel)
                if shown_label.text() and shown_label.textFormat() != Qt.TextFormat.PlainText
            ]
            assert rich == []


async def test_the_menu_of_an_endpoint_that_is_off_offers_to_switch_it_on(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint(active=False)
    menu = window.endpoint_actions.menu(endpoint)
    assert "Switch on" in [action.text() for action in menu.actions()]

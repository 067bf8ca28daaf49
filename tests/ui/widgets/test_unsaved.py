"""Nothing typed into a dialog is thrown away unasked: by Esc, by its buttons, or by the end of the program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.core.model import Plan
from app.core.settings import Settings
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import Question
from tests.ui.desk import Desk, open_desk, shown
from tests.ui.endpoint_dialogs import open_dialog
from tests.ui.header_typing import type_header
from tests.ui.waiting import settle, until, wait_for_widget

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(900, 900)
    qtbot.addWidget(window)
    window.show()
    return window


def by_escape(dialog: QDialog) -> None:
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


def by_closing(dialog: QDialog) -> None:
    dialog.close()


def by_button(dialog: QDialog) -> None:
    button = dialog.close_button if isinstance(dialog, SettingsDialog) else dialog.cancel  # type: ignore[attr-defined]
    button.click()


WAYS = (by_escape, by_closing, by_button)


def questions(window: QWidget) -> list[Question]:
    return [one for one in window.findChildren(Question) if one.isVisible()]


async def keep_editing(window: QWidget) -> None:
    (question,) = questions(window)
    assert question.cancel.text() == "Keep editing"
    question.cancel.click()
    await until(lambda: not questions(window))


def discard(window: QWidget) -> None:
    (question,) = questions(window)
    question.confirm.click()


@asynccontextmanager
async def window_with_new_form(folder: Path) -> AsyncIterator[tuple[MainWindow, EndpointDialog, list[int]]]:
    """A window with the form of a new endpoint open; the list grows when the program is to end."""
    ends: list[int] = []
    async with open_desk(folder) as desk:
        window = desk.window(lambda: ends.append(1))
        window.show()
        window.endpoint_actions.create()
        dialog = await wait_for_widget(EndpointDialog, window)
        yield window, dialog, ends
        await desk.tasks.cancel_all()
        window.deleteLater()
        await settle()


async def open_settings(desk: Desk, window: QWidget) -> SettingsDialog:
    dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    await settle()
    return dialog


class TestForm:
    @pytest.mark.parametrize("leave", WAYS)
    async def test_what_is_typed_stays_until_it_is_discarded(
        self, window: QWidget, leave: Callable[[QDialog], None], desk: Desk
    ) -> None:
        dialog = open_dialog(desk, window)
        QTest.keyClicks(dialog.form["name"], "Orders")
        leave(dialog)
        leave(dialog)
        (question,) = questions(window)
        assert question.title.text() == "Discard changes?"
        assert question.text.text() == "The new endpoint has not been created."
        assert question.cancel.text() == "Keep editing"
        QTest.keyClick(question, Qt.Key.Key_Escape)
        await until(lambda: not questions(window))
        assert dialog.isVisible()
        assert dialog.form["name"].text() == "Orders"
        leave(dialog)
        discard(window)
        await until(lambda: not isValid(dialog))
        assert desk.store.endpoints.all() == ()

    @pytest.mark.slow
    async def test_without_a_change_it_closes_unasked(self, window: QWidget, desk: Desk) -> None:
        for leave in WAYS:
            made = await desk.endpoint(name="Orders", retention_days=30)
            for endpoint in (None, made):
                dialog = open_dialog(desk, window, endpoint)
                dialog.form.show_more(True)
                QTest.keyClicks(dialog.form["forward_url"], "x")
                assert dialog.has_changes(), leave
                QTest.keyClick(dialog.form["forward_url"], Qt.Key.Key_Backspace)
                leave(dialog)
                await until(lambda dialog=dialog: not isValid(dialog))  # type: ignore[misc]
            assert questions(window) == [], leave

    @pytest.mark.slow
    async def test_every_field_counts_and_so_does_what_is_wrong(self, window: QWidget, desk: Desk) -> None:
        made = await desk.endpoint(name="Orders")
        for change in (
            lambda form: form["description"].setPlainText("x"),
            lambda form: form["retention_days"].slider.setValue(30),
            lambda form: form["retention_days"].days.lineEdit().setText("365"),
            lambda form: form["retention_days"].days.lineEdit().setText("a week"),
            lambda form: form["forward_url"].setText("http://localhost:3000/"),
            lambda form: form["storage_limit"].setText("much"),
            lambda form: type_header(form["response.headers"], "bad name", ""),
            lambda form: form["response.body"].default.setChecked(False),
            lambda form: form["auth.kind"].setCurrentIndex(2),
            lambda form: form["forward.timeout_ms"].setText("11 s"),
        ):
            dialog = open_dialog(desk, window, made)
            assert not dialog.has_changes()
            change(dialog.form)  # type: ignore[no-untyped-call]
            assert dialog.has_changes()
            dialog.done(0)

    async def test_the_question_names_an_edited_endpoint(self, window: QWidget, desk: Desk) -> None:
        dialog = open_dialog(desk, window, await desk.endpoint(name="Orders"))
        dialog.form["name"].setText("Other")
        dialog.reject()
        assert questions(window)[0].text.text() == "Your changes to “Orders” have not been saved."
        dialog.done(0)


class TestSettings:
    @pytest.mark.parametrize("leave", WAYS)
    async def test_what_is_typed_stays_until_it_is_discarded(
        self, window: QWidget, leave: Callable[[QDialog], None], desk: Desk
    ) -> None:
        dialog = await open_settings(desk, window)
        QTest.keyClicks(dialog.form["base_url"], "https://x.example")
        leave(dialog)
        await keep_editing(window)
        assert dialog.form["base_url"].text() == "https://x.example"
        leave(dialog)
        discard(window)
        await until(lambda: not isValid(dialog))
        assert desk.settings.base_url is None

    @pytest.mark.parametrize("leave", WAYS)
    async def test_without_a_change_it_closes_unasked(
        self, window: QWidget, leave: Callable[[QDialog], None], desk: Desk
    ) -> None:
        dialog = await open_settings(desk, window)
        for index in (2, 0):
            dialog.form["theme"].setCurrentIndex(index)
            assert dialog.has_changes() is (index == 2)
        leave(dialog)
        assert questions(window) == []
        await until(lambda: not isValid(dialog))

    async def test_discard_saves_nothing(self, window: QWidget, desk: Desk) -> None:
        dialog = await open_settings(desk, window)
        await until(dialog.window_section.start.isEnabled)
        dialog.form["theme"].setCurrentIndex(2)
        dialog.window_section.start.click()
        await settle()
        dialog.reject()
        discard(window)
        assert not desk.theme.is_dark
        await settle()
        assert desk.settings == Settings()
        assert not desk.services.autostart().enabled()

    async def test_discard_keeps_what_was_saved(self, window: QWidget, desk: Desk) -> None:
        dialog = await open_settings(desk, window)
        dialog.form["theme"].setCurrentIndex(2)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000 and dialog.is_idle())
        dialog.form["theme"].setCurrentIndex(1)
        dialog.form["port"].set_value(9001)
        dialog.reject()
        discard(window)
        await until(lambda: not isValid(dialog))
        assert desk.settings == Settings(theme="dark", port=9000)

    @pytest.mark.slow
    async def test_what_is_wrong_and_the_plan_count_as_changes(self, window: QWidget, desk: Desk) -> None:
        for change in (
            lambda dialog: dialog.form["port"].lineEdit().setText(""),
            lambda dialog: dialog.form["disk_reserve"].setText("much"),
            lambda dialog: QTest.keyClicks(dialog.form["storage_limit"], "x"),
            lambda dialog: dialog.form["plan"].setCurrentIndex(1),
            lambda dialog: dialog.form["theme"].setCurrentIndex(1),
            lambda dialog: dialog.window_section.start.click(),
        ):
            dialog = await open_settings(desk, window)
            await until(dialog.window_section.start.isEnabled)
            assert dialog.is_idle()
            change(dialog)  # type: ignore[no-untyped-call]
            assert dialog.has_changes()
            assert not dialog.is_idle()
            dialog.done(0)
        assert desk.store.account.plan is Plan.FREE


class TestQuitting:
    @pytest.mark.parametrize("way", ["quit", "close"])
    async def test_it_asks_before_changes_are_lost(self, tmp_path: Path, way: str) -> None:
        async with window_with_new_form(tmp_path) as (window, dialog, ends):
            QTest.keyClicks(dialog.form["name"], "Orders")
            if way == "quit":
                window.hide()  # the tray can quit, too
            getattr(window, way)()
            await settle()
            assert ends == []
            assert window.isVisible()
            await keep_editing(window)
            assert window.isVisible()
            assert dialog.form["name"].text() == "Orders"
            getattr(window, way)()
            discard(window)
            await until(lambda: ends)
            assert ends == [1]

    async def test_a_form_with_nothing_typed_is_no_reason_to_ask(self, tmp_path: Path) -> None:
        async with window_with_new_form(tmp_path) as (window, _, ends):
            window.quit()
            assert ends == [1]


async def test_another_new_endpoint_or_edit_leaves_the_open_form_as_it_is(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        actions = window.endpoint_actions
        actions.create()
        dialog = await wait_for_widget(EndpointDialog, window)
        QTest.keyClicks(dialog.form["name"], "Orders")
        QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        actions.create()
        actions.edit(desk.store.endpoints.all()[0])
        assert window.findChildren(EndpointDialog) == [dialog]
        assert dialog.form["name"].text() == "Orders"
        assert dialog.windowTitle() == "New endpoint"
        dialog.done(0)


async def test_closing_while_it_is_saved_asks_nothing(window: QWidget, desk: Desk) -> None:
    go_on = asyncio.Event()

    async def change(changes: Mapping[str, Any]) -> None:
        await go_on.wait()
        await desk.change_settings(changes)

    desk.services = desk.with_services(change_settings=change)
    dialog = await open_settings(desk, window)
    QTest.keyClicks(dialog.form["base_url"], "https://x.example")
    dialog.submit()
    dialog.reject()
    await until(lambda: not isValid(dialog))
    assert questions(window) == []
    go_on.set()
    await until(lambda: desk.settings.base_url == "https://x.example")

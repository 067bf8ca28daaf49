"""Storage limits in the window: the form, the settings, the dashboard, the banner."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.core.errors import StorageLimitError
from app.core.model import Endpoint
from app.core.sizes import GIB, MIB
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.badge import Meter
from app.ui.widgets.dialog import Question
from tests import factories
from tests.ui.desk import Desk, shown
from tests.ui.endpoint_dialogs import errors_shown, open_dialog
from tests.ui.waiting import until, wait_for_widget


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(900, 900)
    qtbot.addWidget(window)
    return window


async def fill(desk: Desk, endpoint: Endpoint, number: int = 15, size: int = 100_000) -> None:
    for _ in range(number):
        body = bytes(size)
        capture = factories.capture(body, endpoint_id=endpoint.id)
        with suppress(StorageLimitError):
            await desk.store.captures.add(capture, body)


class TestForm:
    async def test_a_size_is_typed_checked_and_saved(self, window: QWidget, desk: Desk) -> None:
        form = (dialog := open_dialog(desk, window)).form
        QTest.keyClicks(form["name"], "Orders")
        assert not form["when_full"].isEnabled()
        for typed, told in (
            ("5 XB", "such as 500 MiB"),
            ("1 kB", "1 MiB to 1024 TiB, not 1 kB"),
            ("0", "0"),
        ):
            form["storage_limit"].clear()
            QTest.keyClicks(form["storage_limit"], typed)
            assert told in errors_shown(dialog)["storage_limit"]
            assert not dialog.submit_button.isEnabled()
        form["storage_limit"].clear()
        QTest.keyClicks(form["storage_limit"], "1.5 gib")
        form["when_full"].setCurrentIndex(1)
        assert errors_shown(dialog) == {}
        dialog.submit()
        await until(desk.store.endpoints.all)
        (made,) = desk.store.endpoints.all()
        assert (made.storage_limit, made.when_full) == (GIB + GIB // 2, "stop_capturing")

    async def test_editing_something_else_keeps_the_limit_and_emptying_it_removes_it(
        self, window: QWidget, desk: Desk
    ) -> None:
        made = await desk.endpoint(storage_limit=123_456_789, when_full="stop_capturing")
        dialog = open_dialog(desk, window, made)
        assert dialog.form["storage_limit"].text() == "123456789 B"
        QTest.keyClicks(dialog.form["name"], "New name")
        dialog.submit()
        await until(lambda: desk.store.endpoints.all()[0].name != made.name)
        (changed,) = desk.store.endpoints.all()
        assert (changed.storage_limit, changed.when_full) == (123_456_789, "stop_capturing")
        dialog = open_dialog(desk, window, changed)
        dialog.form["storage_limit"].clear()
        dialog.submit()
        await until(lambda: desk.store.endpoints.all()[0].storage_limit is None)


class TestSettings:
    async def test_limit_and_choice_are_saved_and_use_is_shown(self, window: QWidget, desk: Desk) -> None:
        await desk.change_settings({})
        await fill(desk, await desk.endpoint(), 3)
        dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
        dialog.open()
        storage, limit = dialog.storage, dialog.form["storage_limit"]
        assert limit.text() == "20 GiB"
        assert storage.used.text() == "296 KiB of 20 GiB stored"
        assert not storage.reached.isVisibleTo(dialog)
        for typed, told in (("much", "such as 500 MiB"), ("3 MiB", "16 MiB to 1024 TiB, not 3 MiB")):
            limit.clear()
            QTest.keyClicks(limit, typed)
            assert told in dialog.form.rows["storage_limit"].error()
            assert not dialog.save_button.isEnabled()
        limit.clear()
        QTest.keyClicks(limit, "30 MB")
        dialog.form["when_full"].setCurrentIndex(1)
        assert dialog.form.rows["storage_limit"].error() == ""
        dialog.save_button.click()
        await until(lambda: desk.settings.storage_limit == 30_000_000)
        assert desk.settings.when_full == "stop_capturing"
        await until(lambda: storage.used.text() == "296 KiB of 30 MB stored")
        limit.clear()
        dialog.save_button.click()
        await until(lambda: desk.settings.storage_limit is None)
        dialog.reject()


class TestWindow:
    async def test_a_limit_that_is_reached_is_told_once_and_goes_away(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, window):
            made = await desk.endpoint(storage_limit=MIB, when_full="stop_capturing")
            await fill(desk, made)
            (message,) = desk.messages.waiting()
            assert (
                message.text == f"The storage limit of “{made.name}” (1 MiB) is reached: its requests are not captured."
            )
            assert "503" in message.advice
            line = window.dashboard.rows.row(made.id)
            assert line is not None
            await until(lambda: "not capturing" in line.accessibleDescription())
            window.error_bar.act(message.actions[0])
            dialog = await wait_for_widget(EndpointDialog, window)
            await until(dialog.form["storage_limit"].hasFocus)
            dialog.reject()
            await fill(desk, made)
            assert desk.messages.waiting() == ()
            await desk.store.captures.clear(made.id)
            await until(lambda: "not capturing" not in line.accessibleDescription())

    async def test_the_banner_goes_by_itself_and_the_dashboard_says_full(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, window):
            made = await desk.endpoint()
            desk.store.limits.set_limit(MIB, "stop_capturing")
            await fill(desk, made, 12)
            (message,) = desk.messages.waiting()
            assert "(1 MiB) is reached: requests are not captured" in message.text
            stats = window.dashboard.stats
            await until(lambda: stats._size_note.text() == "of 1 MiB · full, not capturing")
            assert stats._size.property("alarm") == "danger"
            meter = next(one for one in stats.findChildren(Meter) if one.accessibleName().startswith("Storage: "))
            assert meter.accessibleName().endswith("% used")
            window.error_bar.act(message.actions[0])
            (settings,) = window.findChildren(SettingsDialog)
            assert settings.isVisible()
            settings.reject()
            again = MainWindow(desk.services, desk.theme, desk.tasks, lambda: None)  # as after a restart
            assert [told.text for told in desk.messages.waiting()] == [message.text]
            again.stop()
            await desk.store.captures.clear(made.id)
            assert desk.messages.waiting() == ()
            await until(lambda: stats._size_note.text() == "of 1 MiB · 0 requests")
            assert (meter.isVisible(), meter.accessibleName()) == (True, "Storage: 0% used")
            again.deleteLater()  # only now: it counts the last hour as it starts

    async def test_the_dashboard_says_what_the_stored_size_and_the_size_on_disk_count(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (_, window):
            size = window.dashboard.stats._size
            await until(lambda: bool(size.toolTip()))
            stored, on_disk, _ = size.toolTip().split("\n")
            assert "bodies, headers and targets" in stored
            assert "responses of targets and the search index" in on_disk

    @pytest.mark.slow
    async def test_where_the_oldest_go_the_list_and_the_counts_follow(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, window):
            made = await desk.endpoint(storage_limit=MIB)
            window.show_endpoint(made.id)
            await fill(desk, made)
            await until(desk.messages.waiting)
            (message,) = desk.messages.waiting()
            assert (message.tone, message.advice) == ("info", "To keep more, raise the endpoint's limit.")
            model = window.requests.feed.model
            await until(lambda: 0 < model.rowCount() == desk.store.captures.counts(made.id).total < 12)


class TestQuestion:
    async def test_a_limit_below_what_is_stored_is_asked_about_first(self, window: QWidget, desk: Desk) -> None:
        made = await desk.endpoint()
        await fill(desk, made)
        dialog = EndpointDialog(desk.services, desk.theme, desk.tasks, window, made)
        dialog.open()
        dialog.form.more_button.setChecked(True)
        QTest.keyClicks(dialog.form["storage_limit"], "1 MiB")
        for agreed in (False, True):
            dialog.submit()
            question = await wait_for_widget(Question, dialog)
            assert "A limit of 1 MiB deletes at least 457 KiB of the 1.4 MiB stored" in question.text.text()
            assert desk.store.captures.counts(made.id).total == 15
            (question.confirm if agreed else question.cancel).click()
            if not agreed:
                await until(dialog.submit_button.isEnabled)
                assert dialog.isVisible()
                await until(lambda: not dialog.findChildren(Question))
        await until(lambda: desk.store.captures.counts(made.id).total < 12)

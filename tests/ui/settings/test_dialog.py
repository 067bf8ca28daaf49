"""The settings dialog applies what was changed, or says why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QStyle, QStyleOptionFrame, QWidget
from pytestqt.qtbot import QtBot

from app.core.clock import DAY_US, now_us
from app.core.errors import HooklineError, PlanLimitError, PortInUseError, StorageUnavailableError
from app.core.model import Plan, PurgeReport, StorageSize
from app.core.rules import plan_refusal
from app.core.settings import Settings
from app.core.sizes import KIB, MIB
from app.ui.settings import SavedSettings
from app.ui.settings.dialog import SettingsDialog, changes_text
from app.ui.settings.storage import storage_text
from app.ui.widgets.fit_screen import FormScroll
from tests import deliveries
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import activate, settle, until


@pytest.fixture
def window(qapp: QApplication, qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(900, 900)
    qtbot.addWidget(window)
    window.show()
    return window


def open_settings(desk: Desk, window: QWidget) -> SettingsDialog:
    dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    return dialog


class TestSettings:
    async def test_saving_applies_what_changed(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        assert not dialog.save_button.isEnabled()
        dialog.form["port"].set_value(9000)
        dialog.form["body_limit"].set_value(5 * MIB)
        dialog.form["base_url"].setText("https://x.trycloudflare.com")
        dialog.form["proxies"].setText("10.0.0.0/8, 192.0.2.7")
        assert dialog.save_button.isEnabled()
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000)
        assert desk.settings == Settings(
            port=9000, body_limit=5 * MIB, base_url="https://x.trycloudflare.com", proxies="10.0.0.0/8, 192.0.2.7"
        )
        await until(lambda: not dialog.save_button.isEnabled())
        dialog.reject()

    async def test_what_others_change_meanwhile_stays(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        await desk.change_settings({"body_limit": 5 * MIB, "port": 9001, "theme": "dark"})
        assert (dialog.form["port"].value(), dialog.form["body_limit"].value()) == (9000, 5 * MIB)
        assert dialog.form["theme"].value() == "dark"
        await desk.store.account.set_plan(Plan.PRO)
        assert dialog.form["plan"].value() is Plan.PRO
        endpoint = await desk.endpoint()
        assert dialog.form.rows["plan"].help_text() == "1 endpoint in use."
        await desk.store.endpoints.delete(endpoint.id)
        assert dialog.form.rows["plan"].help_text() == "0 endpoints in use."
        for port, changed in ((8787, True), (9001, False)):
            dialog.form["port"].set_value(port)
            assert dialog.has_changes() is changed
        dialog.form["port"].set_value(9000)
        for limit in (5, 6):
            dialog.save_button.click()
            await until(dialog.is_idle)
            assert (desk.settings.port, desk.settings.body_limit) == (9000, limit * MIB)
            dialog.form["body_limit"].set_value(6 * MIB)
        dialog.reject()

    async def test_a_value_of_this_run_can_be_kept(self, window: QWidget, desk: Desk) -> None:
        desk.settings, desk.overridden = Settings(port=9000, base_url="https://x.example"), {"port": 8787}
        dialog = open_settings(desk, window)
        dialog.reveal("port")
        await settle()
        row = dialog.form.rows["port"]
        assert row.override.isVisible()
        assert row.override.text() == "For this run only. The saved value is 8787."
        assert not dialog.form.rows["base_url"].override.isVisible()
        assert not dialog.form.rows["base_url"].keep_box.isVisible()
        assert not dialog.save_button.isEnabled()
        dialog.form["port"].setFocus()
        QTest.keyClick(dialog.form["port"], Qt.Key.Key_Tab)
        assert dialog.focusWidget() is row.keep_box
        row.keep_box.click()
        assert dialog.has_changes()
        dialog.save_button.click()
        await until(lambda: not desk.overridden)
        await until(dialog.status.text)
        assert dialog.status.text() == "Saved. Capture port: 9000."
        await until(lambda: not row.override.isVisible())
        assert not dialog.has_changes()
        dialog.reject()

    async def test_another_value_is_saved_without_keeping_that_of_this_run(self, window: QWidget, desk: Desk) -> None:
        desk.settings, desk.overridden = Settings(base_url="https://x.example"), {"base_url": None}
        dialog = open_settings(desk, window)
        dialog.reveal("base_url")
        await settle()
        row = dialog.form.rows["base_url"]
        assert row.override.text() == "For this run only. No value is saved."
        row.keep_box.click()
        dialog.form["base_url"].selectAll()
        QTest.keyClicks(dialog.form["base_url"], "https://y.example")
        assert not row.override.isVisible()
        assert dialog.form.kept() == []
        assert dialog.save_button.isEnabled()
        dialog.form["base_url"].selectAll()
        QTest.keyClicks(dialog.form["base_url"], "https://x.example")
        assert row.override.isVisible()
        assert not dialog.save_button.isEnabled()
        dialog.reject()

    @pytest.mark.usefixtures("each_font")
    async def test_the_example_of_a_url_is_not_cut(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        dialog.reveal("base_url")
        await settle()
        field = dialog.form["base_url"]
        option = QStyleOptionFrame()
        field.initStyleOption(option)
        room = field.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, field)
        assert field.fontMetrics().horizontalAdvance(field.placeholderText()) <= room.width() - 4
        dialog.reject()

    async def test_the_link_to_about_begins_where_the_sections_do(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        await settle()
        picture = dialog.about_button.grab().toImage()
        ground = picture.pixel(picture.width() - 1, 1)
        rows = range(picture.height())
        blank = next(x for x in range(picture.width()) if any(picture.pixel(x, y) != ground for y in rows))
        assert blank <= 2
        assert dialog.about_button.x() == dialog.sections.x()
        dialog.about_button.setFocus(Qt.FocusReason.TabFocusReason)
        assert dialog.about_button.grab().toImage() != picture, "the focus is seen"
        dialog.reject()

    async def test_enter_in_a_field_saves_and_leaves_the_keyboard_there(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        await activate(dialog)
        dialog.form["port"].setFocus()
        dialog.form["port"].set_value(9000)
        QTest.keyClick(dialog.form["port"], Qt.Key.Key_Return)
        await until(lambda: desk.settings.port == 9000 and dialog.is_idle())
        assert dialog.focusWidget() is dialog.form["port"]
        dialog.reject()

    async def test_tab_goes_through_the_fields_as_they_are_read(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        dialog.reveal("storage_limit")
        await settle()
        first = dialog.sections
        visited: list[QWidget] = [first]
        first.setFocus()
        while dialog.focusWidget() is not first or len(visited) == 1:
            QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
            visited.append(dialog.focusWidget())
            assert len(visited) < 40
        fields = [one for one in visited if dialog.storage.isAncestorOf(one)]
        assert {dialog.form["storage_limit"], dialog.form["when_full"], dialog.storage.run_button} < set(fields)
        places = [one.mapTo(dialog, one.rect().center()) for one in fields]
        assert places == sorted(places, key=lambda at: (at.y() // 8, at.x()))
        dialog.reject()

    async def test_page_down_in_a_number_scrolls_and_changes_nothing(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        dialog.reveal("port")
        dialog.resize(816, 400)
        await settle()
        bar, port = dialog.findChildren(FormScroll)[0].verticalScrollBar(), dialog.form["port"]
        port.setFocus()
        before = bar.value()
        QTest.keyClick(port, Qt.Key.Key_PageDown)
        assert port.value() == desk.settings.port
        assert bar.value() > before
        QTest.keyClick(port, Qt.Key.Key_PageUp)
        assert (port.value(), bar.value()) == (desk.settings.port, before)
        dialog.reject()

    async def test_a_port_in_use_lands_beside_its_field(self, window: QWidget, desk: Desk) -> None:

        async def refuse(*_: object) -> None:
            raise PortInUseError("127.0.0.1", 9000, "node (pid 42)")

        desk.services = desk.with_services(change_settings=refuse)
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        row = dialog.form.rows["port"]
        await until(row.error)
        await until(row.isVisible)
        assert row.error() == "Port 9000 is already in use by node (pid 42). Choose another port."
        assert dialog.form["port"].value() == 9000
        assert desk.settings.port == 8787
        dialog.form["port"].set_value(9001)
        assert row.error() == ""
        assert dialog.save_button.isEnabled()
        dialog.reject()

    async def test_a_port_that_was_in_use_can_be_tried_again(self, window: QWidget, desk: Desk) -> None:
        refusals = [PortInUseError("127.0.0.1", 9000, "node (pid 42)")]

        async def change(changes: Mapping[str, Any]) -> None:
            if refusals:
                raise refusals.pop()
            await desk.change_settings(changes)

        desk.services = desk.with_services(change_settings=change)
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        await until(dialog.form.rows["port"].error)
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000)
        assert dialog.form.rows["port"].error() == ""
        dialog.reject()

    async def test_a_port_refused_on_one_address_may_be_free_on_another(self, window: QWidget, desk: Desk) -> None:

        async def refuse(*_: object) -> None:
            raise PortInUseError("127.0.0.2", 8787, "")

        desk.services = desk.with_services(change_settings=refuse)
        dialog = open_settings(desk, window)
        dialog.form["host"].setText("127.0.0.2")
        dialog.save_button.click()
        await until(dialog.form.rows["port"].error)
        dialog.form["host"].setText("127.0.0.3")
        assert dialog.form.rows["port"].error() == ""
        assert dialog.save_button.isEnabled()
        dialog.reject()

    async def test_what_the_store_refuses_is_said_at_its_row_or_below_and_can_be_tried_again(
        self, window: QWidget, desk: Desk
    ) -> None:
        refusals: list[HooklineError] = [StorageUnavailableError("The disk is full."), PlanLimitError("Too many.")]

        async def change(changes: Mapping[str, Any]) -> None:
            if refusals:
                raise refusals.pop(0)
            await desk.change_settings(changes)

        desk.services = desk.with_services(change_settings=change)
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        await until(lambda: dialog.status.text() == "The disk is full.")
        assert dialog.save_button.accessibleDescription() == "The disk is full."
        dialog.save_button.click()
        await until(lambda: dialog.form.rows["plan"].error() == "Too many.")
        await until(dialog.form.rows["plan"].isVisible)
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000)
        assert dialog.form.rows["plan"].error() == ""
        dialog.reject()

    async def test_what_breaks_a_rule_is_said_while_typing(self, window: QWidget, desk: Desk) -> None:
        dialog = open_settings(desk, window)
        dialog.form["base_url"].setText("ftp://x")
        assert "http" in dialog.form.rows["base_url"].error()
        assert not dialog.save_button.isEnabled()
        dialog.reject()

    async def test_a_limit_in_bytes_is_not_rounded_by_saving_something_else(self, window: QWidget, desk: Desk) -> None:
        desk.settings = Settings(body_limit=3 * MIB + 12345)
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000)
        assert desk.settings.body_limit == 3 * MIB + 12345
        dialog.reject()

    async def test_a_size_is_typed_with_its_unit(self, window: QWidget, desk: Desk) -> None:
        desk.settings = Settings(disk_reserve=300 * MIB + 5)
        dialog = open_settings(desk, window)
        dialog.form["port"].set_value(9000)
        dialog.save_button.click()
        await until(lambda: desk.settings.port == 9000)
        assert desk.settings.disk_reserve == 300 * MIB + 5
        for key, shown, typed, size in (
            ("disk_reserve", "314572805 B", "1.5 GiB", 1536 * MIB),
            ("response_limit", "1 GiB", "512mib", 512 * MIB),
            ("storage_limit", "20 GiB", "30 MB", 30_000_000),
            ("body_limit", "100 MiB", "3 KiB", 3 * KIB),
        ):
            assert dialog.form[key].text() == shown
            dialog.form[key].setText(typed)
            dialog.save_button.click()
            await until(lambda key=key, size=size: getattr(desk.settings, key) == size and dialog.is_idle())
        dialog.reject()

    async def test_the_limit_of_responses_is_saved_and_what_they_take_is_shown(
        self, window: QWidget, desk: Desk
    ) -> None:
        endpoint = await desk.endpoint(forward_url=deliveries.URL)
        (queued,) = await deliveries.queued(desk.store, endpoint)
        await deliveries.deliver(desk.store, queued, bytes(300 * KIB))
        dialog = open_settings(desk, window)
        row = dialog.form.rows["response_limit"]
        assert row.help_text().endswith(" 300 KiB used.")
        assert dialog.form["response_limit"].value() == 1024 * MIB
        dialog.form["response_limit"].set_value(16 * MIB)
        dialog.save_button.click()
        await until(lambda: desk.settings.response_limit == 16 * MIB)
        dialog.reject()

    async def test_the_plan_changes_when_saved(self, window: QWidget, tmp_path: Path) -> None:
        async with open_desk(tmp_path, endpoints=1) as desk:
            dialog = open_settings(desk, window)
            plan = dialog.form.rows["plan"]
            assert plan.help_text() == "1 endpoint in use."
            dialog.form["plan"].setCurrentIndex(1)
            await settle()
            assert desk.store.account.plan is Plan.FREE
            dialog.form["port"].set_value(9000)
            dialog.save_button.click()
            await until(dialog.status.text)
            assert desk.store.account.plan is Plan.PRO
            assert dialog.status.text() == "Saved. Capture port: 9000. Plan: Pro."
            assert plan.help_text() == "1 endpoint in use."
            assert not dialog.save_button.isEnabled()
            dialog.form["port"].set_value(9001)
            assert dialog.status.text() == ""
            dialog.done(0)

    async def test_the_plan_says_why_it_cannot_change(self, window: QWidget, tmp_path: Path) -> None:
        async with open_desk(tmp_path, plan=Plan.PRO, endpoints=11) as desk:
            dialog = open_settings(desk, window)
            plan = dialog.form.rows["plan"]
            dialog.form["plan"].setCurrentIndex(0)
            assert plan.error() == plan_refusal(Plan.FREE, 11)
            assert not dialog.save_button.isEnabled()
            dialog.submit()
            await settle()
            assert desk.store.account.plan is Plan.PRO
            dialog.form["plan"].setCurrentIndex(1)
            assert plan.error() == ""
            await desk.store.endpoints.delete(desk.store.endpoints.all()[0].id)
            dialog.form["plan"].setCurrentIndex(0)
            assert dialog.save_button.isEnabled()
            dialog.save_button.click()
            await until(lambda: desk.store.account.plan is Plan.FREE)
            dialog.done(0)

    async def test_an_endpoint_made_while_saving_refuses_the_plan(self, window: QWidget, tmp_path: Path) -> None:
        async with open_desk(tmp_path, plan=Plan.PRO, endpoints=10) as desk:
            dialog = open_settings(desk, window)
            plan = dialog.form.rows["plan"]
            dialog.form["plan"].setCurrentIndex(0)
            await desk.endpoint()
            dialog.submit()
            await until(plan.error)
            assert "Delete 1 first" in plan.error()
            assert desk.store.account.plan is Plan.PRO
            dialog.done(0)

    def test_what_was_saved_is_told(self) -> None:
        url_and_limit = {"storage_limit", "base_url"}
        told = changes_text(SavedSettings(base_url="https://x.example", storage_limit=None), url_and_limit)
        assert told == "Saved. Public base URL: https://x.example. Storage limit: no limit."
        assert changes_text(SavedSettings(), url_and_limit) == "Saved. Public base URL: none. Storage limit: 20 GiB."
        other = SavedSettings(when_full="stop_capturing", body_limit=5 * MIB)
        bodies = {"when_full", "body_limit"}
        assert changes_text(other, bodies) == ("Saved. Largest body: 5 MiB. When storage is full: Stop capturing.")
        told = changes_text(SavedSettings(theme="dark", on_close="tray"), {"theme", "on_close"})
        assert told == "Saved. Theme: Dark. When the window is closed: Keep running in the tray."
        assert changes_text(other, url_and_limit | bodies | {"plan"}) == (
            "Saved 5 settings: Public base URL, Largest body, Storage limit, When storage is full, Plan."
        )

    async def test_retention_runs_when_asked(self, window: QWidget, tmp_path: Path, desk: Desk) -> None:
        endpoint = await desk.endpoint(retention_days=1)
        await desk.capture(endpoint, received_at=now_us() - 3 * DAY_US)
        await desk.capture(endpoint)
        storage = (dialog := open_settings(desk, window)).storage
        await until(lambda: "1 request" in storage.size_row.help_text())
        assert "on disk" in storage.size_row.title.text()
        (counted,) = [one.text() for one in dialog.findChildren(QLabel) if one.text().startswith("Stored: ")]
        assert "On disk: " in counted
        storage.run_button.setFocus()
        storage.run_button.click()
        assert not storage.run_button.isEnabled()
        assert dialog.focusWidget() is None
        await until(lambda: desk.store.captures.counts(endpoint.id).total == 1)
        await until(storage.run_button.isEnabled)
        assert storage.folder.path.text() == str(tmp_path)
        dialog.reject()

    async def test_why_retention_did_not_run_stands_at_the_row(
        self, window: QWidget, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse() -> PurgeReport:
            raise StorageUnavailableError("The disk is full.")

        storage = open_settings(desk, window).storage
        with monkeypatch.context() as refused:
            refused.setattr(desk.store.retention, "purge", refuse)
            storage.run_button.click()
            await until(storage.size_row.error, 5)
        assert storage.size_row.error() == "The disk is full."
        assert not desk.messages.waiting()
        assert storage.run_button.isEnabled()
        storage.run_button.click()
        assert storage.size_row.error() == ""
        await until(storage.run_button.isEnabled)

    def test_storage_is_told_in_words(self) -> None:
        now = now_us()
        text = storage_text(
            StorageSize(file_bytes=1, free_bytes=2_500_000, expired=40), None, now + 60_000_000 * 5, now
        )
        assert text == "The next cleanup deletes 40 requests and gives back 2.4 MiB. Next cleanup in 5 min."
        report = PurgeReport(at=now, deleted={1: 2, 2: 3}, freed_bytes=4096)
        text = storage_text(StorageSize(file_bytes=1, free_bytes=0, expired=0), report, None, now)
        assert text == "Nothing to clean up. The last one deleted 5 requests and freed 4.0 KiB."

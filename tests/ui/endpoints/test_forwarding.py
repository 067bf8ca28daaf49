"""Pausing, resuming and editing an endpoint's targets from its page and from its form."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.core.clock import DAY_US, now_us
from app.core.model import DeliveryState, Endpoint, ResponseSettings
from app.core.target import PausedBy, TargetDraft
from app.ui.endpoints import queued_counts
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.queued_counts import QueuedCounts
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.requests.page.header import facts_of
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk
from tests.ui.waiting import notice, settle, until

A, B, C = "http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "http://127.0.0.1:1/c"


async def endpoint_with(desk: Desk, *urls: str) -> Endpoint:
    endpoint = await desk.endpoint(name="Stripe")
    for url in urls:
        await desk.store.targets.create(endpoint.id, TargetDraft(url=url))
    return current(desk, endpoint)


def current(desk: Desk, endpoint: Endpoint) -> Endpoint:
    found = desk.store.endpoints.by_id(endpoint.id)
    assert found is not None
    return found


async def pause_by_failures(desk: Desk, endpoint: Endpoint) -> None:
    """So many deliveries to its first target fail in a row."""
    target = endpoint.targets[0]
    for _ in range(target.pause_after):
        await desk.capture(endpoint)
    for one in await desk.store.deliveries.queued(target.id, target.pause_after):
        await desk.store.deliveries.begin([one.delivery.id])
        failed = replace(one.delivery, state=DeliveryState.FAILED, attempts=1, error="Connection refused.")
        await desk.store.deliveries.finish(failed, [])
    assert current(desk, endpoint).targets[0].paused is PausedBy.FAILURES


async def test_what_expires_waits_no_longer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queued_counts, "COUNT_MS", 10)
    endpoint = await endpoint_with(desk, A)
    for received_at in (now_us() - 100 * DAY_US, now_us()):
        await desk.capture(endpoint, received_at=received_at)
    counts = QueuedCounts(desk.services, desk.tasks, desk.messages)
    counts.watch(endpoint.targets)
    await until(lambda: counts.of(endpoint.targets) == 2)
    await desk.store.retention.purge()
    await until(lambda: counts.of(endpoint.targets) == 1)
    counts.stop()


class TestPage:
    @pytest.mark.slow
    async def test_a_target_paused_by_failures_is_resumed_with_one_click(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await endpoint_with(desk, A)
        window.show_endpoint(endpoint.id)
        notice = window.requests.header.paused_notice
        assert not notice.isVisible()
        await pause_by_failures(desk, endpoint)
        for _ in range(3):
            await desk.capture(endpoint)
        await until(notice.isVisible)
        text = f"Forwarding to {A} is paused after 10 failed deliveries in a row. 3 deliveries are waiting."
        await until(lambda: notice.accessibleName() == text)
        assert notice.text.text().replace("\u200b", "") == text
        await desk.capture(endpoint)
        await until(lambda: "4 deliveries are waiting" in notice.accessibleName())
        notice.resume.click()
        await until(lambda: current(desk, endpoint).targets[0].paused is None)
        await until(lambda: not notice.isVisible())

    async def test_it_belongs_to_the_endpoint_that_is_shown(self, desk: Desk, window: MainWindow) -> None:
        endpoint, other = await endpoint_with(desk, A), await endpoint_with(desk, B)
        await pause_by_failures(desk, endpoint)
        notice = window.requests.header.paused_notice
        for shown_id, visible in ((endpoint.id, True), (other.id, False), (None, False), (endpoint.id, True)):
            window.requests.show_endpoint(shown_id)
            window.pages.setCurrentWidget(window.requests)
            await settle()
            assert notice.isVisible() is visible

    async def test_commands_pause_and_resume_all_and_say_why_not(self, desk: Desk, window: MainWindow) -> None:
        none, endpoint = await endpoint_with(desk), await endpoint_with(desk, A, B)
        off = current(desk, endpoint).targets[1]
        await desk.store.targets.update(off.id, TargetDraft(url=B, active=False))
        commands = window.requests.endpoint_commands
        pause, resume = commands.pause_forwarding, commands.resume_forwarding
        window.show_endpoint(none.id)
        assert (pause.reason, resume.reason) == ("The endpoint has no targets.",) * 2
        assert (pause.isVisible(), resume.isVisible()) == (True, False)
        window.show_endpoint(endpoint.id)
        assert (pause.reason, resume.reason) == ("", "Forwarding is not paused.")
        pause.run()
        await until(lambda: current(desk, endpoint).targets[0].paused is PausedBy.USER)
        await until(lambda: pause.reason == "Forwarding is already paused.")
        assert (pause.isVisible(), resume.isVisible()) == (False, True)
        assert current(desk, endpoint).targets[1].paused is None
        resume.run()
        await until(lambda: current(desk, endpoint).targets[0].paused is None)
        target = current(desk, endpoint).targets[0]
        await desk.store.targets.update(target.id, TargetDraft(url=A, active=False))
        await until(lambda: pause.reason == "All targets are switched off.")

    @pytest.mark.slow
    @pytest.mark.qt_log_ignore("does not support raise", extend=True)  # without a display none can
    async def test_the_key_and_the_palette_open_the_dialog(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await endpoint_with(desk, A)
        window.show_endpoint(endpoint.id)
        window.requests.take_focus()
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
        window.requests.endpoint_commands.targets.run()
        (dialog,) = window.findChildren(TargetsDialog)
        dialog.reject()
        await until(lambda: not window.findChildren(TargetsDialog))
        window.requests.endpoint_commands.targets.run()
        (dialog,) = window.findChildren(TargetsDialog)
        dialog.reject()

    async def test_saving_says_so(self, desk: Desk, window: MainWindow) -> None:
        window.endpoint_actions.edit_targets(await endpoint_with(desk, A))
        (dialog,) = window.findChildren(TargetsDialog)
        dialog.column.duplicate.click()
        dialog.save_button.click()
        await until(lambda: notice(window) == "Saved the targets of “Stripe”.")

    async def test_more_targets_are_counted_where_the_first_is_named(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await endpoint_with(desk, A, B, C)
        assert facts_of(endpoint) == ("Kept 7 days · forwards to", f"{A} and 2 more targets")
        row = window.dashboard.rows.row(endpoint.id)
        assert row is not None
        await until(lambda: row.contents.endpoint.targets == endpoint.targets)
        assert row.tooltip_at(row._columns().target.center()).startswith(f"{A}\n{B}\n{C}\n")
        assert not row.grab().isNull()


class TestForm:
    @pytest.mark.slow
    async def test_the_first_target_follows_what_the_dialog_saved(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await endpoint_with(desk, A, B)
        window.endpoint_actions.edit(endpoint)
        (dialog,) = window.findChildren(EndpointDialog)
        form = dialog.form
        assert "first of 2 targets" in form.fields["forward_url"].help_text()
        form["description"].setPlainText("Kept")
        QTest.keyClicks(form["forward_url"], "x")
        assert not form.targets.isEnabled()
        assert form.targets.toolTip() == "Save the forward URL and its timeout first."
        form["forward_url"].selectAll()
        QTest.keyClick(form["forward_url"], Qt.Key.Key_Delete)
        help_text = form.fields["forward_url"].help_text()
        assert help_text == "Saving removes this target; the others stay."
        QTest.keyClicks(form["forward_url"], A)
        form.show_more(True)
        form.targets.click()
        (targets,) = dialog.findChildren(TargetsDialog)
        targets.column.down.click()
        targets.save_button.click()
        await until(lambda: form["forward_url"].text() == B)
        dialog.submit()
        await until(lambda: current(desk, endpoint).description == "Kept")
        assert [target.url for target in current(desk, endpoint).targets] == [B, A]

    async def test_a_new_endpoint_has_no_targets_to_edit_yet(self, window: MainWindow) -> None:
        window.endpoint_actions.create()
        (dialog,) = window.findChildren(EndpointDialog)
        dialog.form.show_more(True)
        assert not dialog.form.targets.isVisible()
        dialog.done(0)

    async def test_the_targets_response_is_chosen_with_the_time_to_wait(self, desk: Desk, window: MainWindow) -> None:
        endpoint = await endpoint_with(desk, A)
        window.endpoint_actions.edit(endpoint)
        (dialog,) = window.findChildren(EndpointDialog)
        dialog.form.show_more(True)
        wait = dialog.form["response.wait_ms"]
        assert not wait.isVisible()
        dialog.form["response.from_target"].click()
        assert wait.isVisible()
        wait.set_value(5)
        assert dialog.form.fields["response.wait_ms"].error() == "Wait must be 100 ms to 30 s, not 5 ms."
        wait.set_value(5_000)
        dialog.submit()
        await until(lambda: current(desk, endpoint).response.from_target)
        assert current(desk, endpoint).response == ResponseSettings(from_target=True, wait_ms=5_000)

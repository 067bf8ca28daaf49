"""The window says that nothing is deleted by age while the clock may be wrong, and one click resumes it."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.core.clock import DAY_US, now_us
from app.core.errors import StorageUnavailableError
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from tests.db.helpers import last_seen
from tests.ui.desk import Desk, shown
from tests.ui.waiting import until


async def waiting(desk: Desk) -> int:
    """Let the store meet a clock 45 days ahead; the id of an endpoint with a request past its days."""
    endpoint = await desk.endpoint()
    await desk.capture(endpoint, received_at=now_us() - 45 * DAY_US)
    last_seen(desk.folder, now_us() - 45 * DAY_US)
    desk.store.retention.start()
    await until(lambda: desk.store.retention.problem is not None)
    return endpoint.id


async def test_the_banner_resumes_with_one_click(qtbot: QtBot, desk: Desk, window: MainWindow) -> None:
    endpoint_id = await waiting(desk)
    await until(lambda: window.error_bar.message() is not None)
    message = window.error_bar.message()
    assert message is not None
    assert message.text == "The clock is 45 days ahead of the last time Hookline ran."
    assert "resume deleting: 1 request is past its retention." in message.advice
    assert message.tone == "warning"
    (button,) = [one for one in window.error_bar.findChildren(QPushButton) if one.text() == "Resume deleting"]
    assert desk.store.captures.counts(endpoint_id).total == 1
    button.click()
    await until(lambda: desk.store.captures.counts(endpoint_id).total == 0)
    assert window.error_bar.message() is None


async def test_where_resuming_fails_the_banner_is_there_to_try_again(
    monkeypatch: pytest.MonkeyPatch, desk: Desk, window: MainWindow
) -> None:
    await waiting(desk)
    await until(lambda: window.error_bar.message() is not None)
    failing = AsyncMock(side_effect=StorageUnavailableError("The disk is full."))
    monkeypatch.setattr(desk.store.retention, "resume", failing)
    (button,) = [one for one in window.error_bar.findChildren(QPushButton) if one.text() == "Resume deleting"]
    button.click()
    await until(lambda: "The disk is full." in [one.text for one in desk.messages.waiting()])
    assert desk.messages.has("retention")


async def test_a_window_that_opens_later_says_so_too(qtbot: QtBot, tmp_path: Path) -> None:
    async with shown(tmp_path) as (desk, _):
        await waiting(desk)
        second = desk.window()
        assert [message.key for message in desk.messages.waiting()] == ["retention"]
        second.close()
        second.stop()
        second.deleteLater()


async def test_settings_say_why_it_waits_and_resume(qtbot: QtBot, desk: Desk, window: MainWindow) -> None:
    endpoint_id = await waiting(desk)
    dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    row, button = dialog.storage.size_row, dialog.storage.run_button
    await until(lambda: button.text() == "Resume deleting")
    assert row.help_text().startswith("The clock is 45 days ahead of the last time Hookline ran.")
    assert "next run" not in row.help_text()
    button.click()
    await until(lambda: desk.store.captures.counts(endpoint_id).total == 0)
    await until(lambda: button.text() == "Clean up now")
    assert desk.messages.waiting() == ()
    dialog.reject()


async def test_run_now_does_not_trust_a_clock_that_nobody_was_asked_about(
    qtbot: QtBot, desk: Desk, window: MainWindow
) -> None:
    dialog = SettingsDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    await until(lambda: "on disk" in dialog.storage.size_row.title.text())
    endpoint_id = await waiting(desk)
    assert dialog.storage.run_button.text() == "Clean up now"
    dialog.storage.run_button.click()
    await until(lambda: dialog.storage.run_button.text() == "Resume deleting")
    assert desk.store.captures.counts(endpoint_id).total == 1
    dialog.reject()


async def test_the_form_promises_no_deletion_while_it_waits(qtbot: QtBot, desk: Desk, window: MainWindow) -> None:
    await waiting(desk)
    dialog = EndpointDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    texts = dialog.form.fields["retention_days"].findChildren(type(dialog.problem))
    assert any("deleted once the clock is trusted" in text.text() for text in texts if text.isVisible())
    dialog.reject()

"""Backing up and restoring in the settings: progress, results, errors, and a question before anything is replaced."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.core.backup import BackupContents, BackupStep
from app.core.clock import parse_rfc3339
from app.db.sqlite.restore import STAGED_NAME
from app.ui.settings import storage as module
from app.ui.settings.storage import BackupRows, question_text
from app.ui.widgets.dialog import Question
from tests.ui.desk import Desk, open_desk
from tests.ui.opened_urls import opened_urls
from tests.ui.waiting import settle, until


@pytest.fixture
def window(qapp: QApplication, qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.resize(700, 500)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path | None]:
    """What the user chooses in the next file dialogs, in order."""
    paths: list[Path | None] = []

    async def choose(over: QWidget) -> Path | None:
        return paths.pop(0)

    monkeypatch.setattr(module, "choose_target", choose)
    monkeypatch.setattr(module, "choose_backup", choose)
    return paths


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def rows_of(desk: Desk, window: QWidget) -> BackupRows:
    rows = BackupRows(desk.services, desk.store.backups, desk.theme, desk.tasks, window)
    rows.show()
    return rows


def question(rows: BackupRows) -> Question | None:
    return next((one for one in rows.window().findChildren(Question) if one.isVisible()), None)


class Slow:
    """Holds a report until it is let go, so that a test sees what is shown meanwhile."""

    def __init__(self, owner: Any) -> None:
        self._report = owner._report
        self.held = True
        owner._report = self

    def __call__(self, step: BackupStep, done: int, total: int) -> None:
        self._report(step, done, total)
        end = time.monotonic() + 20
        while self.held and time.monotonic() < end:
            time.sleep(0.002)
        self._report(step, done, total)


async def test_a_backup_is_written_and_can_be_shown(window: QWidget, data: Path, chosen: list[Path | None]) -> None:
    async with open_desk(data, endpoints=1) as desk:
        rows, file = rows_of(desk, window), data.parent / "a.db"
        file.write_text("the user agreed to replace it")
        chosen.append(file)
        slow = Slow(desk.store.backups)
        rows.back_up.setFocus()
        rows.back_up.click()
        await until(rows.backup_progress.isVisible)
        assert window.focusWidget() is None, "no key presses another button meanwhile"
        await until(lambda: "Copying: " in rows.backup_progress.text.text())
        assert rows.backup_progress.bar.maximum() > 0, "it says how far it is"
        assert not rows.back_up.isEnabled()
        again = rows_of(desk, window)
        assert again.backup_progress.isVisible(), "the settings were closed and opened meanwhile"
        slow.held = False
        await until(rows.result.isVisible)
        assert rows.result.text().startswith(f"Backed up to {file} (")
        assert rows.show_button.isVisible()
        assert not rows.backup_progress.isVisible()
        assert rows.back_up.isEnabled()
        assert window.focusWidget() is rows.back_up
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT count(*) FROM endpoint").fetchone() == (1,)


@pytest.mark.qt_log_ignore("does not support QPlatformServices", extend=True)
async def test_the_folder_of_a_backup_is_opened_or_why_it_is_not_stands_at_the_row(
    window: QWidget, data: Path, chosen: list[Path | None]
) -> None:
    async with open_desk(data) as desk:
        rows = rows_of(desk, window)
        chosen.append(data.parent / "a.db")
        rows.back_up.click()
        await until(rows.show_button.isVisible)
        rows.show_button.click()
        assert "No program found to open folders" in rows.backup_row.error()
        assert rows.result.isVisible(), "where it is"
        with opened_urls("file") as opened:
            rows.show_button.click()
        assert opened == [str(data.parent)]
        assert rows.backup_row.error() == ""


async def test_a_backup_can_be_cancelled(window: QWidget, data: Path, chosen: list[Path | None]) -> None:
    async with open_desk(data) as desk:
        rows, file = rows_of(desk, window), data.parent / "a.db"
        chosen.append(file)
        slow = Slow(desk.store.backups)
        rows.back_up.click()
        await until(rows.backup_progress.isVisible)
        rows.backup_progress.cancel.click()
        await until(desk.store.backups._cancelling.is_set)
        slow.held = False
        await until(lambda: not rows.backup_progress.isVisible())
        assert not rows.result.isVisible()
        assert rows.backup_row.error() == ""
        assert not file.exists()


async def test_why_there_is_no_backup_stands_at_the_row(window: QWidget, data: Path, chosen: list[Path | None]) -> None:
    async with open_desk(data) as desk:
        rows = rows_of(desk, window)
        chosen.extend([data.parent / "missing" / "a.db", None])
        rows.back_up.click()
        await until(lambda: "There is no folder" in rows.backup_row.error())
        rows.back_up.click()  # and the dialog is cancelled
        await until(lambda: not chosen)
        await settle()
        assert not rows.backup_progress.isVisible()


async def make_backup(desk: Desk, file: Path) -> None:
    await desk.store.backups.start(file)
    await desk.store.backups.wait()


async def test_a_backup_is_restored_after_a_question_by_a_restart(
    window: QWidget, data: Path, chosen: list[Path | None]
) -> None:
    async with open_desk(data, endpoints=1) as desk:
        rows, file = rows_of(desk, window), data.parent / "a.db"
        await make_backup(desk, file)
        chosen.append(file)
        rows.restore.click()
        await until(lambda: question(rows))
        asked = question(rows)
        assert asked is not None
        assert "a.db holds 1 endpoint and 0 requests" in asked.text.text()
        assert "is kept in the data folder" in asked.text.text()
        assert (data / STAGED_NAME).exists()
        assert not rows.restore_progress.isVisible()
        asked.confirm.click()
        await until(lambda: desk.restarts == 1)
        assert (data / STAGED_NAME).exists()


async def test_without_agreement_nothing_is_staged(window: QWidget, data: Path, chosen: list[Path | None]) -> None:
    async with open_desk(data, endpoints=1) as desk:
        rows, file = rows_of(desk, window), data.parent / "a.db"
        await make_backup(desk, file)
        chosen.append(file)
        rows.restore.click()
        await until(lambda: question(rows))
        asked = question(rows)
        assert asked is not None
        asked.cancel.click()
        await until(lambda: not (data / STAGED_NAME).exists())
        assert desk.restarts == 0


async def test_a_check_can_be_cancelled(window: QWidget, data: Path, chosen: list[Path | None]) -> None:
    async with open_desk(data, endpoints=1) as desk:
        rows, file = rows_of(desk, window), data.parent / "a.db"
        await make_backup(desk, file)
        chosen.append(file)
        slow = Slow(desk.services.restores)
        rows.restore.click()
        await until(rows.restore_progress.isVisible)
        assert not rows.restore.isEnabled()
        rows.restore_progress.cancel.click()
        slow.held = False
        await until(lambda: not rows.restore_progress.isVisible())
        assert question(rows) is None
        assert rows.restore.isEnabled()
        assert not (data / STAGED_NAME).exists()


async def test_a_file_that_is_no_backup_is_told_at_the_row(
    window: QWidget, data: Path, chosen: list[Path | None]
) -> None:
    async with open_desk(data) as desk:
        rows = rows_of(desk, window)
        (data.parent / "text.db").write_text("Dear diary, " * 100)
        chosen.append(data.parent / "text.db")
        rows.restore.setFocus()
        rows.restore.click()
        await until(lambda: "not a database of Hookline" in rows.restore_row.error())
        await until(rows.restore.isEnabled)
        assert window.focusWidget() is rows.restore, "another backup can be chosen"
        assert question(rows) is None


def test_the_question_says_what_the_start_will_do() -> None:
    contents = BackupContents(
        size=2048,
        endpoints=2,
        requests=3,
        newest_at=parse_rfc3339("2026-11-20T09:00:00Z"),
        expired=2,
        queued=1,
    )
    text = question_text(Path("/mnt/a.db"), contents, tunnel_stops=False)
    assert text.startswith("a.db holds 2 endpoints and 3 requests, the newest from ")
    assert "2 requests past retention are deleted and 1 queued delivery is sent." in text
    assert "tunnel" not in text
    assert "The tunnel stops." in question_text(Path("/mnt/a.db"), contents, tunnel_stops=True)

"""After a restore the window says where the previous database is, and shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.gui import post_restored
from app.ui.messages import Messages
from tests.ui.opened_urls import opened_urls


@pytest.mark.qt_log_ignore("does not support QPlatformServices", extend=True)
def test_the_folder_of_the_previous_database_is_shown(qapp: QApplication, tmp_path: Path) -> None:
    messages, replaced = Messages(qapp), tmp_path / "hookline.db.before-restore"
    advice = f"The previous database is kept as {replaced.name} in {tmp_path}."
    post_restored(messages, replaced)
    (message,) = messages.waiting()
    assert (message.text, message.advice) == ("The backup was restored.", advice)
    (action,) = message.actions
    assert action.label == "Show in folder"
    with opened_urls("file") as opened:
        action.run()
    assert opened == [str(tmp_path)]
    assert len(messages.waiting()) == 1
    action.run()
    failed = messages.waiting()[0]
    assert "No program found" in failed.text
    assert failed.advice == advice

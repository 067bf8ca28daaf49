"""Merging bursts of calls."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.ui.throttle import Throttle


def test_first_at_once_later_merged(qtbot: QtBot) -> None:
    throttle = Throttle(50)
    fired: list[int] = []
    throttle.fired.connect(lambda: fired.append(1))
    for _ in range(100):
        throttle.call()
    assert len(fired) == 1
    qtbot.waitUntil(lambda: len(fired) == 2, timeout=2000)
    qtbot.wait(120)
    assert len(fired) == 2

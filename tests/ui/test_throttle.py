"""Merging bursts of calls, and what is done while a widget is shown."""

from __future__ import annotations

from time import sleep

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.throttle import REST, Throttle, WhileShown


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


def test_what_takes_long_is_done_less_often(qtbot: QtBot) -> None:
    throttle = Throttle(10)
    fired: list[int] = []
    throttle.fired.connect(lambda: fired.append(1))
    with throttle.paced():
        sleep(0.02)
    for _ in range(2):
        throttle.call()
    qtbot.wait(15 * REST)
    assert len(fired) == 1
    qtbot.waitUntil(lambda: len(fired) == 2, timeout=2000)
    with throttle.paced():
        pass
    qtbot.wait(30 * REST)
    for _ in range(2):
        throttle.call()
    qtbot.waitUntil(lambda: len(fired) == 4, timeout=10 * REST)


def test_done_at_once_when_shown_and_not_while_hidden(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    done: list[int] = []
    WhileShown(widget, lambda: done.append(1), 20)
    qtbot.wait(60)
    assert not done
    for _ in range(2):
        done.clear()
        widget.show()
        assert len(done) == 1
        qtbot.waitUntil(lambda: len(done) > 2, timeout=2000)
        widget.hide()
        number = len(done)
        qtbot.wait(60)
        assert len(done) == number

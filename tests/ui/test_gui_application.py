"""Garbage is collected on the GUI thread, at moments of its choice, and not among what stays."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.gui_application import GuiCollector

pytestmark = [pytest.mark.smoke, pytest.mark.slow]


class Knot:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def collector(qapp: QApplication) -> Iterator[GuiCollector]:
    made = GuiCollector(qapp)
    yield made
    made.stop()
    made.deleteLater()


def test_python_collects_no_more_on_its_own(collector: GuiCollector) -> None:
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_is_lost_goes_within_seconds(collector: GuiCollector, qtbot: QtBot) -> None:
    gone = weakref.ref(Knot())
    assert gone() is not None
    qtbot.waitUntil(lambda: gone() is None, timeout=10_000)


def test_what_is_there_at_a_freeze_is_looked_at_no_more(collector: GuiCollector) -> None:
    stays = Knot()
    assert any(one is stays for one in gc.get_objects())
    collector.freeze()
    assert not any(one is stays for one in gc.get_objects())

"""Window and tasks share one thread: neither starves the other, and dialogs leave tasks alone."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from tests.ui.stock_qasync import not_on_stock_qasync
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.smoke


class Pulse(QWidget):
    """Asks to be painted again every 16 ms, and counts how often it was."""

    def __init__(self) -> None:
        super().__init__()
        self.painted = 0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.update)
        self._timer.start(16)

    def paintEvent(self, event: QEvent) -> None:
        self.painted += 1


class Load:
    """Goes on until `seen()`, or for 20 seconds, and counts what it does."""

    def __init__(self, seen: Callable[[], bool]) -> None:
        self.count = 0
        self._seen, self._end = seen, time.monotonic() + 20

    def goes_on(self) -> bool:
        self.count += 1
        return not self._seen() and time.monotonic() < self._end

    async def churn(self) -> None:
        """Callbacks that are always ready, as many as fit."""
        while self.goes_on():  # noqa: ASYNC110 - being ready all the time is the point
            await asyncio.sleep(0)

    async def ping_pong(self) -> None:
        """A pair of sockets that always have something to read."""
        loop = asyncio.get_running_loop()
        left, right = socket.socketpair()
        with left, right:
            left.setblocking(False)
            right.setblocking(False)
            while self.goes_on():
                loop.call_soon(left.send, b"x" * 100)  # later, so that recv has to wait for the selector
                await loop.sock_recv(right, 100)


@pytest.mark.slow
async def test_the_window_paints_while_the_loop_is_loaded(qtbot):
    window = Pulse()
    qtbot.addWidget(window)

    window.show()
    await until(lambda: window.painted > 2)
    window.painted = 0
    loads: list[Load] = []
    loads += [Load(lambda: window.painted > 30 and all(load.count > 20 for load in loads)) for _ in range(40)]
    await asyncio.gather(*(load.churn() for load in loads[:20]), *(load.ping_pong() for load in loads[20:]))
    counts = [load.count for load in loads]
    window.close()
    assert min(counts) > 20  # no load was starved either
    assert window.painted > 30  # one that starves is painted once, at the end


async def test_timers_of_qt_are_not_starved_by_a_queue_that_never_empties():
    class Counter(QObject):
        beats = 0

        def timerEvent(self, event: QEvent) -> None:
            self.beats += 1

    counter = Counter()
    counter.startTimer(10, Qt.TimerType.PreciseTimer)
    await Load(lambda: counter.beats > 10).churn()
    assert counter.beats > 10


async def test_tasks_go_on_while_a_dialog_is_open(qtbot):
    dialog = QDialog()
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    finished = asyncio.get_running_loop().create_future()
    dialog.finished.connect(finished.set_result)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick(), name="tick")
    dialog.open()
    await until(lambda: ticks > 20)
    assert dialog.isVisible()
    dialog.accept()
    result = await asyncio.wait_for(finished, 5)
    ticking.cancel()
    assert result == QDialog.DialogCode.Accepted


class Nested(QObject):
    """A slot that runs a Qt loop of its own, as a menu or a drag does."""

    def __init__(self, dialog: QDialog) -> None:
        super().__init__()
        self._dialog = dialog
        self.result: int | None = None

    @Slot()
    def start(self) -> None:
        self.result = self._dialog.exec()


async def test_tasks_go_on_while_a_slot_runs_a_qt_loop_of_its_own(qtbot):
    dialog = QDialog()
    qtbot.addWidget(dialog)
    nested = Nested(dialog)
    QTimer.singleShot(0, nested.start)
    await until(dialog.isVisible)
    assert await asyncio.to_thread(int) == 0
    dialog.reject()
    await until(lambda: nested.result is not None)
    await settle()
    assert nested.result == QDialog.DialogCode.Rejected


@not_on_stock_qasync("breaks the task that runs Qt's loop")
def test_a_qt_loop_inside_a_coroutine_holds_the_tasks_up_but_breaks_nothing(run, loop, qtbot):
    dialog = QDialog()
    qtbot.addWidget(dialog)
    during: list[bool] = []

    async def main():
        task = asyncio.create_task(asyncio.sleep(0.01, "after"), name="held up")
        QTimer.singleShot(500, dialog.accept)
        loop.call_soon(during.append, True)
        before = time.process_time()
        dialog.exec()
        assert time.process_time() - before < 0.25  # waiting, not spinning
        assert not during
        return await task

    assert run(main()) == "after"
    assert during == [True]


def test_a_thousand_slot_calls_leave_none_alone(run, loop):
    class Source(QObject):
        fired = Signal()

        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.fired.connect(self._on_fired)

        def _on_fired(self) -> None:
            self.calls += 1

        def customEvent(self, event: QEvent) -> None:
            self.calls += 1

    async def main():
        for _ in range(1000):
            source.fired.emit()
            QApplication.postEvent(source, QEvent(QEvent.Type.User))
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        for _ in range(200):
            await asyncio.sleep(0.0001)

    source = Source()
    lost: list[int] = []
    while len(lost) < 3 and (not lost or lost[-1] >= 1000):  # references to None change for other reasons, too
        gc.collect()  # what earlier tests left behind would be freed in between, with its own references to None
        before = sys.getrefcount(None)
        run(main())
        lost.append(before - sys.getrefcount(None))
    assert source.calls == 2000 * len(lost)
    assert min(lost) < 1000, lost  # a PySide that drops one at each call loses 2,000 each time

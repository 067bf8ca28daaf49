"""The event loop of the program with a window: a `qasync.QEventLoop` that runs on asyncio's own parts.

Qt owns the thread while a window is open, so asyncio has to run inside Qt's event loop. Stock qasync rebuilds asyncio
on Qt: a Qt timer for each `call_soon`, a socket notifier for each socket and direction. That costs a third of the
speed, fires timers early (Qt's coarse ones), and keeps each cancelled timer until its old deadline; aiohttp sets one
of an hour for each connection, so a server slows down the longer it runs.

`QtEventLoop` therefore overrides what qasync rebuilds: ready queue, timer heap, selector, signals and child processes
are those of `asyncio.SelectorEventLoop`. Qt only says when to take a turn, for one of three reasons:

* the selector's own file descriptor (epoll or kqueue) is readable: one `QSocketNotifier` for all sockets,
* a callback is ready: a posted event,
* the next deadline has passed: one precise single-shot `QTimer`.

A turn runs the loop without waiting until nothing is left or `TURN_S` is over, then Qt paints and handles input. Under
full load Qt's own timers may have to wait for two turns, which still fits a frame; longer turns are not faster.

Stock qasync runs where the selector cannot itself be selected (Windows), and where the environment variable
HOOKLINE_EVENT_LOOP is `qasync`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import selectors
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QThread, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

log = logging.getLogger(__name__)

CHOICE_VARIABLE, STOCK = "HOOKLINE_EVENT_LOOP", "qasync"
TURN_S = 0.004
LONGEST_TIMER_S = 3600.0

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def _import_qasync() -> Any:
    """qasync obeys QT_API, which may be set for other programs; without it, it takes the Qt that is loaded."""
    qt_api = os.environ.pop("QT_API", None)
    try:
        import qasync  # after the variable is gone
    finally:
        if qt_api is not None:
            os.environ["QT_API"] = qt_api
    return qasync


if TYPE_CHECKING:  # qasync has no type hints; every method used is asyncio's
    from asyncio import SelectorEventLoop as QEventLoop
else:
    QEventLoop = _import_qasync().QEventLoop
Plain = asyncio.SelectorEventLoop


def run(app: QApplication, main: Coroutine[Any, Any, T]) -> T:
    """Run `main` inside Qt's event loop until it ends, then cancel remaining tasks and close async generators and the
    executor.

    Ctrl-C cancels `main` and raises KeyboardInterrupt here once it is done.
    """
    with asyncio.Runner(loop_factory=partial(new_loop, app)) as runner:
        return runner.run(main)


def new_loop(app: QApplication) -> asyncio.AbstractEventLoop:
    """An asyncio event loop, not yet running, that lets `app` live while it runs."""
    stock = os.environ.get(CHOICE_VARIABLE) == STOCK or not hasattr(selectors.DefaultSelector, "fileno")
    if stock:
        app.setQuitOnLastWindowClosed(False)
    loop = QEventLoop(app) if stock else QtEventLoop(app)  # type: ignore[arg-type]  # qasync's takes the application
    log.debug("event loop: %s.%s", type(loop).__module__, type(loop).__qualname__)
    return loop


class QtEventLoop(QEventLoop):
    """A qasync loop on asyncio's own parts, for Linux, BSD and macOS. Belongs to the thread of `app`.

    It ends with its main coroutine, not with the last window, so `quitOnLastWindowClosed` is switched off. A Qt loop
    started inside a callback or coroutine (`dialog.exec()`) stops all tasks until it returns: use `open()`.
    """

    # What is used of asyncio's insides, unchanged from 3.4 to 3.14; typeshed does not list it.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _thread_id: int | None

    if not TYPE_CHECKING:  # what qasync builds on Qt is asyncio's own here; the methods below add what moves it on
        run_forever = Plain.run_forever
        run_until_complete = Plain.run_until_complete
        is_running = Plain.is_running
        call_soon = Plain.call_soon
        call_later = Plain.call_later
        call_soon_threadsafe = Plain.call_soon_threadsafe
        time = Plain.time
        run_in_executor = Plain.run_in_executor
        set_default_executor = Plain.set_default_executor
        default_exception_handler = Plain.default_exception_handler
        set_exception_handler = Plain.set_exception_handler
        call_exception_handler = Plain.call_exception_handler
        get_debug = Plain.get_debug
        set_debug = Plain.set_debug
        _add_reader = Plain._add_reader
        _remove_reader = Plain._remove_reader
        _add_writer = Plain._add_writer
        _remove_writer = Plain._remove_writer
        _add_callback = Plain._add_callback

    def __init__(self, app: QApplication) -> None:
        self._polled = _PollingSelector()
        Plain.__init__(self, self._polled)  # none of qasync's timers, notifiers and signals
        app.setQuitOnLastWindowClosed(False)
        self._app = app
        self._driver = _Driver(self._polled.fileno(), self._take_turn)
        self._waiting = False  # Running, but the thread belongs to Qt: code that needs a turn has to request it.
        self._failure: BaseException | None = None

    def _run_once(self) -> None:
        """One iteration of `run_forever` is all of Qt's event loop; it ends with `stop()`, or with `app.exit()`."""
        if QThread.currentThread().loopLevel():
            raise RuntimeError("Qt's event loop is running already; start this one outside of it")
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(self._csock.fileno())  # type: ignore[attr-defined]  # or Ctrl-C waits for an event
        self._waiting = True
        self._driver.listen(True)
        self._driver.request_turn()
        try:
            self._app.exec()
        finally:
            self._waiting = False
            self._driver.listen(False)
            self._stopping = True
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _take_turn(self) -> None:
        if not self._waiting:  # Between two runs, or in a Qt loop inside a callback: that callback has to end first.
            self._driver.listen(False)
            return
        self._waiting = False
        end = monotonic() + TURN_S
        try:
            while True:
                super()._run_once()  # type: ignore[misc]
                busy = self._ready or self._polled.found
                if self._stopping or not busy or monotonic() >= end:
                    break
        except BaseException as failure:  # KeyboardInterrupt and SystemExit must leave through run_forever, not Qt
            self._failure = failure
            self._stopping = True
        if self._stopping:
            self._app.exit()
            return
        self._waiting = True
        self._driver.listen(True)
        if busy:
            self._driver.request_turn()
        elif self._scheduled:
            self._driver.request_turn_at(self._scheduled[0].when())

    def _call_soon(self, callback: Callable[..., object], args: Any, context: Context | None) -> asyncio.Handle:
        handle: asyncio.Handle = super()._call_soon(callback, args, context)  # type: ignore[misc]
        # Other threads wake the loop through asyncio's self-pipe.
        if self._waiting and threading.get_ident() == self._thread_id:
            self._driver.request_turn()
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = Plain.call_at(self, when, callback, *args, context=context)
        if self._waiting:
            self._driver.request_turn_at(when)
        return timer

    def stop(self) -> None:
        Plain.stop(self)
        if self._waiting:
            self._driver.request_turn()

    def close(self) -> None:
        if not self.is_running() and not self.is_closed():
            self._driver.end()
            if threading.current_thread() is threading.main_thread():
                signal.set_wakeup_fd(-1)
        Plain.close(self)


class _PollingSelector(selectors.DefaultSelector):
    """Never waits, since Qt does; `found` says whether the last poll found anything."""

    found = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        self.found = bool(events)
        return events


class _Driver(QObject):
    """Calls `take_turn` when the selector's descriptor is readable, on request, and when a deadline has passed."""

    _turn = Signal()

    def __init__(self, fd: int, take_turn: Callable[[], None]) -> None:
        super().__init__()
        self._take_turn = take_turn
        self._turn_requested = False
        self._deadline = math.inf
        self._turn.connect(self._on_turn, Qt.ConnectionType.QueuedConnection)
        self._notifier = QSocketNotifier(fd, QSocketNotifier.Type.Read, self)
        self._notifier.setEnabled(False)
        self._notifier.activated.connect(self._on_readable)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_deadline)

    def listen(self, on: bool) -> None:
        """Whether readable sockets are a reason for a turn; an unread descriptor would make Qt's loop spin."""
        self._notifier.setEnabled(on)

    def request_turn(self) -> None:
        """Request a turn as soon as Qt has handled its pending events."""
        if not self._turn_requested:
            self._turn_requested = True
            self._turn.emit()

    def request_turn_at(self, deadline: float) -> None:
        """Request a turn at `deadline` (monotonic seconds) or before; each turn requests the next, so it may fire
        needlessly.
        """
        if deadline < self._deadline:
            self._deadline = deadline
            delay = min(max(0.0, deadline - monotonic()), LONGEST_TIMER_S)
            self._timer.start(math.ceil(delay * 1000))

    def end(self) -> None:
        self.listen(False)
        self._timer.stop()
        self.deleteLater()

    @Slot()
    def _on_turn(self) -> None:
        self._turn_requested = False
        self._take_turn()

    @Slot()
    def _on_readable(self) -> None:
        if not self._turn_requested:
            self._take_turn()

    @Slot()
    def _on_deadline(self) -> None:
        self._deadline = math.inf
        self._take_turn()

"""When something is done: a throttle forwards the first call at once and merges later ones, so that bursts cost less as
they grow; other things are done while a widget is shown, or not while the window is paused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QWidget

TICK_MS = 1_000
"""How often shown times are refreshed: they are given in seconds."""
REST = 20
"""How many times as long as something took is waited before it is done again: others need the database, too."""


class Throttle(QObject):
    """`fired` follows `call` at once when quiet, otherwise once at the end of the interval; `run` is then called."""

    fired = Signal()

    def __init__(
        self,
        interval_ms: int,
        parent: QObject | None = None,
        run: Callable[..., object] | SignalInstance | None = None,
    ) -> None:
        super().__init__(parent)
        if run is not None:
            self.fired.connect(run)
        self._pending = False
        self._interval_ms = self._least_ms = interval_ms
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._due)

    def set_interval(self, interval_ms: int) -> None:
        """Use this interval from the next one on."""
        self._interval_ms = interval_ms

    @contextmanager
    def paced(self) -> Iterator[None]:
        """For what `fired` leads to: the next interval is `REST` times as long, and at least as long as the first."""
        began = perf_counter()
        yield
        self._interval_ms = max(self._least_ms, int((perf_counter() - began) * 1_000 * REST))

    @Slot()
    def call(self) -> None:
        """Request `fired`."""
        if self._timer.isActive():
            self._pending = True
        else:
            self._timer.start(self._interval_ms)
            self.fired.emit()

    @Slot()
    def _due(self) -> None:
        if self._pending:
            self._pending = False
            self._timer.start(self._interval_ms)
            self.fired.emit()


class WhileShown(QTimer):
    """Calls `run` when `widget` is shown, and then each second, or after each interval, until it is hidden."""

    def __init__(self, widget: QWidget, run: Callable[[], object], interval_ms: int | None = None) -> None:
        super().__init__(widget, interval=TICK_MS if interval_ms is None else interval_ms)
        self.timeout.connect(run)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self.start()
            self.timeout.emit()
        elif event.type() == QEvent.Type.Hide:
            self.stop()
        return False


class Pause(QObject):
    """Of the window: while `on`, lists only count new requests and no notifications are shown. Capturing continues."""

    changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.on = False

    @Slot(bool)
    def set(self, on: bool) -> None:
        """Pause or resume."""
        if on != self.on:
            self.on = on
            self.changed.emit(on)

    @Slot()
    def toggle(self) -> None:
        """Pause, or resume if paused."""
        self.set(not self.on)

"""The replays of a window: the bar with the progress, the dialog with all of them, and their commands."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.core.replay.spec import Replay, ReplayState
from app.ui.commands.command import Command, CommandGroup
from app.ui.replay.replay_text import counts_text, speed_text, title_text
from app.ui.replay.replay_tracker import ReplayTracker
from app.ui.replay.replays_dialog import ReplaysDialog
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import FittingLabel, label

NOT_RUNNING = "No replay is running."
_RESUMABLE = (ReplayState.PAUSED, ReplayState.INTERRUPTED)
HEIGHT = 56
_STEPS = 1_000
_PAUSED, _RUNNING = ReplayState.PAUSED, (ReplayState.RUNNING, ReplayState.QUEUED)


class ReplayBar(QFrame):
    """Shown while there is a replay to tell of. `details_requested` carries the ID of the one shown."""

    details_requested = Signal(str)

    def __init__(self, tracker: ReplayTracker, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._tracker = tracker
        self._announced: tuple[str, ReplayState] | None = None
        self.setProperty("part", "undo")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Replay")
        self.title = label("", "strong", self)
        self.facts = FittingLabel("small", self)
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setRange(0, _STEPS)
        self.progress.setAccessibleName("Replay progress")
        self.pause = Button("Pause", theme, self, icon="pause")
        self.cancel = Button("Cancel", theme, self, kind="ghost")
        self.details = Button("Details", theme, self, kind="ghost")
        self.dismiss = IconButton("close", "Dismiss", theme, self)
        self._lay_out()
        self.pause.clicked.connect(self._pause)
        self.cancel.clicked.connect(self._cancel)
        self.details.clicked.connect(self._show_details)
        self.dismiss.clicked.connect(self._dismiss)
        tracker.changed.connect(self._follow)
        self._follow()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(metrics.SPACE_3)
        top.addWidget(self.title)
        top.addWidget(self.facts, 1)
        column = QVBoxLayout()
        column.setSpacing(6)
        column.addStretch(1)
        column.addLayout(top)
        column.addWidget(self.progress)
        column.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 0, metrics.SPACE_3, 0)
        row.setSpacing(metrics.SPACE_2)
        row.addLayout(column, 1)
        row.addSpacing(metrics.SPACE_2)
        for button in (self.details, self.pause, self.cancel, self.dismiss):
            row.addWidget(button)

    @Slot()
    def _follow(self) -> None:
        replay = self._tracker.shown
        self.setVisible(replay is not None)
        if replay is None:
            self._announced = None
            return
        running, ended = replay.state in _RUNNING, replay.ended
        resumable = replay.state in (_PAUSED, ReplayState.INTERRUPTED)
        self.title.setText(title_text(replay))
        self.facts.set_wordings(self._wordings(replay), " · ".join(self._facts(replay)))
        total, done = replay.progress.total, replay.progress.done
        self.progress.setVisible(not ended)
        if total is None and running:
            self.progress.setRange(0, 0)
        else:
            self.progress.setRange(0, _STEPS)
            self.progress.setValue(round(done / total * _STEPS) if total else 0)
        self.pause.setVisible(not ended)
        self.pause.setEnabled(replay.state is not ReplayState.QUEUED)
        self.pause.setText("Resume" if resumable else "Pause")
        self.pause.set_icon_name("play" if resumable else "pause")
        self.cancel.setVisible(running or replay.state is _PAUSED)
        self.details.setText("Summary" if ended else "Details")
        self.dismiss.setVisible(ended or replay.state is ReplayState.INTERRUPTED)
        self._announce(replay)

    def _facts(self, replay: Replay) -> list[str]:
        waiting = f"{self._tracker.waiting} more waiting" if self._tracker.waiting else ""
        counts = counts_text(replay.progress) if replay.state is not ReplayState.QUEUED else ""
        return [part for part in (replay.problem or "", counts, speed_text(replay), waiting) if part]

    def _wordings(self, replay: Replay) -> list[str]:
        """The facts, then fewer of them for a narrow window."""
        facts = self._facts(replay)
        return [" · ".join(facts[:number]) for number in range(len(facts), 0, -1)] or [""]

    def _announce(self, replay: Replay) -> None:
        """Tell screen readers that it started, paused or ended; not each count."""
        if self._announced == (replay.id, replay.state):
            return
        self._announced = replay.id, replay.state
        text = title_text(replay) + (f". {counts_text(replay.progress)}" if replay.ended else "")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    @Slot()
    def _pause(self) -> None:
        if (replay := self._tracker.shown) is not None:
            running = replay.state is ReplayState.RUNNING
            (self._tracker.pause if running else self._tracker.resume)(replay.id)

    @Slot()
    def _cancel(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.cancel(replay.id)

    @Slot()
    def _dismiss(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.dismiss(replay.id)

    @Slot()
    def _show_details(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self.details_requested.emit(replay.id)


class ReplayProgressArea(QObject):
    """`bar` is for the bottom of the window, `commands` for its registry."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._dialog: ReplaysDialog | None = None
        self.tracker = ReplayTracker(services, tasks, self)
        self.bar = ReplayBar(self.tracker, theme, window)
        self.open = Command(
            "Replays",
            theme,
            self,
            run=self.open_dialog,
            icon="replays",
            keys=("Ctrl+Alt+R",),
            group=CommandGroup.GO_TO,
            context=Qt.ShortcutContext.WindowShortcut,
        )
        self.pause = Command(
            "Pause replay", theme, self, run=self.bar.pause.click, icon="pause", unavailable=self._cannot_pause
        )
        self.cancel = Command(
            "Cancel replay", theme, self, run=self.bar.cancel.click, icon="close", unavailable=self._cannot_cancel
        )
        self.commands = (self.open, self.pause, self.cancel)
        self.open.add_to(window)
        self.bar.details_requested.connect(self.open_dialog)
        self.tracker.changed.connect(self._follow)
        self._follow()

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self.tracker.stop()

    @Slot(str)
    def open_dialog(self, replay_id: str = "") -> None:
        """Open the list of replays, once, with this one selected."""
        if self._dialog is None:
            self._dialog = ReplaysDialog(self.tracker, self._services, self._theme, self._tasks, self._window)
            self._dialog.finished.connect(self._closed)
            self._dialog.open()
        if replay_id:
            self._dialog.show_replay(replay_id)

    @Slot()
    def _closed(self) -> None:
        self._dialog = None

    @Slot()
    def _follow(self) -> None:
        shown = self.tracker.shown
        resume = shown is not None and shown.state in _RESUMABLE
        self.pause.show_as("Resume replay" if resume else "Pause replay", "play" if resume else "pause")
        for command in (self.pause, self.cancel):
            command.refresh()

    def _cannot_pause(self) -> str | None:
        shown = self.tracker.shown
        running = shown is not None and (shown.state is ReplayState.RUNNING or shown.state in _RESUMABLE)
        return None if running else NOT_RUNNING

    def _cannot_cancel(self) -> str | None:
        shown = self.tracker.shown
        running = shown is not None and shown.state in (ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.QUEUED)
        return None if running else NOT_RUNNING

"""The replays of a window: the bar with the progress, the dialog with all of them, and their commands."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QWidget

from app.core.replay.spec import ReplayState
from app.ui.commands.command import Command, CommandGroup
from app.ui.replay.replay_bar import ReplayBar
from app.ui.replay.replay_tracker import ReplayTracker
from app.ui.replay.replays_dialog import ReplaysDialog
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme

NOT_RUNNING = "No replay is running."
_RESUMABLE = (ReplayState.PAUSED, ReplayState.INTERRUPTED)


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

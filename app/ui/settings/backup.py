"""Backing the database up and restoring a backup, with progress; a restored one needs a restart."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from PySide6.QtCore import QStandardPaths, QTimer, Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.core.backup import Backup, BackupContents, contents_text, damaged_text, progress_text, start_text
from app.core.errors import HooklineError
from app.core.text import size_text
from app.ui.services import Services
from app.ui.settings.section import SettingsRow
from app.ui.tasks import Tasks, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import RUNNING
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label
from app.ui.widgets.open_folder import open_folder
from app.ui.widgets.question import ask, result_of

BACKUP_TEXT = "Write all endpoints and requests to one file. Hookline keeps capturing."
RESTORE_TEXT = (
    "Replace all endpoints and requests with those in a backup. Hookline restarts, and keeps the old database."
)
FILES = "Hookline backups (*.db);;All files (*)"
FOLLOW_MS = 100
_STEPS = 1_000


class JobProgress(QWidget):
    """What is being done, how far it is, and a button that cancels it."""

    def __init__(self, name: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setRange(0, _STEPS)
        self.bar.setAccessibleName(f"{name} progress")
        self.text = label("", "small", self)
        self.cancel = Button("Cancel", theme, self, kind="ghost")
        self.cancel.setAccessibleName(f"Cancel: {name}")
        words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(self.bar)
        words.addWidget(self.text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_3)
        row.addLayout(words, 1)
        row.addWidget(self.cancel)
        self.hide()

    def show_step(self, step: str, done: int, total: int) -> None:
        """A check tells nothing of how far it is."""
        if step == "checking" or not total:
            self.bar.setRange(0, 0)
        else:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(round(done / total * _STEPS))
        self.text.setText(progress_text(step, done, total))
        self.show()


class BackupRows(QWidget):
    """The rows of the storage settings about backups. A backup goes on when the dialog is closed."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._theme, self._tasks = services, theme, tasks
        self.back_up = Button("Back up…", theme, self)
        self.restore = Button("Restore…", theme, self)
        self.backup_row = SettingsRow("Backup", BACKUP_TEXT, self.back_up, self, width=0)
        self.restore_row = SettingsRow("Restore", RESTORE_TEXT, self.restore, self, width=0)
        self.backup_progress = JobProgress("Backup", theme, self)
        self.restore_progress = JobProgress("Restore", theme, self)
        self.result = label("", "success", self, wrap=True)
        self.show_button = Button("Show in folder", theme, self, kind="link", icon="folder")
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setInterval(FOLLOW_MS)
        self._timer.timeout.connect(self._follow)
        self.back_up.clicked.connect(self._ask_for_target)
        self.restore.clicked.connect(self._ask_for_backup)
        self.backup_progress.cancel.clicked.connect(self._cancel_backup)
        self.restore_progress.cancel.clicked.connect(self._cancel_restore)
        self.show_button.clicked.connect(self._show_in_folder)
        if services.store.backups.latest is not None and services.store.backups.latest.state == "running":
            self._start_following()

    def _lay_out(self) -> None:
        done = QHBoxLayout()
        done.setSpacing(metrics.SPACE_3)
        done.addWidget(self.result, 1)
        done.addWidget(self.show_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_4)
        column.addWidget(self.backup_row)
        column.addWidget(self.backup_progress)
        column.addLayout(done)
        column.addWidget(self.restore_row)
        column.addWidget(self.restore_progress)
        self.result.hide()
        self.show_button.hide()

    # -- backup ---------------------------------------------------------------------------------------------------

    @Slot()
    def _ask_for_target(self) -> None:
        self._tasks.start(self._back_up(), "back up")

    async def _back_up(self) -> None:
        path = await choose_target(self)
        if path is None:
            return
        self._tell(None)
        try:
            # The file dialog has asked before it replaces a file.
            await self._tasks.complete(self._services.store.backups.start(path, overwrite=True), self)
        except HooklineError as error:
            self.backup_row.set_error(str(error))
        else:
            self._start_following()

    def _start_following(self) -> None:
        self._timer.start()
        self._follow()

    @Slot()
    def _follow(self) -> None:
        backup = self._services.store.backups.latest
        if backup is not None and backup.state == "running":
            self.back_up.set_refusal("A backup is being written.")
            self.backup_progress.show_step(backup.step, backup.done_bytes, backup.total_bytes)
            return
        self._timer.stop()
        self.back_up.set_refusal(None)
        self.backup_progress.hide()
        self._tell(backup)

    def _tell(self, backup: Backup | None) -> None:
        """What became of the backup."""
        done = backup is not None and backup.state == "done"
        self.backup_row.set_error(backup.problem if backup is not None else None)
        self.result.setText(_result_text(backup) if backup is not None and done else "")
        self.result.setVisible(done)
        self.show_button.setVisible(done)

    @Slot()
    def _cancel_backup(self) -> None:
        self._tasks.start(self._services.store.backups.cancel(), "cancel the backup")

    @Slot()
    def _show_in_folder(self) -> None:
        backup = self._services.store.backups.latest
        if backup is not None:
            self.backup_row.set_error(open_folder(Path(backup.path).parent))

    # -- restore --------------------------------------------------------------------------------------------------

    @Slot()
    def _ask_for_backup(self) -> None:
        self._tasks.start(self._restore(), "restore a backup", self)

    async def _restore(self) -> None:
        file = await choose_backup(self)
        if file is None:
            return
        self.restore_row.set_error(None)
        self.restore.set_refusal("A backup is being checked.")
        follow = QTimer(self)
        follow.timeout.connect(self._follow_restore)
        follow.start(FOLLOW_MS)
        self._follow_restore()
        contents = None
        with unless_cancelled(self._checked, follow):
            try:
                contents = await self._services.restores.stage(file)
            except HooklineError as error:
                self.restore_row.set_error(str(error))
        if contents is not None:
            await self._confirm(file, contents)

    def _checked(self, follow: QTimer) -> None:
        follow.stop()
        follow.deleteLater()
        self.restore_progress.hide()
        self.restore.set_refusal(None)

    async def _confirm(self, file: Path, contents: BackupContents) -> None:
        """Restart with the staged backup if the user agrees."""
        agreed = False
        tunnel_stops = self._services.tunnels.tunnel.state in RUNNING and not self._services.settings().tunnel_autostart
        text = question_text(file, contents, tunnel_stops=tunnel_stops)
        try:
            agreed = await ask(self, self._theme, "Restore this backup?", text, "Restore and restart")
        finally:
            if not agreed:
                await self._services.restores.discard()
        if agreed:
            self._services.restart_restored()

    @Slot()
    def _follow_restore(self) -> None:
        self.restore_progress.show_step(*self._services.restores.progress)

    @Slot()
    def _cancel_restore(self) -> None:
        self._services.restores.cancel()


def question_text(file: Path, contents: BackupContents, *, tunnel_stops: bool) -> str:
    """`tunnel_stops`: it runs, and does not start with Hookline."""
    parts = (
        f"{file.name} holds {contents_text(contents)}.",
        damaged_text(contents.damaged_bodies),
        start_text(contents),
        "The current database is kept in the data folder, with everything captured since the backup.",
        "The tunnel stops. Start it again after the restart." if tunnel_stops else "",
    )
    return " ".join(filter(None, parts))


def _result_text(backup: Backup) -> str:
    return f"Backed up to {backup.path} ({size_text(backup.size)}). {damaged_text(backup.damaged_bodies)}".rstrip()


async def choose_target(over: QWidget) -> Path | None:
    """The file to write; None if the user cancelled."""
    name = f"hookline-{date.today().isoformat()}.db"  # noqa: DTZ011 - the user's own day
    dialog = QFileDialog(over, "Back up as", str(_documents() / name), FILES)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setDefaultSuffix("db")
    return await _chosen(dialog)


async def choose_backup(over: QWidget) -> Path | None:
    """The file to restore; None if the user cancelled."""
    dialog = QFileDialog(over, "Restore a backup", str(_documents()), FILES)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def _chosen(dialog: QFileDialog) -> Path | None:
    accepted = await result_of(dialog) == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    return Path(dialog.selectedFiles()[0]) if accepted else None


def _documents() -> Path:
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(place) if place and Path(place).is_dir() else Path.home()

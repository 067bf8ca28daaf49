"""The storage settings: limits and size, what retention will free, when it runs next or why it waits, and backups."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QStandardPaths, QTimer, Slot
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from app.core.backup import Backup, BackupContents, contents_text, damaged_text, progress_text, start_text
from app.core.clock import now_us
from app.core.errors import HooklineError
from app.core.model import ClockProblem, PurgeReport, StorageSize
from app.core.settings import TOTAL_LIMIT_MIN, field_of
from app.core.sizes import exact_size
from app.core.text import clock_text, count_of, limit_text, size_text, until, use_text
from app.ui.services import Services
from app.ui.settings import BACKUP
from app.ui.settings.sections import SettingsForm, SettingsRow, SettingsSection
from app.ui.store_commands import RESUME
from app.ui.tasks import Tasks, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.words import RUNNING
from app.ui.widgets.badge import Meter
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import ALL_FILES, FileDialog, ask
from app.ui.widgets.fields import FolderField, open_folder
from app.ui.widgets.labels import label, show_or_hide
from app.ui.widgets.layout import Space, hbox, vbox

if TYPE_CHECKING:
    from app.db.sqlite.backups import Backups

BACKUP_TEXT = "Write all endpoints and requests to one file. Hookline keeps capturing."
RESTORE_TEXT = (
    "Replace all endpoints and requests with those in a backup. Hookline restarts, and keeps the old database."
)
FILES = ("Hookline backups (*.db)", ALL_FILES)
FOLLOW_MS = 100
_STEPS = 1_000


class JobProgress(QWidget):
    """What is being done, how far it is, and a button that cancels it."""

    def __init__(self, name: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.bar = QProgressBar(self, textVisible=False, maximum=_STEPS)
        self.bar.setAccessibleName(f"{name} progress")
        self.text = label("", "small", self)
        self.cancel = Button("Cancel", theme, self, kind="ghost", name=f"Cancel: {name}")
        words = vbox(self.bar, self.text, spacing=6)
        hbox((words, 1), self.cancel, inside=self, spacing=metrics.SPACE_3)
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

    def __init__(self, services: Services, backups: Backups, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._backups, self._theme, self._tasks = services, backups, theme, tasks
        self.back_up = Button("Back up…", theme, self, run=self._ask_for_target)
        self.restore = Button("Restore…", theme, self, run=self._ask_for_backup)
        self.backup_row = SettingsRow("Backup", BACKUP_TEXT, self.back_up, self, width=0)
        self.restore_row = SettingsRow("Restore", RESTORE_TEXT, self.restore, self, width=0)
        self.backup_progress = JobProgress("Backup", theme, self)
        self.restore_progress = JobProgress("Restore", theme, self)
        self.result = label("", "success", self, wrap=True)
        self.show_button = Button("Show in folder", theme, self, kind="link", icon="folder", run=self._show_in_folder)
        self.result.hide()
        self.show_button.hide()
        vbox(
            self.backup_row,
            self.backup_progress,
            hbox((self.result, 1), self.show_button, spacing=metrics.SPACE_3),
            self.restore_row,
            self.restore_progress,
            inside=self,
            spacing=metrics.SPACE_2,
        )
        self._timer = QTimer(self, interval=FOLLOW_MS)
        self._timer.timeout.connect(self._follow)
        self._restore_timer = QTimer(self, interval=FOLLOW_MS)
        self._restore_timer.timeout.connect(self._follow_restore)
        self.backup_progress.cancel.clicked.connect(self._cancel_backup)
        self.restore_progress.cancel.clicked.connect(self._cancel_restore)
        if backups.latest is not None and backups.latest.state == "running":
            self._start_following()

    def begin(self, what: str) -> None:
        """BACKUP or RESTORE, as if its button were clicked."""
        button = self.back_up if what == BACKUP else self.restore
        button.setFocus()
        button.click()

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
            await self._tasks.complete(self._backups.start(path, overwrite=True), self)
        except HooklineError as error:
            self.backup_row.set_error(str(error))
        else:
            self._start_following()

    def _start_following(self) -> None:
        self._timer.start()
        self._follow()

    @Slot()
    def _follow(self) -> None:
        backup = self._backups.latest
        if backup is not None and backup.state == "running":
            self.back_up.set_busy("A backup is being written.")
            self.backup_progress.show_step(backup.step, backup.done_bytes, backup.total_bytes)
            return
        self._timer.stop()
        self.back_up.set_busy(None)
        self.backup_progress.hide()
        self._tell(backup)

    def _tell(self, backup: Backup | None) -> None:
        """What became of the backup."""
        done = backup is not None and backup.state == "done"
        self.backup_row.set_error(backup.problem if backup is not None else None)
        show_or_hide(self.result, _result_text(backup) if backup is not None and done else "")
        self.show_button.setVisible(done)

    @Slot()
    def _cancel_backup(self) -> None:
        self._tasks.start(self._backups.cancel(), "cancel the backup")

    @Slot()
    def _show_in_folder(self) -> None:
        backup = self._backups.latest
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
        self.restore.set_busy("A backup is being checked.")
        self._restore_timer.start()
        self._follow_restore()
        contents = None
        with unless_cancelled(self._checked):
            try:
                contents = await self._services.restores.stage(file)
            except HooklineError as error:
                self.restore_row.set_error(str(error))
        if contents is not None:
            await self._confirm(file, contents)

    def _checked(self) -> None:
        self._restore_timer.stop()
        self.restore_progress.hide()
        self.restore.set_busy(None)

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
    return await FileDialog(over, "Back up as", _documents() / name, FILES, save=True).chosen()


async def choose_backup(over: QWidget) -> Path | None:
    """The file to restore; None if the user cancelled."""
    return await FileDialog(over, "Restore a backup", _documents(), FILES).chosen()


def _documents() -> Path:
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(place) if place and Path(place).is_dir() else Path.home()


COUNTED = (
    "Stored: bodies, headers and targets of requests, which the storage limit counts. On disk: the database’s files,"
    " with responses of targets, the search index, and space that the next cleanup gives back."
)
OWN_STORE = "Your own: a file in the data folder."
REFRESH_MS = 10_000
RUN = "Clean up now"


class StorageSection(SettingsSection):
    """Figures refresh while the dialog is open."""

    def __init__(self, form: SettingsForm, services: Services, theme: Theme, tasks: Tasks) -> None:
        super().__init__("Storage", form)
        self._services, self._tasks = services, tasks
        self.open_button = Button("Open team store…", theme, self)
        place = OWN_STORE if services.store.file is not None else services.store.place
        self.store_row = SettingsRow("Store", place, self.open_button, self, width=0)
        self.used = label("", "strong", self)
        self.meter = Meter("Storage", theme, self)
        self.reached = label("", "error", self, wrap=True)
        self.run_button = Button(RUN, theme, self, run=self.run_now)
        self.run_button.set_refusal(services.read_only)
        self.size_row = SettingsRow("Measuring…", "", self.run_button, self, width=0)
        self.response_row = form.row("response_limit")
        self.folder = FolderField(services.data_folder, theme, self)
        counted, title = label(COUNTED, "small", self, wrap=True), label("Data folder", "strong", self)
        self.column.addWidget(self.store_row)
        self.column.addLayout(_close_together(self.used, self.meter, self.reached, counted))
        least = f"{exact_size(TOTAL_LIMIT_MIN)} or more"
        of_file = (
            form.row("storage_limit", example=f"{least}, such as 20 GiB."),
            form.row("when_full"),
            form.row("disk_reserve"),
        )
        for row in (*of_file[:2], self.response_row, self.size_row, of_file[2]):
            self.column.addWidget(row)
        self.column.addLayout(_close_together(title, self.folder))
        file = services.store.file
        if file is not None:
            self.backup = BackupRows(services, file.backups, theme, tasks, self)
            self.column.addWidget(self.backup)
        for row in of_file:
            row.setVisible(file is not None)
        self.show_use()
        self._timer = QTimer(self, interval=REFRESH_MS)
        self._timer.timeout.connect(self._measure)
        self._timer.start()
        QTimer.singleShot(0, self, self._measure)

    def show_use(self) -> None:
        use = self._services.store.limits.use()
        self.used.setText(f"{use_text(use.used, use.limit)} stored")
        self.meter.set_use(use.used, use.limit or 0)
        self.meter.setVisible(use.limit is not None)
        show_or_hide(self.reached, limit_text(None, use)[0] if use.reached else "")
        used = size_text(self._services.store.limits.use_of_responses().used)
        self.response_row.set_help(f"{field_of('response_limit').help} {used} used.")

    @Slot()
    def run_now(self) -> None:
        """Delete requests past retention; if that waits for the clock, trust the clock first."""
        resume = self.run_button.text() == RESUME  # what the button said when it was clicked counts
        self.run_button.set_busy("Cleaning up…")
        self.size_row.set_error(None)
        self._tasks.start(self._run(resume), "run retention")

    @Slot()
    def _measure(self) -> None:
        self._tasks.start(self._show_size(), "measure the store", self)

    async def _run(self, resume: bool) -> None:
        with unless_cancelled(self.run_button.set_busy, None):
            try:
                await self._tasks.complete(self._purge(resume), self)
            except HooklineError as error:
                self.size_row.set_error(str(error))  # a message would be in the window below
        self._measure()

    async def _purge(self, resume: bool) -> None:
        if resume:
            await self._services.store.retention.resume()
        await self._services.store.retention.purge()

    async def _show_size(self) -> None:
        size = await self._services.store.retention.size()
        self.show_use()
        retention = self._services.store.retention
        self.run_button.setText(RUN if retention.problem is None else RESUME)
        self.size_row.title.setText(f"{size_text(size.file_bytes)} on disk")
        words = storage_text(size, retention.last_report, retention.next_run_at, now_us(), problem=retention.problem)
        self.size_row.set_help(words)


def _close_together(*widgets: QWidget) -> QVBoxLayout:
    return vbox(*widgets, Space(metrics.SPACE_4), spacing=6)


def storage_text(
    size: StorageSize,
    last: PurgeReport | None,
    next_run_at: int | None,
    at_us: int,
    *,
    problem: ClockProblem | None = None,
) -> str:
    """What the next cleanup will do and when, and what the last one did; or what it waits for."""
    if problem is not None:
        return " ".join(clock_text(replace(problem, expired=size.expired)))
    deletes = f"deletes {count_of(size.expired, 'request')}" if size.expired else ""
    frees = f"gives back {size_text(size.free_bytes)}" if size.free_bytes else ""
    does = " and ".join(filter(None, (deletes, frees)))
    words = [f"The next cleanup {does}." if does else "Nothing to clean up."]
    if next_run_at is not None:
        words.append(f"Next cleanup {until(next_run_at, at_us)}.")
    deleted_count = sum(last.deleted.values(), 0) if last is not None else 0
    if last is not None and deleted_count:
        deleted = count_of(deleted_count, "request")
        words.append(f"The last one deleted {deleted} and freed {size_text(last.freed_bytes)}.")
    return " ".join(words)

"""The storage settings: limit and size, what retention will free, when it runs next or why it waits, the disk reserve,
and where the data folder is.
"""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.clock import now_us
from app.core.clock_problem import ClockProblem
from app.core.model import PurgeReport, StorageSize, StorageUse, WhenFull
from app.core.settings import TOTAL_LIMIT_MIN, Settings, field_of
from app.core.sizes import MIB, exact_size
from app.core.text import count_of, limit_text, size_text, until, use_text
from app.ui.retention_notice import RESUME
from app.ui.services import Services
from app.ui.settings.backup import BackupRows
from app.ui.settings.section import SettingsRow, SettingsSection, mib_field, whole_mib
from app.ui.tasks import Tasks, unless_cancelled
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.copy_field import FolderField
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.labels import label
from app.ui.widgets.meter import Meter
from app.ui.widgets.text_fields import SizeField

WHEN_FULL: tuple[tuple[WhenFull, str], ...] = (
    ("delete_oldest", "Delete oldest requests"),
    ("stop_capturing", "Stop capturing"),
)
COUNTED = "Counts bodies, headers and targets. Responses of targets and the search index take extra space."


class StorageLimitRows(QWidget):
    """How much is stored, the limit, and what happens at the limit. `changed` follows each edit."""

    changed = Signal()

    def __init__(self, settings: Settings, theme: Theme, section: SettingsSection) -> None:
        super().__init__(section)
        self.used = label("", "strong", self)
        self.meter = Meter("Storage", theme, self)
        self.reached = label("", "error", self, wrap=True)
        use = QVBoxLayout(self)
        use.setContentsMargins(0, 0, 0, 0)
        use.setSpacing(6)
        use.addWidget(self.used)
        use.addWidget(self.meter)
        use.addWidget(self.reached)
        use.addWidget(label(COUNTED, "small", self, wrap=True))
        section.column.addWidget(self)
        self.limit = SizeField("Storage limit", section)
        self.when_full = ChoiceField([text for _, text in WHEN_FULL], section)
        least = f"{exact_size(TOTAL_LIMIT_MIN)} or more"
        self._rows: dict[str, SettingsRow] = {
            "storage_limit": section.add_declared("storage_limit", self.limit, f"{least}, such as 20 GiB."),
            "when_full": section.add_declared("when_full", self.when_full),
        }
        self.limit.set_value(settings.storage_limit)
        self.when_full.setCurrentIndex([key for key, _ in WHEN_FULL].index(settings.when_full))
        self.limit.textEdited.connect(self._edited)
        self.when_full.currentIndexChanged.connect(self._edited)

    def value(self, current: Settings) -> Settings:
        """`current` with the values of the fields; an invalid size leaves the limit unchanged."""
        limit = current.storage_limit if self.limit.problem() else self.limit.value()
        return replace(current, storage_limit=limit, when_full=WHEN_FULL[self.when_full.currentIndex()][0])

    def row(self, key: str) -> SettingsRow:
        return self._rows[key]

    def show_use(self, use: StorageUse) -> None:
        self.used.setText(f"{use_text(use.used, use.limit)} stored")
        self.meter.set_use(use.used, use.limit or 0)
        self.meter.setVisible(use.limit is not None)
        self.reached.setText(limit_text(None, use)[0] if use.reached else "")
        self.reached.setVisible(use.reached)

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()


REFRESH_MS = 10_000
RUN = "Clean up now"


class StorageSettings(SettingsSection):
    """Figures refresh while the dialog is open; `changed` follows each edit of a field."""

    changed = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Storage", parent)
        self._services, self._tasks = services, tasks
        self.run_button = Button(RUN, theme, self)
        self.run_button.clicked.connect(self.run_now)
        self.size_row = SettingsRow("Measuring…", "", self.run_button, self, width=0)
        self.limit = StorageLimitRows(services.settings(), theme, self)
        self.limit.changed.connect(self.changed)
        self.responses = mib_field("response_limit", self, step=64)
        self.responses.set_value(whole_mib(services.settings().response_limit))
        self.responses.changed.connect(self.changed)
        self.response_row = self.add_declared("response_limit", self.responses)
        self._show_responses()
        self.column.addWidget(self.size_row)
        self.reserve = mib_field("disk_reserve", self, step=16)
        self.reserve.set_value(whole_mib(services.settings().disk_reserve))
        self.reserve.changed.connect(self.changed)
        self.add_declared("disk_reserve", self.reserve, f"{self.reserve.range_text()}.")
        self.folder = FolderField(services.data_folder, theme, self)
        place = QVBoxLayout()
        place.setSpacing(6)
        place.addWidget(label("Data folder", "strong", self))
        place.addWidget(self.folder)
        self.column.addLayout(place)
        self.backup = BackupRows(services, theme, tasks, self)
        self.column.addWidget(self.backup)
        self.limit.show_use(services.store.limits.use())
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._measure)
        self._timer.start()
        QTimer.singleShot(0, self._measure)

    def value(self, current: Settings) -> Settings:
        """`current` with the values of the fields; a size that is not in whole MiB is kept until it is changed."""
        edited = self.limit.value(current)
        for key, field in (("disk_reserve", self.reserve), ("response_limit", self.responses)):
            if field.value() != whole_mib(getattr(current, key)):
                edited = replace(edited, **{key: field.value() * MIB})
        return edited

    def problems(self) -> dict[str, str | None]:
        """An invalid size, or one out of range."""
        return {
            "storage_limit": self.limit.limit.problem(),
            "disk_reserve": self.reserve.problem(),
            "response_limit": self.responses.problem(),
        }

    @Slot()
    def run_now(self) -> None:
        """Delete requests past retention; if that waits for the clock, trust the clock first."""
        resume = self.run_button.text() == RESUME  # what the button said when it was clicked counts
        self.run_button.set_refusal("Cleaning up…")
        self._tasks.start(self._run(resume), "run retention")

    @Slot()
    def _measure(self) -> None:
        self._tasks.start(self._show_size(), "measure the store", self)

    async def _run(self, resume: bool) -> None:
        with unless_cancelled(self.run_button.set_refusal, None):
            await self._tasks.complete(self._purge(resume), self)
        self._measure()

    async def _purge(self, resume: bool) -> None:
        if resume:
            await self._services.store.retention.resume()
        await self._services.store.retention.purge()

    def _show_responses(self) -> None:
        used = size_text(self._services.store.limits.use_of_responses().used)
        self.response_row.text.setText(f"{field_of('response_limit').help} {used} used.")

    async def _show_size(self) -> None:
        size = await self._services.store.retention.size()
        self._show_responses()
        self.limit.show_use(self._services.store.limits.use())
        retention = self._services.store.retention
        self.run_button.setText(RUN if retention.problem is None else RESUME)
        self.size_row.title.setText(f"{size_text(size.file_bytes)} on disk")
        words = storage_text(size, retention.last_report, retention.next_run_at, now_us(), problem=retention.problem)
        self.size_row.text.setText(words)


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
        problem = replace(problem, expired=size.expired)
        return f"{problem.reason} {problem.advice}"
    words = []
    if size.expired:
        words.append(f"The next cleanup deletes {count_of(size.expired, 'request')}")
        words[-1] += f" and gives back {size_text(size.free_bytes)}." if size.free_bytes else "."
    elif size.free_bytes:
        words.append(f"The next cleanup gives back {size_text(size.free_bytes)}.")
    else:
        words.append("Nothing to clean up.")
    if next_run_at is not None:
        words.append(f"Next cleanup {until(next_run_at, at_us)}.")
    deleted_count = sum(last.deleted.values(), 0) if last is not None else 0
    if last is not None and deleted_count:
        deleted = count_of(deleted_count, "request")
        words.append(f"The last one deleted {deleted} and freed {size_text(last.freed_bytes)}.")
    return " ".join(words)

"""How much is stored, the most that may be, and what happens then."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.model import StorageUse, WhenFull
from app.core.settings import TOTAL_LIMIT_MIN, Settings
from app.core.sizes import exact_size
from app.core.text import limit_text, use_text
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import ChoiceField
from app.ui.widgets.labels import label
from app.ui.widgets.meter import Meter
from app.ui.widgets.storage_limit import SizeField

WHEN_FULL: tuple[tuple[WhenFull, str], ...] = (
    ("delete_oldest", "Delete oldest requests"),
    ("stop_capturing", "Stop capturing"),
)
COUNTED = "Counts bodies, headers, targets and delivery responses. The search index takes extra space."


class StorageLimitRows(QWidget):
    """Saved with the dialog; `changed` follows each edit."""

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
        """`current` with what the fields say; a text that is no size leaves the limit as it is."""
        limit = current.storage_limit if self.limit.problem() else self.limit.value()
        return replace(current, storage_limit=limit, when_full=WHEN_FULL[self.when_full.currentIndex()][0])

    def row(self, key: str) -> SettingsRow:
        """The row of a setting."""
        return self._rows[key]

    def show_use(self, use: StorageUse) -> None:
        """How much is stored now."""
        self.used.setText(f"{use_text(use.used, use.limit)} stored")
        self.meter.set_use(use.used, use.limit or 0)
        self.meter.setVisible(use.limit is not None)
        self.reached.setText(limit_text(None, use)[0] if use.reached else "")
        self.reached.setVisible(use.reached)

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()

"""The form's storage limit: the maximum an endpoint may store, and what happens when it is reached."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.core.model import EndpointDraft, WhenFull
from app.core.rules import STORAGE_LIMIT_MIN
from app.core.sizes import exact_size
from app.ui.endpoint_form.more_sections import Section
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.storage_limit import SizeField

_WHEN_FULL: tuple[WhenFull, ...] = ("delete_oldest", "stop_capturing")
_TEXTS = ("Delete its oldest requests", "Stop capturing: senders get 503")


class StorageLimitField(Section):
    """A size, and a choice that is enabled once a size is set."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Storage", parent)
        self.limit = SizeField("Storage limit", self)
        self.when_full = ChoiceField(_TEXTS, self)
        self.fields = {
            "storage_limit": LabeledField(
                "Storage limit",
                self.limit,
                self,
                optional=True,
                help_text=f"{exact_size(STORAGE_LIMIT_MIN)} or more, such as 500 MB.",
            ),
            "when_full": LabeledField("When full", self.when_full, self, help_text="Starred requests are deleted too."),
        }
        self.side_by_side(*self.fields.values())
        self._fit()
        self.limit.textChanged.connect(self._limit_changed)
        self.when_full.currentIndexChanged.connect(self._when_full_changed)

    def load(self, draft: EndpointDraft) -> None:
        self.limit.set_value(draft.storage_limit)
        self.when_full.setCurrentIndex(_WHEN_FULL.index(draft.when_full))

    def when_full_value(self) -> WhenFull:
        """The selected policy."""
        return _WHEN_FULL[self.when_full.currentIndex()]

    def _fit(self) -> None:
        self.when_full.setEnabled(bool(self.limit.text().strip()))

    @Slot()
    def _limit_changed(self) -> None:
        self._fit()
        self.changed.emit("storage_limit")

    @Slot()
    def _when_full_changed(self) -> None:
        self.changed.emit("when_full")

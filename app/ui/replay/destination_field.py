"""Where a replay goes: to the requests' own targets, to another URL, or to another endpoint."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.model import Endpoint
from app.core.replay.spec import OneUrl, OtherEndpoint, OwnTargets, ReplayDestination
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.segmented import Segmented

_SHOWN = 3
TARGETS, URL, ENDPOINT = "targets", "url", "endpoint"


class DestinationField(QWidget):
    """`fields` holds its fields by the path of their errors."""

    changed = Signal()

    def __init__(self, endpoints: Sequence[Endpoint], own: str, targets: Sequence[str], parent: QWidget) -> None:
        """`own` names the first choice; `targets` are the URLs it stands for, empty if there are none."""
        super().__init__(parent)
        self._endpoints, self._targets = list(endpoints), list(targets)
        self.kind = Segmented(((TARGETS, own), (URL, "Another URL"), (ENDPOINT, "Another endpoint")), self)
        self.kind.setAccessibleName("Destination")
        self.kind.set_enabled(TARGETS, bool(targets))
        self.kind.set_enabled(ENDPOINT, bool(self._endpoints))
        if not targets:
            self.kind.explain(TARGETS, f"{own}: there is no target that is switched on.")
        self.url = QLineEdit(self)
        self.url.setFont(mono_font())
        self.url.setPlaceholderText("http://localhost:3000/webhooks")
        self.endpoint = ChoiceField([escape(one.name) for one in self._endpoints], self)
        self.own = label(_shortened(self._targets), "muted", self, wrap=True)
        self.own.setFont(mono_font())
        text = "The path below the slug and the query of each request are added."
        self.fields = {
            "destination.url": LabeledField("URL", self.url, self, help_text=text),
            "destination.slug": LabeledField("Endpoint", self.endpoint, self),
        }
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_2)
        column.addWidget(self.kind, 0, Qt.AlignmentFlag.AlignLeft)
        self._pages = (self.own, *self.fields.values())
        for page in self._pages:
            column.addWidget(page)
        self.kind.set_current(TARGETS if targets else URL)
        self.kind.activated.connect(self._kind_changed)
        self.url.textEdited.connect(self._edited)
        self.endpoint.currentIndexChanged.connect(self._edited)
        self._show_page()

    def value(self) -> ReplayDestination:
        kind = self.kind.current()
        if kind == URL:
            return OneUrl(url=self.url.text().strip())
        if kind == ENDPOINT and self.endpoint.currentIndex() >= 0:
            return OtherEndpoint(slug=self._endpoints[self.endpoint.currentIndex()].slug)
        return OwnTargets()

    def select(self, kind: str) -> None:
        """Choose TARGETS, URL or ENDPOINT."""
        self.kind.set_current(kind)
        self._kind_changed()

    @Slot()
    def _kind_changed(self) -> None:
        self._show_page()
        self.changed.emit()

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()

    def _show_page(self) -> None:
        kind = self.kind.current() or URL
        for of_kind, page in zip((TARGETS, URL, ENDPOINT), self._pages, strict=True):
            page.setVisible(kind == of_kind)


def _shortened(urls: Sequence[str]) -> str:
    shown = list(urls) if len(urls) <= _SHOWN else [*urls[: _SHOWN - 1], f"and {len(urls) - _SHOWN + 1:,} more"]
    return "\n".join(shown)

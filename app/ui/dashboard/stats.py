"""The strip of figures: the ledger since start, the plan's use and the store's size."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.core.model import Plan, StorageSize
from app.core.rules import FREE_ENDPOINTS
from app.core.wording import count_of, size_text
from app.ui.ledger import Ledger
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card, line
from app.ui.widgets.labels import ElidedLabel, label, restyle
from app.ui.widgets.meter import Meter

_CELLS = (
    ("received", "Received", "since start", "Requests that reached the capture port since this window opened"),
    (
        "stored",
        "Stored",
        "kept",
        "Requests captured since this window opened, committed to disk before the sender was answered",
    ),
    ("mirrored", "Mirrored", "delivered", "Deliveries that a forward URL took"),
    ("failed", "Failed", "undelivered", "Deliveries that a forward URL did not take"),
    ("refused", "Refused", "not kept", "Requests that were not captured; see Refused"),
)


class Stats(QWidget):
    """`show_*` bring one part each up to date."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = {key: label("0", "title", self) for key, _, _, _ in _CELLS}
        self._plan = label("", "title", self)
        self._plan_note = ElidedLabel("", "small", self)
        self._meter = Meter(theme, self)
        self._size = label("—", "title", self)
        self._size_note = ElidedLabel("", "small", self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_4)
        row.addWidget(self._ledger_card(), 13)
        row.addWidget(self._figure_card("Endpoints", self._plan, self._plan_note, self._meter), 5)
        row.addWidget(self._figure_card("Storage", self._size, self._size_note, None), 4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_ledger(self, ledger: Ledger) -> None:
        """The five counts; failures and refusals take their colour once there are any."""
        for key, _, _, _ in _CELLS:
            number: int = getattr(ledger, key)
            cell = self._values[key]
            cell.setText(f"{number:,}" if number < 10_000_000 else f"{number // 1_000_000:,}M")
            alarm = "danger" if key == "failed" and number else None
            if cell.property("alarm") != alarm:
                cell.setProperty("alarm", alarm)
                restyle(cell)

    def show_plan(self, held: int, plan: Plan) -> None:
        """How many endpoints the plan still allows."""
        free = plan is Plan.FREE
        self._plan.setText(f"{held} of {FREE_ENDPOINTS}" if free else f"{held}")
        left = FREE_ENDPOINTS - held
        note = f"{left} left · Free" if left > 0 else "none left · Free"
        self._plan_note.setText(note if free else "no limit · Pro")
        self._meter.set_use(held, FREE_ENDPOINTS if free else 0)
        self._meter.setVisible(free)

    def show_kept(self, kept: int) -> None:
        """How many requests are stored."""
        self._size_note.setText(f"{count_of(kept, 'request')}")

    def show_size(self, size: StorageSize, *, waiting: bool) -> None:
        """The file's size, and what retention will free."""
        self._size.setText(size_text(size.file_bytes))
        if size.expired:
            then = "kept until the clock is trusted" if waiting else "deleted with the next run"
            self._size.setToolTip(f"{count_of(size.expired, 'request')} past their days, {then}")
        else:
            self._size.setToolTip("Nothing is past its days")

    def _ledger_card(self) -> Card:
        card = Card(self, padding=0)
        row = QHBoxLayout()
        row.setSpacing(0)
        for place, (key, title, note, text) in enumerate(_CELLS):
            if place:
                row.addWidget(line(card, vertical=True))
            cell = QWidget(card)
            cell.setToolTip(text)
            column = QVBoxLayout(cell)
            column.setContentsMargins(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_3)
            column.setSpacing(metrics.SPACE_1)
            column.addWidget(label(title, "small", cell))
            column.addWidget(self._values[key])
            column.addWidget(label(note, "faint", cell))
            row.addWidget(cell, 1)
        card.body.addLayout(row)
        return card

    def _figure_card(self, title: str, figure: QWidget, note: QWidget, meter: QWidget | None) -> Card:
        card = Card(self, padding=0)
        card.body.setContentsMargins(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_3)
        card.body.setSpacing(metrics.SPACE_1)
        card.body.addWidget(label(title, "small", card))
        line_of_figure = QHBoxLayout()
        line_of_figure.setSpacing(metrics.SPACE_3)
        line_of_figure.addWidget(figure)
        if meter is not None:
            line_of_figure.addWidget(meter, 1)
        else:
            line_of_figure.addStretch(1)
        card.body.addLayout(line_of_figure)
        card.body.addWidget(note)
        return card

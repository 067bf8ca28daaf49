"""The row of figures: the session's counts, the endpoints used of the plan, and the size of the store."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.core.model import Plan, StorageSize, StorageUse
from app.core.rules import FREE_ENDPOINTS
from app.core.sizes import exact_size
from app.core.text import count_of, size_text, use_text
from app.ui.session_stats import SessionStats
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card, line
from app.ui.widgets.labels import ElidedLabel, FittingLabel, label, plain_tooltip, restyle
from app.ui.widgets.meter import Meter
from app.ui.widgets.side_by_side import SideBySide

_CELLS = (
    ("received", "Received", "since start", "Requests that reached the capture port since this window opened"),
    (
        "stored",
        "Stored",
        "captured",
        "Requests captured since this window opened, saved to disk before the sender got a response",
    ),
    ("forwarded", "Forwarded", "delivered", "Deliveries that a forward URL accepted"),
    ("failed", "Failed", "deliveries", "Deliveries that a forward URL did not accept"),
    ("refused", "Refused", "not stored", "Requests that were not captured; see Refused"),
)


class Stats(SideBySide):
    """Each `show_*` method updates one part."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(metrics.SPACE_3, parent)
        self._values = {key: label("0", "title", self) for key, _, _, _ in _CELLS}
        self._plan = label("", "title", self)
        self._plan_note = ElidedLabel("", "small", self)
        self._meter = Meter("Endpoints", theme, self)
        self._size = label("—", "title", self)
        self._size_note = FittingLabel("small", self)
        self._size_meter = Meter("Storage", theme, self)
        session, figures = QHBoxLayout(), QHBoxLayout()
        session.addWidget(self._session_card())
        figures.addWidget(self._figure_card("Endpoints", self._plan, self._plan_note, self._meter), 1)
        figures.addWidget(self._figure_card("Storage", self._size, self._size_note, self._size_meter), 1)
        figures.setSpacing(metrics.SPACE_3)
        self.add_parts((session, 13), (figures, 10))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_session_stats(self, session_stats: SessionStats) -> None:
        """The five counts; failures and refusals are coloured once there are any."""
        for key, _, _, _ in _CELLS:
            number: int = getattr(session_stats, key)
            cell = self._values[key]
            cell.setText(f"{number:,}" if number < 10_000_000 else f"{number // 1_000_000:,}M")
            alarm = "danger" if key == "failed" and number else None
            if cell.property("alarm") != alarm:
                cell.setProperty("alarm", alarm)
                restyle(cell)

    def show_plan(self, count: int, plan: Plan) -> None:
        """Show how many endpoints the plan still allows."""
        free = plan is Plan.FREE
        self._plan.setText(f"{count} of {FREE_ENDPOINTS}" if free else f"{count}")
        left = FREE_ENDPOINTS - count
        note = f"{left} left · Free" if left > 0 else "none left · Free"
        self._plan_note.setText(note if free else "no limit · Pro")
        self._meter.set_use(count, FREE_ENDPOINTS if free else 0)
        self._meter.setVisible(free)

    def show_kept(self, kept: int, use: StorageUse) -> None:
        """Show how many requests are stored, and how much of the storage limit they use."""
        limit = "" if use.limit is None else f"of {exact_size(use.limit)} · "
        figure = use_text(use.used, use.limit).partition(" of ")[0]
        self._size.setText(figure)
        count = count_of(kept, "request")
        stopped = "full, not capturing" if use.capturing_stopped else "full, oldest deleted" if use.reached else count
        meaning = f"{use_text(use.used, use.limit)} stored, {count}"
        self._size_note.set_wordings((f"{limit}{stopped}", stopped), meaning)
        self._size_meter.set_use(use.used, use.limit or 0)
        self._size_meter.setVisible(use.limit is not None)
        alarm = "danger" if use.capturing_stopped else None
        if self._size.property("alarm") != alarm:
            self._size.setProperty("alarm", alarm)
            restyle(self._size)

    def show_size(self, size: StorageSize, *, waiting: bool) -> None:
        """Show the size of the files, and what retention will delete."""
        then = "kept until the clock is trusted" if waiting else "deleted at the next cleanup"
        expired = f"{count_of(size.expired, 'request')} past retention, {then}" if size.expired else "Nothing to delete"
        self._size.setToolTip(plain_tooltip(f"{size_text(size.file_bytes)} on disk, with the search index\n{expired}"))

    def _session_card(self) -> Card:
        card = Card(self, padding=0)
        row = QHBoxLayout()
        row.setSpacing(0)
        for place, (key, title, note, text) in enumerate(_CELLS):
            if place:
                row.addWidget(line(card, vertical=True))
            cell = QWidget(card)
            cell.setToolTip(text)
            column = QVBoxLayout(cell)
            left = metrics.SPACE_2 if place else metrics.SPACE_3
            column.setContentsMargins(left, metrics.SPACE_3, metrics.SPACE_1, metrics.SPACE_3)
            column.setSpacing(metrics.SPACE_1)
            column.addWidget(label(title, "small", cell))
            column.addWidget(self._values[key])
            column.addWidget(label(note, "faint", cell))
            row.addWidget(cell, 1)
        card.body.addLayout(row)
        return card

    def _figure_card(self, title: str, figure: QWidget, note: QWidget, meter: QWidget) -> Card:
        card = Card(self, padding=0)
        card.body.setContentsMargins(metrics.SPACE_4, metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_3)
        card.body.setSpacing(metrics.SPACE_1)
        card.body.addWidget(label(title, "small", card))
        line_of_figure = QHBoxLayout()
        line_of_figure.setSpacing(metrics.SPACE_3)
        line_of_figure.addWidget(figure)
        line_of_figure.addWidget(meter, 1)
        card.body.addLayout(line_of_figure)
        card.body.addWidget(note)
        return card

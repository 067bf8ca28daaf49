"""The timeline of a request's deliveries: each with its attempts, and when the next one comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.delivery import Attempt, Delivery
from app.core.model import WORST_FIRST, DeliveryState
from app.core.target import Target
from app.ui.deliveries.words import attempt_text, attempts_text, look_of, next_text
from app.ui.request.deliveries.attempt_rows import AttemptDelegate, Row
from app.ui.theme.theme import Theme

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
TICK_MS = 1_000
Index = QModelIndex | QPersistentModelIndex
Attempts = Mapping[str, Sequence[Attempt]]
"""The attempts of deliveries, by their IDs."""


def rows_of(deliveries: Sequence[Delivery], attempts: Attempts, target_of: Callable[[int], Target | None]) -> list[Row]:
    """Deliveries to targets first, as they were queued; then replays, the last one first."""
    rows: list[Row] = []
    replays = [one for one in deliveries if one.replay_id is not None]
    for delivery in [*(one for one in deliveries if one.replay_id is None), *reversed(replays)]:
        target = target_of(delivery.target_id) if delivery.target_id is not None else None
        rows.append(Row(delivery, target))
        made = attempts.get(delivery.id, ())
        longest = max((one.ms for one in made), default=0.0)
        waits = delivery.state is DeliveryState.QUEUED
        rows += [Row(delivery, target, one, longest_ms=longest, last=one is made[-1] and not waits) for one in made]
        if waits:
            rows.append(Row(delivery, target, waiting=True, last=True))
    return rows


class AttemptModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[Row] = []

    def show_rows(self, rows: list[Row]) -> None:
        same = [row.key for row in rows] == [row.key for row in self.rows]
        if same and rows:
            changed = [at for at, row in enumerate(rows) if row != self.rows[at]]
            self.rows = rows
            for at in changed:
                self.dataChanged.emit(self.index(at), self.index(at))
        elif not same:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()

    def row_of(self, key: tuple[str, int]) -> int | None:
        return next((at for at, row in enumerate(self.rows) if row.key == key), None)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The row; as text for screen readers."""
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return row_words(row)
        return None


def row_words(row: Row) -> str:
    delivery = row.delivery
    if row.waiting:
        return next_text(delivery, row.target, now_us())
    if row.attempt is not None:
        return attempt_text(row.attempt, delivery.attempts)
    replay = "replay" if delivery.replay_id is not None else ""
    url = escape(delivery.request_url(row.target))
    return ", ".join(filter(None, (look_of(delivery, row.target).words, replay, attempts_text(delivery), url)))


class AttemptList(QListView):
    """`chosen` says that another row is current. Until the user chooses one, the last attempt of the first failed
    delivery is current, or of the first one."""

    chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.attempts = AttemptModel(self)
        self.setModel(self.attempts)
        self.delegate = AttemptDelegate(theme, self, ROW_ROLE)
        self.setItemDelegate(self.delegate)
        self.setAccessibleName("Attempts")
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self._by_user = False
        self._updating = False
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.setTimerType(Qt.TimerType.CoarseTimer)
        self._tick.timeout.connect(self._count_down)
        self.selectionModel().currentChanged.connect(self._changed)
        theme.changed.connect(self.viewport().update)

    def current_row(self) -> Row | None:
        index = self.currentIndex()
        return self.attempts.rows[index.row()] if index.isValid() else None

    def forget(self) -> None:
        """Another request is shown: nothing is chosen, and the list begins at its top."""
        self._by_user = False
        self.show_rows([])

    def show_rows(self, rows: list[Row]) -> None:
        """Show these; what the user chose stays current, and the list where it was scrolled to."""
        current, top = self.current_row(), self.verticalScrollBar().value()
        self._updating = True
        self.attempts.show_rows(rows)
        at = self.attempts.row_of(current.key) if current is not None and self._by_user else None
        if at is None:
            self._by_user = False
            at = self._usual_row()
        moved = rows and at != self.currentIndex().row()
        if moved:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.selectionModel().setCurrentIndex(self.attempts.index(at), flags)
        self.doItemsLayout()
        self.verticalScrollBar().setValue(top)
        if rows and (current is None or (moved and not self._by_user)):
            self.scrollTo(self.attempts.index(at))
        self._updating = False
        self._wind_clock()

    def content_height(self) -> int:
        """Pixels that all rows take."""
        return sum(self.delegate.height_of(row) for row in self.attempts.rows) + 2

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._wind_clock()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tick.stop()

    def _usual_row(self) -> int:
        """The last attempt of the worst delivery, the first of those."""
        rows = self.attempts.rows
        if not rows:
            return 0
        worst = min((row.delivery for row in rows), key=lambda one: WORST_FIRST.index(one.state))
        of_it = [at for at, row in enumerate(rows) if row.delivery.id == worst.id]
        made = [at for at in of_it if rows[at].attempt is not None]
        return next(iter([*made[-1:], *of_it]), 0)

    def _wind_clock(self) -> None:
        """Count down only while something is waiting and can be seen."""
        if self.isVisible() and any(row.waiting for row in self.attempts.rows):
            self._tick.start()
        else:
            self._tick.stop()

    @Slot()
    def _count_down(self) -> None:
        for at, row in enumerate(self.attempts.rows):
            if row.waiting:
                self.update(self.attempts.index(at))

    @Slot()
    def _changed(self) -> None:
        if not self._updating:
            self._by_user = True
            self.chosen.emit()

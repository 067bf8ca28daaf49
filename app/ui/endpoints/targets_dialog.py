"""The dialog of an endpoint's targets: their list on the left, the form of the selected one on the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.core.errors import HooklineError, InvalidFieldsError
from app.core.events import EndpointRemoved, EndpointSaved, Subscriptions
from app.core.model import Endpoint
from app.core.target import TargetDraft
from app.core.text import count_of
from app.core.tunnel import marked_url
from app.ui.deliveries.words import target_look
from app.ui.endpoints.queued_counts import QueuedCounts
from app.ui.endpoints.target_edits import TargetEdit, TargetEdits
from app.ui.endpoints.target_form import TargetForms
from app.ui.services import Services
from app.ui.state_look import Look
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import EmptyState
from app.ui.widgets.dialog import SubmitDialog, ask
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox, vbox
from app.ui.widgets.rows import Column, Index, Rows, RowsList, paint_line

WIDTH, HEIGHT, LIST_WIDTH = 960, 760, 304
NO_TARGETS = "Requests are captured, and not forwarded."
ROW = 56
Numbered = tuple[int, "_TargetRow"]


class TargetsDialog(SubmitDialog):
    """`saved` follows when the changes are stored. Pausing and resuming take effect at once."""

    saved = Signal()

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, endpoint: Endpoint
    ) -> None:
        super().__init__("Targets", theme, tasks, parent)
        self._services = services
        self.unsaved = f"Your changes to the targets of “{endpoint.name}” have not been saved."
        self.edits = TargetEdits(endpoint, services.own_bases)
        self._focused: QWidget | None = None
        """The widget with the focus when saving began: fields that are disabled meanwhile lose it."""
        self.subtitle = ElidedLabel("", "small", self)
        self._show_url()
        self.column = _TargetColumn(theme, self)
        self.empty = EmptyState("forward", "No targets", NO_TARGETS, theme, self, action="Add target")
        self.forms = TargetForms(endpoint.slug, self.empty, theme, self)
        self.problem = label("", "error", self, wrap=True)
        self.removed = ElidedLabel("", "muted", self)
        self.undo_button = Button("Undo", theme, self, kind="link", run=self.undo)
        self.cancel = self.make_close_button("Cancel")
        self.save_button = self.make_submit_button("Save")
        self.counts = QueuedCounts(services, tasks, self)
        self._lay_out()
        self._connect()
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.follow_urls(self._show_url)
        self.finished.connect(self._subscriptions.end)
        self.finished.connect(self.counts.stop)
        self.resize(bounded(self, QSize(WIDTH, HEIGHT)))
        self.counts.watch(endpoint.targets)
        self._select(self.edits.items[0] if self.edits.items else None)
        (self.column.list if self.edits.items else self.column.add).setFocus()
        if services.read_only is not None:
            self.column.only_list()
            self.forms.setEnabled(False)
            self.problem.setText(services.read_only)
            self.cancel.setText("Close")
            self.refresh()

    def has_changes(self) -> bool:
        """Whether saving would change anything, or something typed cannot be saved."""
        return not self.busy and self.edits.has_changes()

    def _show_url(self) -> None:
        url = marked_url(self._services.capture_url(self.edits.endpoint), self._services.tunnels.url_state)
        self.subtitle.setText(f"{escape(self.edits.endpoint.name)} · {url}")

    @Slot()
    def add(self) -> None:
        """Add a target at the end, to type its URL."""
        self._select(self.edits.add(TargetDraft(url="")))
        self.forms.type_url()

    @Slot()
    def duplicate(self) -> None:
        """Add a copy below the selected target, switched off: two equal targets would both get each request."""
        if self.forms.item is not None:
            place = self.edits.items.index(self.forms.item) + 1
            self._select(self.edits.add(replace(self.forms.item.draft, active=False), place))
            self.forms.type_url()

    @Slot()
    def remove(self) -> None:
        """Remove the selected target; `undo` restores it until the changes are saved."""
        if self.forms.item is None:
            return
        place = self.edits.items.index(self.forms.item)
        self.edits.remove(self.forms.item)
        left = self.edits.items
        self._select(left[min(place, len(left) - 1)] if left else None)
        (self.column.list if left else self.column.add).setFocus()

    @Slot()
    def undo(self) -> None:
        """Restore the target removed last."""
        item = self.edits.restore()
        if item is not None:
            self._select(item)
            self.column.list.setFocus()

    def reveal_errors(self) -> bool:
        errors = self.edits.errors()
        for item, error in errors:
            self.forms.of(item).touched.add(error.field)
        if errors:
            self._select(errors[0][0])
            self.forms.of(errors[0][0]).reveal(errors[0][1].field)
        return bool(errors)

    async def store(self) -> Callable[[], object] | None:
        if not await self._confirm_removal():
            return None
        await self._tasks.complete(self.edits.save(self._services.store.targets), self)
        return self.saved.emit

    async def _confirm_removal(self) -> bool:
        """Whether the user agrees that what is queued for removed targets is not sent; True if nothing is."""
        removed = self.edits.removals()
        counts = await self._services.store.deliveries.target_counts() if removed else {}
        waiting = sum(counts[target.id].queued for target in removed if target.id in counts)
        if not waiting:
            return True
        title = f"Remove {escape(removed[0].url)}?" if len(removed) == 1 else f"Remove {len(removed)} targets?"
        text = f"{count_of(waiting, 'queued delivery', 'queued deliveries')} to {'it' if len(removed) == 1 else 'them'}"
        text += (
            " will not be sent, and will be listed as not sent, or as failed after an attempt. The requests are kept."
        )
        return await ask(self, self.theme, title, text, "Remove and save")

    def show_failure(self, error: HooklineError) -> None:
        if self.edits.saving in self.edits.items and self.edits.saving is not self.forms.item:
            self._select(self.edits.saving)
        form = self.forms.current()
        if form is not None and isinstance(error, InvalidFieldsError):
            self.problem.setText(form.refuse(error.errors))
        else:
            self.problem.setText(str(error))

    @Slot(int)
    def _chosen(self, place: int) -> None:
        if 0 <= place < len(self.edits.items) and self.edits.items[place] is not self.forms.item:
            self._select(self.edits.items[place])

    def _select(self, item: TargetEdit | None) -> None:
        self.forms.show_item(item)
        form = self.forms.current()
        if form is not None:
            form.refused = {}
        order_tabs(self)
        self.refresh()

    @Slot()
    def _edited(self) -> None:
        form = self.forms.current()
        if self.forms.item is not None and form is not None:
            self.forms.item.draft, self.forms.item.problems = form.draft(), form.problems()
            self.forms.item.paths = form.paths()
            self.problem.setText("")
            self.refresh()

    @Slot(bool)
    def _pause(self, on: bool) -> None:
        if self.forms.item is not None and self.forms.item.stored is not None:
            targets, number = self._services.store.targets, self.forms.item.stored.id
            self._tasks.start(targets.pause(number) if on else targets.resume(number), "pause or resume a target")

    @Slot(int, int)
    def _move(self, place: int, to: int) -> None:
        item = self.edits.items[place]
        self.edits.move(item, to)
        self._select(item)

    def _endpoint_saved(self, event: EndpointSaved) -> None:
        if event.endpoint.id == self.edits.endpoint.id:
            self._follow(event.endpoint)

    def _endpoint_removed(self, event: EndpointRemoved) -> None:
        if event.endpoint.id == self.edits.endpoint.id:
            self.done(self.DialogCode.Rejected)

    def _follow(self, endpoint: Endpoint | None) -> None:
        if endpoint is None:
            return
        for item in self.edits.follow(endpoint):
            form = self.forms.made(item)
            if form is not None:
                form.load(item.draft)
        self.counts.watch(endpoint.targets)
        if self.forms.item not in self.edits.items:
            self._select(self.edits.items[0] if self.edits.items else None)
        else:
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        items, selected, form = self.edits.items, self.forms.item, self.forms.current()
        self.column.show_rows(list(map(self._row, items)), items.index(selected) if selected in items else -1)
        if selected is not None and form is not None:
            form.show_errors(form.errors_with(self.edits.errors_of(selected)))
            form.state.show_state(selected.draft, selected.stored, self.counts.of([selected.stored]))
        refused = next(iter(form.refused.values()), None) if form is not None else None
        refusal = self._services.read_only or self.edits.refusal() or refused
        self.save_button.set_busy("Saving…" if self.busy else None, refusal)
        removed = self.edits.removed
        self.removed.setText(f"Removed {escape(removed[-1][1].draft.url) or 'a target'}." if removed else "")
        failed = bool(self.problem.text())
        self.problem.setVisible(failed)
        self.removed.setVisible(bool(removed) and not failed)
        self.undo_button.setVisible(bool(removed) and not failed)

    def _row(self, item: TargetEdit) -> _TargetRow:
        form = self.forms.made(item)
        touched = form.touched if form is not None else set()
        wrong = next((error.message for error in self.edits.errors_of(item) if error.field in touched), "")
        paused = item.stored.paused if item.stored is not None else None
        counts = self.counts.known(item.stored)
        state = target_look(item.draft, paused, counts.failures)
        return _TargetRow(item.draft.url, state, counts.queued, item.changed, wrong, counts.last_error or "")

    def set_busy(self, busy: bool) -> None:
        if busy:
            self._focused = self.focusWidget()
        for widget in (self.column, self.forms, self.undo_button):
            widget.setEnabled(not busy)
        super().set_busy(busy)
        if busy:
            return
        form = self.forms.current()
        if form is not None and form.refused:
            form.reveal(next(iter(form.refused)))
        elif self._focused is not None and isValid(self._focused):  # the field of a cell has ended
            self._focused.setFocus()
        self._follow(self._services.store.endpoints.by_id(self.edits.endpoint.id))

    def _connect(self) -> None:
        self.column.list.chosen.connect(self._chosen)
        self.column.list.remove_requested.connect(self.remove)
        self.column.list.rows.move_requested.connect(self._move)
        self.column.add.clicked.connect(self.add)
        self.column.duplicate.clicked.connect(self.duplicate)
        self.column.remove.clicked.connect(self.remove)
        self.empty.action.connect(self.add)
        self.forms.changed.connect(self._edited)
        self.forms.pause_requested.connect(self._pause)
        self.counts.changed.connect(self.refresh)

    def _lay_out(self) -> None:
        self.column.setFixedWidth(LIST_WIDTH)
        self.fill_columns(vbox(self.column), vbox(self.forms))
        inset = vbox(self.subtitle, margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_3))
        self.body.insertLayout(0, inset)
        self.body.setContentsMargins(0, metrics.SPACE_1, 0, 0)
        fill(self.footer, self.removed, self.undo_button, (self.problem, 1), Stretch(), self.cancel, self.save_button)


@dataclass(frozen=True)
class _TargetRow:
    """What a row shows. `wrong` says what prevents it from being saved."""

    url: str
    state: Look
    waiting: int = 0
    changed: bool = False
    wrong: str = ""
    last_error: str = ""

    @property
    def title(self) -> str:
        return escape(self.url.removeprefix("http://").removeprefix("https://")) or "New target"

    @property
    def facts(self) -> str:
        """`On · 3 queued · not saved · Nothing is listening at localhost:3000 (connection refused).`"""
        waiting, changed = f"{self.waiting:,} queued" if self.waiting else "", "not saved" if self.changed else ""
        return " · ".join(filter(None, (self.state.words, waiting, changed, escape(self.last_error))))

    def sentence(self, place: int, count: int) -> str:
        """For screen readers."""
        parts = (escape(self.url) or "New target", self.facts, self.wrong, f"{place} of {count_of(count, 'target')}")
        return ", ".join(filter(None, parts))


class _TargetRows(Rows[Numbered]):
    """Rows with their places, from 0. `move_requested` carries a row that is to move, and its new place."""

    move_requested = Signal(int, int)

    def __init__(self, theme: Theme, parent: QObject) -> None:
        column = Column[Numbered]("", lambda one: one[1].sentence(one[0] + 1, len(self._rows)), _tooltip, self._paint)
        super().__init__([column], parent)
        self._theme = theme

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Dropped between rows, not on them."""
        drag, drop = Qt.ItemFlag.ItemIsDragEnabled, Qt.ItemFlag.ItemIsDropEnabled
        return super().flags(index) | drag if index.isValid() else drop

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def moveRows(self, _: Index, row: int, count: int, __: Index, before: int) -> bool:
        """Called by the view after a drop."""
        self.move_requested.emit(row, before - 1 if before > row else before)
        return True

    def _paint(self, painter: QPainter, place: QRect, record: Numbered) -> None:
        row, tokens = record[1], self._theme.tokens
        icon = Look("", "warning", "danger") if row.wrong else row.state
        at = QRect(place.left() + metrics.SPACE_3, place.center().y() - 9, 18, 18)
        self._theme.icon(icon.icon, icon.colour).paint(painter, at)
        words = place.adjusted(metrics.SPACE_3 + 18 + metrics.SPACE_3, 9, -metrics.SPACE_3, -9)
        upper = QRect(words.left(), words.top(), words.width(), words.height() // 2)
        title = tokens.text if row.state.icon != "off" else tokens.text_muted
        strong = ui_font(BASE, QFont.Weight.DemiBold)
        paint_line(painter, upper, row.title, strong, title, elide=Qt.TextElideMode.ElideMiddle)
        colour = getattr(tokens, icon.colour if icon.colour != "success" else "text_muted")
        lower = upper.translated(0, upper.height())
        paint_line(painter, lower, row.wrong or row.facts, ui_font(SMALL), colour)


def _tooltip(record: Numbered) -> str:
    row = record[1]
    return row.wrong or "\n".join(filter(None, (row.url, row.last_error)))


class _TargetList(RowsList[Numbered]):
    """`chosen` carries the selected row. Rows are moved by dragging or with Alt+Up and Alt+Down. Del emits
    `remove_requested`.
    """

    chosen = Signal(int)
    remove_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.rows = _TargetRows(theme, parent)
        super().__init__("Targets", self.rows, ROW, theme, parent, rounded=True)
        self.setAccessibleDescription("Alt+Up and Alt+Down move a target, Del removes it.")
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.selectionModel().currentChanged.connect(self._chosen)

    def show_rows(self, rows: Sequence[_TargetRow], selected: int) -> None:
        blocked = self.blockSignals(True)
        self.rows.show_records(list(enumerate(rows)), lambda one: one[0])
        self.select_row(selected)
        self.blockSignals(blocked)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, steps = Qt.Key(event.key()), {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        if event.modifiers() == Qt.KeyboardModifier.AltModifier and key in steps:
            self.move_by(steps[key])
        elif key == Qt.Key.Key_Delete and self.current_row() >= 0:
            self.remove_requested.emit()
        else:
            super().keyPressEvent(event)

    def move_by(self, step: int) -> None:
        """Move the selected row up (-1) or down (1), if possible."""
        place = self.current_row()
        if place >= 0 and 0 <= place + step < self.rows.rowCount():
            self.rows.move_requested.emit(place, place + step)

    @Slot(QModelIndex)
    def _chosen(self, current: QModelIndex) -> None:
        if current.isValid():
            self.chosen.emit(current.row())


class _TargetColumn(QWidget):
    """The list with its buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.list = _TargetList(theme, self)
        self.add = Button("Add target", theme, self, icon="add")
        self.duplicate = IconButton("copy", "Duplicate target", theme, self)
        up, down = partial(self.list.move_by, -1), partial(self.list.move_by, 1)
        self.up = IconButton("up", "Move target up (Alt+Up)", theme, self, run=up)
        self.down = IconButton("down", "Move target down (Alt+Down)", theme, self, run=down)
        self.remove = IconButton("delete", "Remove target (Del)", theme, self)
        tools = hbox(self.add, Stretch(), self.duplicate, self.up, self.down, self.remove, spacing=metrics.SPACE_1)
        vbox((self.list, 1), tools, inside=self, spacing=metrics.SPACE_2, margins=metrics.SPACE_3)

    def only_list(self) -> None:
        """Offer no changes."""
        for button in (self.add, self.duplicate, self.up, self.down, self.remove):
            button.hide()

    def show_rows(self, rows: Sequence[_TargetRow], selected: int) -> None:
        """Show these, and which buttons can be pressed; `selected` is -1 for none."""
        self.list.show_rows(rows, selected)
        for button in (self.duplicate, self.remove):
            button.setEnabled(selected >= 0)
        self.up.setEnabled(selected > 0)
        self.down.setEnabled(0 <= selected < len(rows) - 1)

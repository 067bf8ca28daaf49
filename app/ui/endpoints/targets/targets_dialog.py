"""The dialog of an endpoint's targets: their list on the left, the form of the selected one on the right."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.core.delivery import DeliveryFilter
from app.core.errors import HooklineError, InvalidFieldsError
from app.core.events import EndpointRemoved, EndpointSaved, Subscriptions
from app.core.model import DeliveryState, Endpoint
from app.core.target import TargetDraft
from app.core.text import count_of
from app.core.tunnel.tunnel import marked_url
from app.ui.endpoints.targets.queued_counts import QueuedCounts
from app.ui.endpoints.targets.target_edits import TargetEdit, TargetEdits
from app.ui.endpoints.targets.target_form import TargetForms
from app.ui.endpoints.targets.target_list import TargetColumn, TargetRow
from app.ui.endpoints.targets.target_text import target_look
from app.ui.services import Services
from app.ui.tasks import Tasks, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import EditDialog, ask
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, vbox

WIDTH, HEIGHT, LIST_WIDTH = 960, 760, 304
NO_TARGETS = "Requests are captured, and not forwarded."


class TargetsDialog(EditDialog):
    """`saved` follows when the changes are stored. Pausing and resuming take effect at once."""

    saved = Signal()

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, endpoint: Endpoint
    ) -> None:
        super().__init__("Targets", theme, parent)
        self._services, self._tasks = services, tasks
        self.unsaved = f"Your changes to the targets of “{endpoint.name}” have not been saved."
        self.edits = TargetEdits(endpoint, services.own_bases)
        self.selected: TargetEdit | None = None
        self._busy = False
        self._focused: QWidget | None = None
        """The widget with the focus when saving began: fields that are disabled meanwhile lose it."""
        self._endpoint = endpoint
        self.subtitle = ElidedLabel("", "small", self)
        self._show_url()
        self.column = TargetColumn(theme, self)
        self.empty = EmptyState("forward", "No targets", NO_TARGETS, theme, self, action="Add target")
        self.forms = TargetForms(endpoint.slug, self.empty, theme, self)
        self.problem = label("", "error", self, wrap=True)
        self.removed = ElidedLabel("", "muted", self)
        self.undo_button = Button("Undo", theme, self, kind="link")
        self.cancel = Button("Cancel", theme, self)
        self.save_button = Button("Save", theme, self, kind="primary")
        self.counts = QueuedCounts(services, tasks, self)
        self._lay_out()
        self._connect()
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(EndpointSaved, self._endpoint_saved)
        self._subscriptions.add(EndpointRemoved, self._endpoint_removed)
        self._subscriptions.follow_urls(self._show_url)
        self.resize(bounded(self, QSize(WIDTH, HEIGHT)))
        self.counts.watch(endpoint.targets)
        self._select(self.edits.items[0] if self.edits.items else None)
        (self.column.list if self.edits.items else self.column.add).setFocus()
        if services.read_only is not None:
            self.column.only_list()
            self.forms.setEnabled(False)
            self.problem.setText(services.read_only)
            self.cancel.setText("Close")
            self._refresh()

    def has_changes(self) -> bool:
        """Whether saving would change anything, or something typed cannot be saved."""
        return not self._busy and self.edits.has_changes()

    def done(self, result: int) -> None:
        """Stop following the store."""
        self._subscriptions.end()
        self.counts.stop()
        super().done(result)

    def _show_url(self) -> None:
        url = marked_url(self._services.capture_url(self._endpoint), self._services.tunnels.url_state)
        self.subtitle.setText(f"{escape(self._endpoint.name)} · {url}")

    @Slot()
    def add(self) -> None:
        """Add a target at the end, to type its URL."""
        self._select(self.edits.add(TargetDraft(url="")))
        self.forms.type_url()

    @Slot()
    def duplicate(self) -> None:
        """Add a copy below the selected target, switched off: two equal targets would both get each request."""
        if self.selected is not None:
            place = self.edits.items.index(self.selected) + 1
            self._select(self.edits.add(replace(self.selected.draft, active=False), place))
            self.forms.type_url()

    @Slot()
    def remove(self) -> None:
        """Remove the selected target; `undo` restores it until the changes are saved."""
        if self.selected is None:
            return
        place = self.edits.items.index(self.selected)
        self.edits.remove(self.selected)
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

    @Slot()
    def submit(self) -> None:
        """Save if everything is valid; otherwise show every error and go to the first."""
        if self._busy:
            return
        errors = self.edits.errors()
        for item, error in errors:
            self.forms.of(item).touched.add(error.field)
        if errors:
            self._select(errors[0][0])
            self.forms.of(errors[0][0]).reveal(errors[0][1].field)
        elif self.save_button.isEnabled():
            self._set_busy(True)
            self._tasks.start(self._save(), "save targets")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter in a one-line field saves; Esc cancels."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.submit()
        else:
            super().keyPressEvent(event)

    async def _save(self) -> None:
        with unless_cancelled(self._saving_ended):
            try:
                if not await self._confirm_removal():
                    return
                await self._tasks.complete(self.edits.save(self._services.store.targets), self)
            except HooklineError as error:
                self._show_failure(error)
                return
        self.saved.emit()
        self.accept()

    def _saving_ended(self) -> None:
        self._set_busy(False)
        self._follow(self._services.store.endpoints.by_id(self.edits.endpoint.id))

    async def _confirm_removal(self) -> bool:
        """Whether the user agrees that what is queued for removed targets is not sent; True if nothing is."""
        removed = self.edits.removals()
        waiting = 0
        for target in removed:
            which = DeliveryFilter(target_id=target.id, state=DeliveryState.QUEUED)
            waiting += await self._services.store.deliveries.count(which)
        if not waiting:
            return True
        title = f"Remove {escape(removed[0].url)}?" if len(removed) == 1 else f"Remove {len(removed)} targets?"
        text = f"{count_of(waiting, 'queued delivery', 'queued deliveries')} to {'it' if len(removed) == 1 else 'them'}"
        text += (
            " will not be sent, and will be listed as not sent, or as failed after an attempt. The requests are kept."
        )
        return await ask(self, self.theme, title, text, "Remove and save")

    def _show_failure(self, error: HooklineError) -> None:
        broken = error.errors if isinstance(error, InvalidFieldsError) else ()
        if self.edits.saving in self.edits.items and self.edits.saving is not self.selected:
            self._select(self.edits.saving)
        form = self.forms.current()
        refused = {one.field: one.message for one in broken if form is not None and one.field in form.fields}
        if form is not None and refused:
            form.refused = refused
            form.touched.update(refused)
        else:
            self.problem.setText(str(error))

    @Slot(int)
    def _chosen(self, place: int) -> None:
        if 0 <= place < len(self.edits.items) and self.edits.items[place] is not self.selected:
            self._select(self.edits.items[place])

    def _select(self, item: TargetEdit | None) -> None:
        self.selected = item
        self.forms.show_item(item)
        form = self.forms.current()
        if form is not None:
            form.refused = {}
        order_tabs(self)
        self._refresh()

    @Slot()
    def _edited(self) -> None:
        form = self.forms.current()
        if self.selected is not None and form is not None:
            self.selected.draft, self.selected.problems = form.draft(), form.problems()
            self.selected.paths = form.paths()
            self.problem.setText("")
            self._refresh()

    @Slot(bool)
    def _pause(self, on: bool) -> None:
        if self.selected is not None and self.selected.stored is not None:
            targets, number = self._services.store.targets, self.selected.stored.id
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
        if self.selected not in self.edits.items:
            self._select(self.edits.items[0] if self.edits.items else None)
        else:
            self._refresh()

    @Slot()
    def _refresh(self) -> None:
        items, selected, form = self.edits.items, self.selected, self.forms.current()
        self.column.show_rows(list(map(self._row, items)), items.index(selected) if selected in items else -1)
        if selected is not None and form is not None:
            form.show_errors(form.errors_with(self.edits.errors_of(selected)))
            form.state.show_state(selected.draft, selected.stored, self.counts.of([selected.stored]))
        refused = next(iter(form.refused.values()), None) if form is not None else None
        refusal = self._services.read_only or self.edits.refusal() or refused
        self.save_button.set_refusal("Saving…" if self._busy else refusal)
        removed = self.edits.removed
        self.removed.setText(f"Removed {escape(removed[-1][1].draft.url) or 'a target'}." if removed else "")
        failed = bool(self.problem.text())
        self.problem.setVisible(failed)
        self.removed.setVisible(bool(removed) and not failed)
        self.undo_button.setVisible(bool(removed) and not failed)

    def _row(self, item: TargetEdit) -> TargetRow:
        form = self.forms.made(item)
        touched = form.touched if form is not None else set()
        wrong = next((error.message for error in self.edits.errors_of(item) if error.field in touched), "")
        paused = item.stored.paused if item.stored is not None else None
        state = target_look(item.draft, paused, self.counts.failures(item.stored))
        error = self.counts.last_error(item.stored)
        return TargetRow(item.draft.url, state, self.counts.of([item.stored]), item.changed, wrong, error)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        if busy:
            self._focused = self.focusWidget()
        for widget in (self.column, self.forms, self.undo_button):
            widget.setEnabled(not busy)
        self._refresh()
        form = self.forms.current()
        if not busy and form is not None and form.refused:
            form.reveal(next(iter(form.refused)))
        elif not busy and self._focused is not None and isValid(self._focused):  # the field of a cell has ended
            self._focused.setFocus()

    def _connect(self) -> None:
        self.column.list.chosen.connect(self._chosen)
        self.column.list.remove_requested.connect(self.remove)
        self.column.move_requested.connect(self._move)
        self.column.add.clicked.connect(self.add)
        self.column.duplicate.clicked.connect(self.duplicate)
        self.column.remove.clicked.connect(self.remove)
        self.empty.action.connect(self.add)
        self.forms.changed.connect(self._edited)
        self.forms.pause_requested.connect(self._pause)
        self.undo_button.clicked.connect(self.undo)
        self.cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(self.submit)
        self.counts.changed.connect(self._refresh)
        QShortcut(QKeySequence("Ctrl+Return"), self, self.submit)

    def _lay_out(self) -> None:
        self.column.setFixedWidth(LIST_WIDTH)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.addWidget(self.column)
        right.addWidget(self.forms)
        self.fill_columns(left, right)
        inset = vbox(self.subtitle, margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_3))
        self.body.insertLayout(0, inset)
        self.body.setContentsMargins(0, metrics.SPACE_1, 0, 0)
        fill(self.footer, self.removed, self.undo_button, (self.problem, 1), Stretch(), self.cancel, self.save_button)

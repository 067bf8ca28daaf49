"""The window that compares two targets of an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from app.core.bodies.escape import escape
from app.core.events import DeliveryChanged
from app.core.model import DeliveryState, Endpoint, PageKey
from app.core.response_comparison import (
    ComparedRequest,
    ComparisonResult,
    IgnoredFields,
    ResponsePair,
    ResponsePairs,
    SideBySide,
    compare_pairs,
    side_by_side,
)
from app.core.rules import compare_refusal
from app.core.text import count_of
from app.ui.comparison.choice import (
    ComparisonChoice,
    IgnoredDialog,
    compare_command,
    store_choice,
    stored_choice,
)
from app.ui.comparison.compared_list import ComparedList, ComparedModel
from app.ui.comparison.responses_view import ResponsesView
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, Throttle, in_thread, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import EmptyState, line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fields import ChoiceField, Segmented
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox
from app.ui.window_file import WindowFile

PAGE = 50
"""Requests compared at once: a page is one turn of the GUI thread."""
STEP = 1_000
"""Requests compared until the user asks for more."""
LIVE_MS = 400


class ComparisonRunner(QObject):
    """`found` carries compared requests, newest first. `changed` follows any change of `running`, `ended` and
    `examined`."""

    found = Signal(object)
    changed = Signal()

    def __init__(self, endpoint_id: int, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._endpoint_id, self._pairs = endpoint_id, services.store.response_pairs
        self._choice: ComparisonChoice | None = None
        self._all, self._new = Latest(self, tasks, "compare responses"), Latest(self, tasks, "compare new responses")
        self._turn = asyncio.Lock()
        self._next: PageKey | None = None
        self.running, self.ended, self.examined = False, False, 0
        self._fresh: set[str] = set()
        self._throttle = Throttle(LIVE_MS, self, self._compare_fresh)
        self._subscription = services.bus.subscribe(DeliveryChanged, self._delivered)

    def start(self, choice: ComparisonChoice) -> None:
        """Compare from the newest request on; those found before no longer count."""
        self._choice, self._next, self.ended, self.examined = choice, None, False, 0
        self._new.stop()
        self._all.run(partial(self._run, choice))

    def resume(self) -> None:
        """Compare older requests."""
        if self._choice is not None and not self.running and not self.ended:
            self._all.run(partial(self._run, self._choice))

    @Slot()
    def pause(self) -> None:
        """Stop comparing older requests; new ones are still compared."""
        self._all.stop()
        self._ended()

    def stop(self) -> None:
        self._subscription.end()
        self._all.stop()
        self._new.stop()

    async def responses(self, capture_id: str, choice: ComparisonChoice) -> tuple[ResponsePair, SideBySide] | None:
        """What both targets responded to a request; None if that is no longer stored."""
        page = await self._pairs.page(self._endpoint_id, choice.first, choice.second, capture_ids=[capture_id])
        for pair in page.pairs:
            work = partial(side_by_side, pair.first, pair.second, choice.ignored)
            return pair, await in_thread(work)
        return None

    async def _run(self, choice: ComparisonChoice) -> None:
        limit, self.running = self.examined + STEP, True
        self.changed.emit()
        with unless_cancelled(self._ended):
            while not self.ended and self.examined < limit:
                page = await self._compare(choice, before=self._next)
                self._next, self.ended = page.next, page.next is None
                self.examined += page.examined
                self.changed.emit()

    def _ended(self) -> None:
        self.running = False
        self.changed.emit()

    def _delivered(self, event: DeliveryChanged) -> None:
        delivery, choice = event.delivery, self._choice
        ended = delivery.state is not DeliveryState.QUEUED
        if choice is not None and ended and delivery.target_id in (choice.first, choice.second):
            self._fresh.add(delivery.capture_id)
            self._throttle.call()

    @Slot()
    def _compare_fresh(self) -> None:
        if self._choice is not None and not self._new.running:
            self._new.run(partial(self._compare_new, self._choice))

    async def _compare_new(self, choice: ComparisonChoice) -> None:
        while self._fresh:
            some = sorted(self._fresh, reverse=True)[:PAGE]
            self._fresh.difference_update(some)
            page = await self._compare(choice, capture_ids=some)
            if page.next is not None:  # their bodies are large
                self._fresh.update(set(some) - {pair.request.id for pair in page.pairs})

    async def _compare(
        self, choice: ComparisonChoice, before: PageKey | None = None, capture_ids: Sequence[str] | None = None
    ) -> ResponsePairs:
        """One after the other: of a request that is read twice, the last response is found last."""
        async with self._turn:
            page = await self._pairs.page(
                self._endpoint_id, choice.first, choice.second, before=before, limit=PAGE, capture_ids=capture_ids
            )
            self.found.emit(await in_thread(compare_pairs, page.pairs, choice.ignored))
        return page


WIDTH, HEIGHT = 1240, 760
MARGINS = QSize(48, 48)
"""What is seen of the window around it."""
LIST_WIDTH, LIST_MINIMUM = 370, 240
LOW = 600
"""A window less high than this leaves its title to its frame."""
DIFFERENT, ALL = "different", "all"


class TargetsBar(QWidget):
    """`chosen` carries the IDs of the first and the second target."""

    chosen = Signal(object, object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._current = (0, 0)
        self.first, self.second = ChoiceField({}, self), ChoiceField({}, self)
        self.swap = IconButton("swap", "Swap first and second", theme, self, run=self._swap)
        self.first.setAccessibleName("First target")
        self.second.setAccessibleName("Second target")
        row = hbox(inside=self, spacing=metrics.SPACE_2, margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_3))
        for field, share in ((self.first, 1), (self.swap, 0), (self.second, 1)):
            row.addWidget(field, share)
        for field in (self.first, self.second):
            field.activated.connect(self._activated)

    def show_targets(self, endpoint: Endpoint, choice: ComparisonChoice) -> None:
        self._current = (choice.first, choice.second)
        targets = {target.id: f"{number}. {escape(target.url)}" for number, target in enumerate(endpoint.targets, 1)}
        for field, chosen in zip((self.first, self.second), self._current, strict=True):
            field.set_choices(targets)
            if chosen in targets:
                field.set_value(chosen)

    @Slot()
    def _activated(self) -> None:
        """Choosing for one side what the other one has swaps them."""
        first, second = self.first.value(), self.second.value()
        if first == second:
            second, first = self._current
        self.chosen.emit(first, second)

    @Slot()
    def _swap(self) -> None:
        second, first = self._current
        self.chosen.emit(first, second)


def empty_words(same: int, neither: int, *, running: bool, ended: bool) -> tuple[str, str]:
    """Title and text in place of an empty list. `same` requests got the same response from both, `neither` none from
    either."""
    if running:
        title, text = "Comparing…", "Requests whose responses differ appear here."
    elif same:
        title = "No differences"
        text = f"Both targets responded the same to {count_of(same, 'request')}."
    elif neither:
        title, text = "Nothing to compare", ""
    else:
        title = "Nothing to compare yet"
        text = "Requests appear here once both targets have responded to them. Replay stored ones to a new target."
    if neither:
        text += f" Neither responded to {count_of(neither, 'request')}."
    if not running and not ended:
        text += " Older requests have not been compared."
    return title, text.strip()


def _title(endpoint: Endpoint) -> str:
    return f"Compare targets of “{escape(endpoint.name)}”"


class ComparisonDialog(Dialog):
    """Stays open beside the window. `endpoint` has at least two targets."""

    def __init__(self, endpoint: Endpoint, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(_title(endpoint), theme, parent)
        self.setModal(False)
        self.setWindowFlag(Qt.WindowType.Window)
        self._endpoint, self._services = endpoint, services
        self._file = WindowFile(services.data_folder)
        self.choice = stored_choice(self._file, endpoint)
        self.runner = ComparisonRunner(endpoint.id, services, tasks, self)
        self._latest = Latest(self, tasks, "show compared responses")
        self._selected: str | None = None
        self._outdated = self._focused = False
        """Whether the list had rows and so the focus; from then on the focus is the user's."""
        self.targets = TargetsBar(theme, self)
        self.filter = Segmented(((DIFFERENT, "Only different"), (ALL, "All")), self)
        self.model = ComparedModel(services.providers, theme, self)
        self.list = ComparedList(self.model, theme, self)
        self.empty = EmptyState("compare", "", "", theme, self)
        self.left = QStackedWidget(self)
        self.responses = ResponsesView(theme, self)
        self.no_selection = EmptyState(
            "compare", "No request selected", "Select a request to see both responses.", theme, self
        )
        self.gone = EmptyState(
            "compare", "No longer stored", "The request or its responses have been deleted.", theme, self
        )
        self.right = QStackedWidget(self)
        self.progress = label("", "muted", self)
        self.more = Button("Stop", theme, self, kind="link", run=self._more)
        self.ignored = Button("", theme, self, kind="link", run=self._edit_ignored)
        self.copy = Button("Copy as command", theme, self, icon="copy", run=self._copy)
        self.close_button = self.make_close_button("Close")
        self._lay_out()
        self._connect()
        self.targets.show_targets(self._endpoint, self.choice)
        self.filter.set_current(DIFFERENT)
        self._start()
        self.resize(self.sizeHint())

    def sizeHint(self) -> QSize:
        """The room of the window: bodies are read side by side."""
        window = self.parentWidget()
        least = QSize(WIDTH, HEIGHT)
        return bounded(self, least if window is None else (window.window().size() - MARGINS).expandedTo(least))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        high = self.height() >= LOW
        self.title.setVisible(high)
        self.body.setContentsMargins(0, metrics.SPACE_3 if high else 0, 0, 0)

    def is_idle(self) -> bool:
        """Always: it only shows something."""
        return True

    def ignore_header(self, name: str) -> None:
        """Let this header differ, from now on."""
        ignored = self.choice.ignored
        self.set_ignored(replace(ignored, headers=(*ignored.headers, name)))

    def ignore_path(self, path: str) -> None:
        """Let the JSON values of this path differ, from now on."""
        ignored = self.choice.ignored
        self.set_ignored(replace(ignored, json_paths=(*ignored.json_paths, path)))

    @Slot(object)
    def set_ignored(self, ignored: IgnoredFields) -> None:
        self._choose(replace(self.choice, ignored=ignored))

    @Slot()
    def follow_endpoint(self) -> None:
        """Show targets as they are now; close if there are no two any more."""
        endpoint = self._services.store.endpoints.by_id(self._endpoint.id)
        if endpoint is None or compare_refusal(endpoint) is not None:
            self.reject()
            return
        self._endpoint = endpoint
        self.setWindowTitle(_title(endpoint))
        self.title.setText(_title(endpoint))
        self.targets.show_targets(self._endpoint, self.choice)
        ids = {target.id for target in endpoint.targets}
        if not {self.choice.first, self.choice.second} <= ids:
            self._choose(stored_choice(self._file, endpoint))

    # -- what is compared ------------------------------------------------------------------------------------------

    def _choose(self, choice: ComparisonChoice) -> None:
        if choice == self.choice:
            return
        self.choice = choice
        store_choice(self._file, self._endpoint, choice)
        self.targets.show_targets(self._endpoint, self.choice)
        self._start()

    def _start(self) -> None:
        ignored = self.choice.ignored
        count = len(ignored.headers) + len(ignored.json_paths)
        self.copy.setText("Copy as command")
        self.ignored.setText(f"Ignored fields ({count:,})…")
        self._outdated = True  # what is listed stays until there is something else to show
        self.runner.start(self.choice)
        if self._selected is not None:
            self._show_responses(keep_place=True)

    @Slot(object, object)
    def _choose_targets(self, first: int, second: int) -> None:
        self._choose(replace(self.choice, first=first, second=second))

    @Slot()
    def _edit_ignored(self) -> None:
        dialog = IgnoredDialog(self.choice.ignored, self.theme, self)
        dialog.saved.connect(self.set_ignored)
        dialog.open()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(compare_command(self._endpoint, self.choice))
        self.copy.setText("Copied")

    # -- the list --------------------------------------------------------------------------------------------------

    @Slot(str)
    def _filter(self, key: str) -> None:
        self.model.show_only_different(key == DIFFERENT)
        self._select_again()
        self._refresh()

    def _clear_outdated(self) -> None:
        if self._outdated:
            self._outdated = False
            self.model.clear()

    @Slot(object)
    def _add(self, found: list[ComparedRequest]) -> None:
        self._clear_outdated()
        self.model.add(found)
        if self._selected in {one.request.id for one in found}:
            self._show_responses(keep_place=True)
        self._select_again()
        self._refresh()

    def _select_again(self) -> None:
        """Select the open request, or the first one if none is open."""
        if self.list.selectionModel().hasSelection() or not self.model.rowCount():
            return
        row = self.model.row_of(self._selected) if self._selected is not None else 0
        if row is not None:
            self.list.select_row(row)

    @Slot(QModelIndex, QModelIndex)
    def _current_changed(self, current: QModelIndex, _: QModelIndex) -> None:
        if not current.isValid():
            return
        chosen = self.model.record(current.row()).request.id
        if chosen != self._selected:
            self._selected = chosen
            self._show_responses(keep_place=False)

    @Slot()
    def _refresh(self) -> None:
        """Progress and counts, and the words in place of an empty list."""
        if not self.runner.running:
            self._clear_outdated()
        counts, runner = self.model.counts, self.runner
        total = sum(counts.values())
        parts = [f"{counts[ComparisonResult.DIFFERENT]:,} different", f"{counts[ComparisonResult.SAME]:,} same"]
        if neither := counts[ComparisonResult.NO_RESPONSE]:
            parts.append(f"{neither:,} without a response")
        text = f"{count_of(total, 'request')}: {' · '.join(parts)}" if total else "Nothing compared yet"
        self.progress.setText(f"Comparing… {text}" if runner.running else text)
        self.more.setVisible(runner.running or not runner.ended)
        self.more.setText("Stop" if runner.running else "Compare older requests")
        title, text = empty_words(counts[ComparisonResult.SAME], neither, running=runner.running, ended=runner.ended)
        self.empty.title.setText(title)
        self.empty.text.setText(text)
        rows = bool(self.model.rowCount())
        self.left.setCurrentWidget(self.list if rows else self.empty)
        self.right.setVisible(rows or self._selected is not None)
        if rows and not self._focused:
            self._focused = True
            self.list.setFocus()

    @Slot()
    def _more(self) -> None:
        if self.runner.running:
            self.runner.pause()
        else:
            self.runner.resume()

    # -- the selected request --------------------------------------------------------------------------------------

    def _show_responses(self, *, keep_place: bool) -> None:
        if self._selected is not None:
            self._latest.run(partial(self._read_responses, self._selected, self.choice, keep_place=keep_place))

    async def _read_responses(self, capture_id: str, choice: ComparisonChoice, *, keep_place: bool) -> None:
        found = await self.runner.responses(capture_id, choice)
        if found is None:
            self._selected = None
            self.right.setCurrentWidget(self.gone)
            return
        self.responses.show_pair(*found, keep_place=keep_place)
        self.right.setCurrentWidget(self.responses)

    # -- building --------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.filter.setAccessibleName("Which requests are listed")
        status = hbox(
            self.filter,
            self.progress,
            self.more,
            Stretch(),
            self.ignored,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_3),
        )
        right = (self.no_selection, self.responses, self.gone)
        for pages, widgets in ((self.left, (self.empty, self.list)), (self.right, right)):
            for widget in widgets:
                pages.addWidget(widget)
        self.left.setMinimumWidth(LIST_MINIMUM)
        split = QSplitter(self, childrenCollapsible=False, handleWidth=1)
        split.addWidget(self.left)
        split.addWidget(self.right)
        split.setStretchFactor(1, 1)
        split.setSizes([LIST_WIDTH, WIDTH - LIST_WIDTH])
        self.body.setSpacing(0)
        fill(self.body, self.targets, status, line(self), (split, 1))
        fill(
            self.footer,
            self.copy,
            (ElidedLabel("Compares stored responses; nothing is sent.", "muted", self), 1),
            self.close_button,
        )

    def _connect(self) -> None:
        self.targets.chosen.connect(self._choose_targets)
        self.filter.activated.connect(self._filter)
        self.finished.connect(self.runner.stop)
        self.finished.connect(self._latest.stop)
        self.runner.found.connect(self._add)
        self.runner.changed.connect(self._refresh)
        self.list.selectionModel().currentChanged.connect(self._current_changed)
        self.responses.headers.ignore_requested.connect(self.ignore_header)
        self.responses.body.ignore_requested.connect(self.ignore_path)
        for keys, slot in (("Alt+Down", self.responses.following.click), ("Alt+Up", self.responses.previous.click)):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)

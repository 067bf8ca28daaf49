"""The window that compares two targets of an endpoint: their choice, the list of compared requests with two lines for
each, and both responses to the selected one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QObject, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.comparison import (
    ComparedRequest,
    ComparisonResult,
    IgnoredFields,
)
from app.core.model import Endpoint
from app.core.rules import compare_refusal
from app.core.text import ago_text, count_of, exact_time, title_of
from app.ui.comparison.compared_view import WIDTH, SideBySideDialog
from app.ui.comparison.responses_view import ResponsesView
from app.ui.comparison.runner import (
    ComparisonChoice,
    ComparisonRunner,
    IgnoredDialog,
    compare_command,
    store_choice,
    stored_choice,
)
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import EmptyState, line
from app.ui.widgets.fields import ChoiceField, Segmented
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox
from app.ui.widgets.rows import RIGHT, Column, Rows, RowsList, paint_line
from app.ui.window_file import WindowFile

ROW = 52
MARGIN, MARK_WIDTH, TIME_WIDTH = 12, 24, 44

MARKS: dict[ComparisonResult, tuple[str, Tone, str]] = {
    ComparisonResult.DIFFERENT: ("≠", "danger", "Different"),
    ComparisonResult.SAME: ("=", "success", "Same"),
    ComparisonResult.NO_RESPONSE: ("?", "neutral", "Not comparable"),
}
"""The mark of a result, its tone, and it in words."""


def what_differs(compared: ComparedRequest) -> str:
    """The first difference in words, and how many more there are."""
    if compared.result is ComparisonResult.NO_RESPONSE:
        return "Neither target responded"
    differences = compared.comparison.differences
    if not differences:
        return "Same response" if not compared.comparison.notes else f"Same, but: {compared.comparison.notes[0]}"
    more = len(differences) - 1
    rest = f" · {more:,}{'+' if compared.comparison.more else ''} more" if more else ""
    return differences[0].text + rest


class ComparedModel(Rows[ComparedRequest]):
    """Newest first. `only_different` hides the others; one that stops to differ while it is listed stays."""

    def __init__(self, providers: Mapping[str, str], theme: Theme, parent: QObject) -> None:
        super().__init__([Column("", self._words, _tooltip, self._paint)], parent)
        self._providers, self._theme = providers, theme
        self._small = ui_font(SMALL)
        self._all: dict[str, ComparedRequest] = {}
        self.counts: Counter[ComparisonResult] = Counter()
        self.only_different = True

    def clear(self) -> None:
        self._all, self.counts = {}, Counter()
        self.set_records(())

    def show_only_different(self, only: bool) -> None:
        self.only_different = only
        self.set_records(sorted((one for one in self._all.values() if self._listed(one)), key=_newest_first))

    def add(self, found: Sequence[ComparedRequest]) -> None:
        """Add these, or replace those that are known."""
        for one in found:
            known = self._all.get(one.request.id)
            if known is not None:
                self.counts[known.result] -= 1
            self.counts[one.result] += 1
            self._all[one.request.id] = one
            row = bisect_left(self._rows, _newest_first(one), key=_newest_first)
            if row < len(self._rows) and self._rows[row].request.id == one.request.id:
                self.replace_record(row, one)
            elif self._listed(one):
                self.insert_records(row, [one])

    def row_of(self, capture_id: str) -> int | None:
        return next((row for row, one in enumerate(self._rows) if one.request.id == capture_id), None)

    def _listed(self, one: ComparedRequest) -> bool:
        return not self.only_different or one.result is ComparisonResult.DIFFERENT

    def _words(self, one: ComparedRequest) -> str:
        title = title_of(one.request, self._providers).main
        return f"{MARKS[one.result][2]}: {one.request.method} {title}. {what_differs(one)}"

    def _paint(self, painter: QPainter, rect: QRect, one: ComparedRequest) -> None:
        """Mark, method, target and age; below them what differs."""
        tokens = self._theme.tokens
        painter.setPen(QColor(tokens.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        mark, tone, _ = MARKS[one.result]
        top = QRect(rect.left(), rect.top() + 5, rect.width(), 22)
        paint_pill(painter, QRectF(top.left() + MARGIN, top.top() + 2, MARK_WIDTH, 18), mark, tokens, tone)
        left = top.left() + MARGIN + MARK_WIDTH + 8
        badge = QRectF(left, top.top() + (top.height() - METHOD_SIZE.height()) / 2, *METHOD_SIZE.toTuple())
        paint_method(painter, badge, escape(one.request.method[:20]), tokens)
        age = QRect(top.right() - MARGIN - TIME_WIDTH, top.top(), TIME_WIDTH, top.height())
        when = ago_text(one.request.received_at, now_us())
        paint_line(painter, age, when, self._small, tokens.text_muted, align=RIGHT)
        title = QRect(top)
        title.setLeft(round(badge.right()) + 8)
        title.setRight(age.left() - 4)
        text = title_of(one.request, self._providers).main
        paint_line(painter, title, text, ui_font(), tokens.text, elide=Qt.TextElideMode.ElideMiddle)
        below = QRect(left, top.bottom() + 1, rect.right() - MARGIN - left, 18)
        colour = tokens.text if one.result is ComparisonResult.DIFFERENT else tokens.text_muted
        paint_line(painter, below, what_differs(one), self._small, colour)


def _newest_first(one: ComparedRequest) -> tuple[int, int]:
    """Ascending from the newest on: ids of the same time in reverse."""
    return -one.request.received_at, -int(one.request.id.replace("-", ""), 16)


def _tooltip(one: ComparedRequest) -> str:
    texts = [each.text for each in one.comparison.differences[:12]] or [what_differs(one)]
    return "\n".join([escape(one.request.target[:600]), exact_time(one.request.received_at), *texts])


class ComparedList(RowsList[ComparedRequest]):
    def __init__(self, model: ComparedModel, theme: Theme, parent: QWidget) -> None:
        super().__init__("Compared requests", model, ROW, theme, parent)
        WhileShown(self, self.viewport().update)  # the ages go on


LIST_WIDTH, LIST_MINIMUM = 370, 240
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


class ComparisonDialog(SideBySideDialog):
    """`endpoint` has at least two targets."""

    def __init__(self, endpoint: Endpoint, services: Services, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(_title(endpoint), theme, parent)
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
        same = counts[ComparisonResult.SAME]
        self.empty.say(*empty_words(same, neither, running=runner.running, ended=runner.ended))
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

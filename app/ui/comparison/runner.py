"""What is compared of an endpoint: which two of its targets, and what may differ, with the dialog to edit that; and the
runner that compares it. The choice is stored by slug in `window.ini` in the data folder.

Per endpoint, not per pair: what differs between two responses of the same program (IDs, times) is the same whichever of
its versions are compared. Not in the database: scripts name what they ignore in their own call, so that their result
does not change with what somebody clicked.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QObject, QSize, Signal, Slot
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.comparison import (
    IGNORED_HEADERS,
    IgnoredFields,
    ResponsePair,
    ResponsePairs,
    SideBySide,
    compare_pairs,
    side_by_side,
)
from app.core.events import DeliveryChanged
from app.core.json_path import json_path_error
from app.core.model import DeliveryState, Endpoint, PageKey
from app.core.record import Record
from app.core.rules import headers_error
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread, unless_cancelled
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import EditDialog
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.layout import Stretch, fill
from app.ui.window_file import WindowFile

WIDTH = 520


class ComparisonChoice(Record, frozen=True):
    """The IDs of the targets, and what may differ."""

    first: int
    second: int
    ignored: IgnoredFields = IgnoredFields()


def compare_command(endpoint: Endpoint, choice: ComparisonChoice) -> str:
    """The same comparison as a shell command."""
    ignored = choice.ignored
    usual = set(IGNORED_HEADERS) <= set(ignored.headers)
    names = [name for name in ignored.headers if not (usual and name in IGNORED_HEADERS)]
    words = ["hookline", "compare", endpoint.slug, str(choice.first), str(choice.second)]
    words += [] if usual else ["--all-headers"]
    words += [word for name in names for word in ("--ignore-header", name)]
    words += [word for path in ignored.json_paths for word in ("--ignore-path", path)]
    return shlex.join(words)


def stored_choice(file: WindowFile, endpoint: Endpoint) -> ComparisonChoice:
    """The endpoint's choice; its first two targets if it has none, or if one of those targets was deleted."""
    usual = ComparisonChoice(first=endpoint.targets[0].id, second=endpoint.targets[1].id)
    stored = file.decoded(_key(endpoint), ComparisonChoice)
    if stored is None:
        return usual
    ids = {target.id for target in endpoint.targets}
    if stored.first == stored.second or not {stored.first, stored.second} <= ids:
        return replace(usual, ignored=stored.ignored)
    return stored


def store_choice(file: WindowFile, endpoint: Endpoint, choice: ComparisonChoice) -> None:
    file.set_encoded(_key(endpoint), choice)


def _key(endpoint: Endpoint) -> str:
    return f"comparison/{endpoint.slug}"


class IgnoredDialog(EditDialog):
    """`saved` carries the new IgnoredFields."""

    saved = Signal(object)

    def __init__(self, ignored: IgnoredFields, theme: Theme, parent: QWidget) -> None:
        super().__init__("Ignored fields", theme, parent)
        self._before = ignored
        self.headers = self._edit("Ignored headers", ignored.headers, 150)
        self.paths = self._edit("Ignored JSON values", ignored.json_paths, 90)
        self.headers_field = LabeledField("Headers", self.headers, self, help_text="One name per line, in any case.")
        help_text = "One path per line: data.id, items[*].created_at, $..timestamp for any depth."
        self.paths_field = LabeledField("JSON values", self.paths, self, help_text=help_text)
        self.reset = Button("Restore defaults", theme, self, run=self._restore)
        self.cancel = self.make_close_button("Cancel")
        self.save = Button("Save", theme, self, kind="primary", run=self._save)
        self.save.setDefault(True)
        self.body.addWidget(self.headers_field)
        self.body.addWidget(self.paths_field)
        fill(self.footer, self.reset, Stretch(), self.cancel, self.save)
        for edit in (self.headers, self.paths):
            edit.textChanged.connect(self._check)

    def sizeHint(self) -> QSize:
        return self.sized_for(WIDTH)

    def has_changes(self) -> bool:
        return self._edited() != self._before

    def _edit(self, name: str, lines: tuple[str, ...], height: int) -> QPlainTextEdit:
        edit = QPlainTextEdit("\n".join(lines), self, tabChangesFocus=True)
        edit.setAccessibleName(name)
        edit.setMinimumHeight(height)
        return edit

    def _edited(self) -> IgnoredFields:
        headers, paths = (_lines(edit) for edit in (self.headers, self.paths))
        return IgnoredFields(headers=headers, json_paths=paths)

    @Slot()
    def _check(self) -> None:
        edited = self._edited()
        wrong = headers_error(tuple((name, "") for name in edited.headers), "Headers", frozenset())
        self.headers_field.set_error(wrong)
        wrong_path = next(filter(None, map(json_path_error, edited.json_paths)), None)
        self.paths_field.set_error(wrong_path)
        self.save.set_refusal(wrong or wrong_path)

    @Slot()
    def _restore(self) -> None:
        self.headers.setPlainText("\n".join(IGNORED_HEADERS))
        self.paths.setPlainText("")

    @Slot()
    def _save(self) -> None:
        edited = self._edited()
        self.accept()
        self.saved.emit(edited)


def _lines(edit: QPlainTextEdit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in edit.toPlainText().splitlines() if line.strip()))


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
            return pair, await in_thread(side_by_side, pair.first, pair.second, choice.ignored)
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

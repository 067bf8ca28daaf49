"""Deleting: what is asked before many requests or an endpoint are deleted, or a storage limit deletes some; and the ten
seconds in which a deletion can be undone, with the bar that offers it; then it is purged."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from itertools import count
from typing import Any, Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget
from shiboken6 import isValid

from app.core.bodies.escape import escape
from app.core.errors import HooklineError, NotAllowedError
from app.core.events import DeletionPurged, DeletionUndone, Event, Subscriptions
from app.core.model import Deletion, Endpoint, Mark, MarkedIds, StorageUse, WhenFull
from app.core.sizes import exact_size
from app.core.text import count_of, shortened, size_text
from app.ui.commands.command import Command, CommandGroup
from app.ui.services import Services
from app.ui.tasks import Tasks, cancel_unless_there
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Question, QuestionText, ask
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import hbox

log = logging.getLogger(__name__)

UNDO = "You can undo this for 10 seconds."
KEEP = "Keep starred requests and those with notes"
NAME_MAX = 80
"""Characters of a name or a filter."""


async def ask_keeping(plain: QuestionText, keeping: QuestionText | None, theme: Theme, over: QWidget) -> bool | None:
    """Whether to keep marked requests, an option unless `keeping`, its text then, is None. None: delete nothing. The
    waiting task is cancelled if `over` was closed meanwhile.
    """
    cancel_unless_there(over)
    question = Question(plain.title, plain.text, plain.confirm, theme, over)
    if keeping is not None:
        question.offer(KEEP, keeping)
    return question.option_checked if await question.answer() else None


def clear_question(endpoint: Endpoint, total: int, marked: MarkedIds, *, keep: bool = False) -> QuestionText:
    """For all requests of the endpoint."""
    more = "The endpoint and its URL are kept."
    return many_requests(total, marked, keep=keep, every=True, where=f"in “{short_text(endpoint.name)}”", more=more)


def endpoint_question(endpoint: Endpoint, total: int, marked: MarkedIds) -> tuple[str, str]:
    """Title and text for an endpoint with its requests."""
    requests = f" and its {count_of(total, 'request')}" if total else ""
    deletes = "This deletes the endpoint and its requests, with bodies and delivery results." if total else ""
    stops = "Its URL stops capturing at once." if endpoint.active else ""
    text = sentences([deletes, stops, marks_text(marked, total), UNDO])
    return f"Delete “{short_text(endpoint.name)}”{requests}?", text


def many_requests(count: int, marked: MarkedIds, *, keep: bool, every: bool, where: str, more: str) -> QuestionText:
    """`where` says which requests, `more` is a sentence about what is kept; `every` if they are all of a list."""
    left = max(0, count - len(marked.any)) if keep else count
    title = f"Delete {'all ' if every and count > 1 else ''}{count_of(count, 'request')}?"
    if keep:
        title = f"Delete {left:,} of {count_of(count, 'request')}?"
    deletes = f"This deletes {count_of(left, 'request')} {where}, with bodies and delivery results."
    text = sentences([deletes, marks_text(marked, count), more, UNDO])
    return QuestionText(title, text, f"Delete {count_of(left, 'request')}", possible=left > 0)


def marks_text(marked: MarkedIds, count: int) -> str:
    """`12 of 1,204 requests are starred and 3 have notes.`; empty where none is."""
    starred, noted = len(marked.starred), len(marked.noted)
    parts = [(starred, "is starred" if starred == 1 else "are starred")] if starred else []
    if noted:
        parts.append((noted, "has a note" if noted == 1 else "have notes"))
    if not parts:
        return ""
    if count == 1:
        return f"The request {' and '.join(verb for _, verb in parts)}."
    (first, verb), *others = parts
    more = "".join(f" and {number:,} {verb}" for number, verb in others)
    return f"{first:,} of {count_of(count, 'request')} {verb}{more}."


def sentences(parts: list[str]) -> str:
    return " ".join(part for part in parts if part)


def short_text(text: str) -> str:
    """A name or a filter, as a question has it."""
    return shortened(escape(text), NAME_MAX)


async def confirm_storage_limit(
    parent: QWidget, theme: Theme, use: StorageUse, limit: int | None, when_full: WhenFull
) -> bool:
    """Whether the user agrees to what this limit deletes of what is stored now; True where that is nothing."""
    if limit is None or when_full != "delete_oldest" or use.used <= limit:
        return True
    stored, over = (size_text(size) for size in (use.used, use.used - limit))
    text = (
        f"A limit of {exact_size(limit)} deletes at least {over} of the {stored} stored: the oldest requests, starred"
        " ones too. This cannot be undone."
    )
    return await ask(parent, theme, "Delete the oldest requests?", text, "Delete oldest requests")


DELAY_MS = 10_000.0
TICK_MS = 200
STEP = 20_000
"""Ids looked at in one step: a million at once would block the window."""
CLOSE_S = 1.0
"""Seconds, of the three in which the program ends, for pending deletions."""


class DeleteChanged(Event, frozen=True):
    """The user's deletion begins, is undone or is done. Published by the window: `begins` before anything is deleted,
    `undone` after everything is restored, with the number 0 for what another node restores."""

    number: int
    state: Literal["begins", "undone", "done"]
    endpoint_ids: frozenset[int] = frozenset()
    hides: Callable[[int, str], bool] | None = None
    """When it begins: whether it deletes the request of an endpoint."""


class WaitingDelete:
    """A deletion that can be undone, once `deletion` is set; `remaining_ms` is the time left for that."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.deletion = Deletion(number=0)
        self.remaining_ms: float | None = None
        self.purging: asyncio.Task[None] | None = None
        self.undoing = False
        self.restored = False
        """Whether what it deleted is back, since it is finishing."""

    @property
    def finishing(self) -> bool:
        """Whether it is being purged or undone: too late to undo."""
        return self.purging is not None or self.undoing

    @property
    def seconds_left(self) -> int:
        """For how long it can still be undone."""
        return max(0, math.ceil((self.remaining_ms or 0) / 1000))

    @property
    def text(self) -> str:
        """What is deleted, as a sentence: `1,204 requests deleted. 2 kept.`"""
        requests, endpoint = self.deletion.requests, self.deletion.endpoint
        if endpoint is not None:
            with_them = f" with {count_of(requests, 'request')}" if requests else ""
            return f"“{endpoint.name}” deleted{with_them}."
        kept = f" {self.deletion.kept:,} kept." if self.deletion.kept else ""
        return f"{'Request' if requests == 1 and not kept else count_of(requests, 'request')} deleted.{kept}"


class PendingDelete(QObject):
    """Deletes as the store does, but each deletion is purged only after its own countdown; `undo` reverts the
    newest."""

    changed = Signal()
    """The newest deletion changed, or none is left."""
    endpoint_back = Signal(object)
    """The deletion of this endpoint was undone."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._trash, self._captures = services.store.trash, services.store.captures
        self._bus, self._tasks = services.bus, tasks
        self._numbers = count(1)
        self.waiting: tuple[WaitingDelete, ...] = ()
        """All pending deletions, oldest first."""
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.add(DeletionPurged, self._purged)
        self._subscriptions.add(DeletionUndone, self._undone)
        self._on_hold = False
        self._closed = False
        self._last_tick = 0.0
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def newest(self) -> WaitingDelete | None:
        """The deletion that `undo` reverts."""
        return next((one for one in reversed(self.waiting) if one.remaining_ms is not None and not one.finishing), None)

    def hold(self, on: bool) -> None:
        """Stop the countdown: the user may be about to undo."""
        self._on_hold = on

    @Slot()
    def undo(self) -> None:
        """Undo the newest deletion."""
        newest = self.newest
        if newest is not None:
            self._tasks.start(self._undo(newest), "undo a delete")

    # -- deletions from the window --------------------------------------------------------------------------------

    async def delete(self, ids: Sequence[str]) -> None:
        deleted: set[str] = set()
        for start in range(0, len(ids), STEP):
            deleted.update(ids[start : start + STEP])
            await asyncio.sleep(0)
        await self._begin(lambda endpoint_id, capture_id: capture_id in deleted, self._trash.delete(ids))

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None:
        kept = (await self._captures.marked(endpoint_id)).of(keep)

        def deletes(of: int, capture_id: str) -> bool:
            return of == endpoint_id and capture_id not in kept

        await self._begin(deletes, self._trash.clear(endpoint_id, keep))

    async def delete_endpoint(self, endpoint_id: int) -> None:
        await self._begin(lambda of, capture_id: of == endpoint_id, self._trash.delete_endpoint(endpoint_id))

    async def close(self) -> None:
        """The program is ending: purge everything pending. What is left is stored, and restored by the next start."""
        self._closed = True
        self._timer.stop()
        ready = [one for one in self.waiting if one.remaining_ms is not None and not one.undoing]
        ends = {self._finish_soon(one): one for one in ready}
        if ends:
            done, late = await asyncio.wait(ends, timeout=CLOSE_S)
            failed = {end for end in done if end.cancelled() or end.exception() is not None}
            for end in late | failed:
                log.warning("not deleted before the end, at least not all: %s", ends[end].text)
        self._subscriptions.end()

    # -- countdown -----------------------------------------------------------------------------------------------

    async def _begin(self, deletes: Callable[[int, str], bool], deleting: Coroutine[Any, Any, Deletion]) -> None:
        one = WaitingDelete(next(self._numbers))
        self._bus.publish(DeleteChanged(number=one.number, state="begins", hides=deletes))
        self.waiting = (*self.waiting, one)
        try:
            one.deletion = await deleting
        except BaseException:
            self._restore(one)
            raise
        if not one.deletion.requests and one.deletion.endpoint is None:
            self._drop(one)
            return
        one.remaining_ms = DELAY_MS
        self._count_down()

    def _count_down(self) -> None:
        if not self._timer.isActive() and not self._closed:
            self._last_tick = time.monotonic()
            self._timer.start()
        self.changed.emit()

    @Slot()
    def _tick(self) -> None:
        now = time.monotonic()
        passed, self._last_tick = (now - self._last_tick) * 1000, now
        if not self._on_hold:
            for one in self.waiting:
                if one.remaining_ms is not None and not one.finishing:
                    one.remaining_ms -= passed
                    if one.remaining_ms <= 0:
                        self._finish_soon(one)
        if all(one.finishing for one in self.waiting):
            self._timer.stop()
        self.changed.emit()

    def _finish_soon(self, one: WaitingDelete) -> asyncio.Task[None]:
        """Start purging it unless that has begun."""
        if one.purging is None:
            one.purging = self._tasks.start(self._finish(one), f"delete {one.number}")
            self.changed.emit()
        return one.purging

    async def _finish(self, one: WaitingDelete) -> None:
        waits_again = False
        try:
            await self._trash.purge(one.deletion)
            if one.restored:
                self._restore(one)
        except HooklineError as error:
            if isinstance(error, NotAllowedError):
                pass  # what it hides is back with the role
            elif not self._trash.can_undo(one.deletion):
                self._restore(one)
            else:  # such as while the database is not reachable
                waits_again = True
                one.purging, one.remaining_ms = None, DELAY_MS
                self._count_down()
            raise
        finally:
            if not waits_again:
                self._drop(one)

    async def _undo(self, one: WaitingDelete) -> None:
        if one not in self.waiting or one.finishing:
            return
        one.undoing = True
        try:
            await self._trash.undo(one.deletion)
        except HooklineError:
            one.undoing = False
            self._count_down()  # it stopped if nothing else was waiting
            raise
        self._restore(one)

    def _restore(self, one: WaitingDelete) -> None:
        self.waiting = tuple(other for other in self.waiting if other is not one)
        if one.deletion.endpoint is not None:
            self.endpoint_back.emit(one.deletion.endpoint)
        ids = one.deletion.endpoint_ids
        self._bus.publish(DeleteChanged(number=one.number, state="undone", endpoint_ids=ids))
        self.changed.emit()

    def _purged(self, event: DeletionPurged) -> None:
        """Not only after its time: an endpoint is purged when it is in the way of another."""
        for one in self.waiting:
            if one.deletion.number == event.number:
                self._drop(one)

    def _undone(self, event: DeletionUndone) -> None:
        """Not only by the user: another node may have taken this one for dead."""
        one = next((one for one in self.waiting if one.deletion.number == event.number), None)
        if one is None:
            self._bus.publish(DeleteChanged(number=0, state="undone", endpoint_ids=event.endpoint_ids))
        elif one.finishing:
            one.restored = True
        else:
            self._restore(one)

    def _drop(self, one: WaitingDelete) -> None:
        if one in self.waiting:
            self.waiting = tuple(other for other in self.waiting if other is not one)
            self._bus.publish(DeleteChanged(number=one.number, state="done"))
            self.changed.emit()


HEIGHT = 44
UNDO_KEY = "Ctrl+Z"


class UndoBar(QFrame):
    """Shown while a deletion can be undone; the countdown stops while the pointer or the focus is in it.

    Ctrl+Z does the same in every window; in a text field it undoes typing.
    """

    def __init__(self, pending: PendingDelete, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._pending = pending
        self._announced: int | None = None
        self._previous_focus: QWidget | None = None
        self._under_mouse = False
        self.setProperty("part", "undo")
        self.setFixedHeight(HEIGHT)
        self.text = ElidedLabel("", "strong", self)
        self.left = label("", "faint", self)
        self.button = Button("Undo", theme, self, icon="undo")
        self.button.setToolTip(f"Undo ({UNDO_KEY})")
        self.button.clicked.connect(pending.undo)
        hbox(
            (self.text, 1),
            self.left,
            self.button,
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_3, 0),
        )
        self.command = Command(
            "Undo delete",
            theme,
            self,
            run=pending.undo,
            icon="undo",
            keys=(UNDO_KEY,),
            group=CommandGroup.LIST,
            context=Qt.ShortcutContext.ApplicationShortcut,
            unavailable=self._nothing_to_undo,
        )
        self.command.add_to(parent)  # a shortcut of the bar itself would not work while it is hidden
        pending.changed.connect(self._follow)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._focus_changed)
        self._follow()

    def event(self, event: QEvent) -> bool:
        """The pointer entered or left, or the window was hidden, for example by closing it to the tray."""
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.Hide):
            self._under_mouse = event.type() == QEvent.Type.Enter
            self._hold_countdown()
        return super().event(event)

    @Slot(object, object)
    def _focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        # Qt also reports the return to this window, from none or from a widget of another window.
        if new is self.button and old is not None and old.window() is self.window():
            self._previous_focus = old
        self._hold_countdown()

    def _hold_countdown(self) -> None:
        self._pending.hold(self.isVisible() and (self._under_mouse or self.button.hasFocus()))

    @Slot()
    def _follow(self) -> None:
        newest = self._pending.newest
        self.command.refresh()
        if newest is None:
            self._announced = None
            self._leave()
            return
        text = escape(newest.text)
        self.text.setText(text)
        self.left.setText(f"{newest.seconds_left} s")
        self.button.setAccessibleName("Undo")
        self.button.setAccessibleDescription(text)
        self.show()
        if newest.number != self._announced:
            self._announced = newest.number
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, f"{text} Press {UNDO_KEY} to undo."))

    def _nothing_to_undo(self) -> str | None:
        return None if self._pending.newest is not None else "There is nothing to undo."

    def _leave(self) -> None:
        """Hide; the focus returns to what is shown above."""
        had_focus = self.button.hasFocus()
        self._pending.hold(False)
        self.hide()
        if had_focus and self._previous_focus is not None and isValid(self._previous_focus):
            self._previous_focus.setFocus()

"""Deletions that can still be undone: hidden from the window at once, deleted from the store after ten seconds."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.core.deletion import Hidden, Mark
from app.core.errors import HooklineError, NotFoundError
from app.core.events import EndpointRemoved, EndpointSaved, Event, RequestsRemoved
from app.core.model import Endpoint
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.undo.delete_kinds import WaitingClearing, WaitingDelete, WaitingEndpoint, WaitingRequests
from app.ui.undo.visible_deliveries import VisibleDeliveries
from app.ui.undo.visible_repositories import (
    VisibleAccount,
    VisibleActivity,
    VisibleBus,
    VisibleCaptures,
    VisibleEndpoints,
)

log = logging.getLogger(__name__)

DELAY_MS = 10_000.0
TICK_MS = 200
STEP, HIDDEN_STEP = 500, 20_000
"""Requests hidden and announced in one step: a million at once would block the window."""
CLOSE_S = 1.0
"""Seconds, of the three in which the program ends, for pending deletions."""


class DeleteChanged(Event, frozen=True):
    """A deletion begins, hides requests, is undone or is done, with or without effect. Published on the window's bus
    only: `begins` before anything is hidden, `hides` before lists are updated, `undone` after everything is restored.
    """

    number: int
    state: Literal["begins", "hides", "undone", "done"]
    endpoint_ids: frozenset[int] = frozenset()
    hides: Callable[[int, str], bool] | None = None
    """Whether the deletion hides this request."""


class PendingDelete(QObject):
    """`services` are for the window: their lists, counts and events leave out what is pending deletion, and their
    deletions go through here. Each deletion has its own countdown; `undo` reverts the newest.
    """

    changed = Signal()
    """The newest deletion changed, or none is left."""
    endpoint_back = Signal(object)
    """The deletion of this endpoint was undone."""

    def __init__(self, services: Services, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._stored, self._tasks = services, tasks
        self._waiting: tuple[WaitingDelete, ...] = ()
        self._finishing: dict[int, asyncio.Task[None]] = {}
        self._bus = VisibleBus(services.bus, self)
        self.services = replace(
            services,
            captures=VisibleCaptures(services.captures, self),
            endpoints=VisibleEndpoints(services.endpoints, self),
            deliveries=VisibleDeliveries(services.deliveries, self),
            activity=VisibleActivity(services.activity, self),
            account=VisibleAccount(services.account, self),
            bus=self._bus,
        )
        services.replays.set_hidden(lambda: self.hidden)
        self._on_hold = False
        self._last_tick = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def waiting(self) -> tuple[WaitingDelete, ...]:
        """All pending deletions, oldest first."""
        return self._waiting

    @property
    def newest(self) -> WaitingDelete | None:
        """The deletion that `undo` reverts."""
        return next(
            (one for one in reversed(self._waiting) if one.remaining_ms is not None and not one.finishing), None
        )

    @property
    def seconds_left(self) -> int:
        """The time left for the newest deletion."""
        newest = self.newest
        return 0 if newest is None or newest.remaining_ms is None else max(0, math.ceil(newest.remaining_ms / 1000))

    @property
    def hidden(self) -> Hidden | None:
        """None while nothing is hidden."""
        if not self._waiting:
            return None
        spans = tuple(one.span for one in self._waiting if one.span is not None)
        return Hidden(spans=spans, names=self._hides_by_id if len(spans) < len(self._waiting) else None)

    def hides_endpoint(self, endpoint_id: int) -> bool:
        return any(one.hides_endpoint(endpoint_id) for one in self._waiting)

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
        """Hide these requests, then delete them."""
        one = WaitingRequests()
        self._begin(one)
        try:
            for start in range(0, len(ids), HIDDEN_STEP):
                one.hide(ids[start : start + HIDDEN_STEP])
                await asyncio.sleep(0)
            self._announce_hidden(one)
            for start in range(0, len(ids), STEP):
                found = await self._stored.captures.clearings.stored(ids[start : start + STEP])
                for endpoint_id, stored in found.items():
                    one.add(endpoint_id, stored.ids, stored.unread)
                    self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=stored.ids, unread=stored.unread))
        except BaseException:
            self._restore(one)
            raise
        if one.endpoint_ids:
            self._start_countdown(one)
        else:
            self._drop(one)

    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> None:
        """Hide the requests of the endpoint, except those with a mark in `keep`, then delete them."""
        clearing = await self._stored.captures.clearings.begin(endpoint_id, keep)
        kept = frozenset(clearing.kept)
        one = WaitingClearing(clearing, self._stored.captures.counts(endpoint_id).total - clearing.total)
        self._begin(one)
        self._announce_hidden(one)
        self._publish(RequestsRemoved(endpoint_id=endpoint_id, ids=None, upto=clearing.upto, kept=kept))
        self._start_countdown(one)

    async def delete_endpoint(self, endpoint_id: int) -> None:
        """Disable the endpoint and hide it, then delete it."""
        endpoint = self.services.endpoints.by_id(endpoint_id)
        if endpoint is None:
            raise NotFoundError("This endpoint no longer exists.")
        one = WaitingEndpoint(endpoint, self.services.captures.counts(endpoint_id).total)
        self._begin(one)
        try:
            await one.switch_off(self._stored)
        except BaseException:
            self._drop(one)
            raise
        self._announce_hidden(one)
        self._publish(EndpointRemoved(endpoint=endpoint))
        self._start_countdown(one)

    async def finish_endpoints(self, blocks: Callable[[Endpoint], bool], most: int | None = None) -> bool:
        """Delete pending endpoints that block a change, at most `most` of them, oldest deletion first; False if there
        are none.
        """
        waiting = (one for one in self._waiting if isinstance(one, WaitingEndpoint))
        blocking = [one for one in waiting if one.remaining_ms is not None and not one.undone and blocks(one.endpoint)]
        for one in blocking[:most]:
            await self._finish_soon(one)
        return bool(blocking)

    async def close(self) -> None:
        """The program is ending: delete everything pending. What cannot be deleted in time stays stored."""
        self._timer.stop()
        ends = {self._finish_soon(one): one for one in self._waiting if one.remaining_ms is not None and not one.undone}
        if ends:
            done, late = await asyncio.wait(ends, timeout=CLOSE_S)
            failed = {end for end in done if end.cancelled() or end.exception() is not None}
            for end in late | failed:
                log.warning("not deleted before the end, at least not all: %s", ends[end].text)
        self._bus.stop()

    # -- countdown -----------------------------------------------------------------------------------------------

    def _begin(self, one: WaitingDelete) -> None:
        self._publish(DeleteChanged(number=one.number, state="begins"))
        self._waiting = (*self._waiting, one)

    def _announce_hidden(self, one: WaitingDelete) -> None:
        self._publish(DeleteChanged(number=one.number, state="hides", hides=one.hides))

    def _start_countdown(self, one: WaitingDelete) -> None:
        one.remaining_ms = DELAY_MS
        if not self._timer.isActive():
            self._last_tick = time.monotonic()
            self._timer.start()
        self.changed.emit()

    @Slot()
    def _tick(self) -> None:
        now = time.monotonic()
        passed, self._last_tick = (now - self._last_tick) * 1000, now
        if not self._on_hold:
            for one in self._waiting:
                if one.remaining_ms is not None and not one.finishing:
                    one.remaining_ms -= passed
                    if one.remaining_ms <= 0:
                        self._finish_soon(one)
        if all(one.finishing for one in self._waiting):
            self._timer.stop()
        self.changed.emit()

    def _finish_soon(self, one: WaitingDelete) -> asyncio.Task[None]:
        """Start deleting it unless that has begun."""
        if not one.finishing:
            one.finishing = True
            self._finishing[one.number] = self._tasks.start(self._finish(one), f"delete {one.number}")
            self.changed.emit()
        return self._finishing[one.number]

    async def _finish(self, one: WaitingDelete) -> None:
        try:
            await one.finish(self._stored)
        except HooklineError:
            self._restore(one)
            raise
        finally:
            self._drop(one)
        if one.some_kept:
            self._publish(DeleteChanged(number=one.number, state="undone", endpoint_ids=one.endpoint_ids))

    async def _undo(self, one: WaitingDelete) -> None:
        if one not in self._waiting or one.finishing:
            return
        one.finishing = one.undone = True
        try:
            await one.give_up(self._stored)
        finally:
            self._restore(one)

    def _restore(self, one: WaitingDelete) -> None:
        self._waiting = tuple(other for other in self._waiting if other is not one)
        if isinstance(one, WaitingEndpoint):
            current = self._stored.endpoints.by_id(one.endpoint.id)
            if current is not None:
                self._publish(EndpointSaved(endpoint=current, created=False))
                self.endpoint_back.emit(current)
        self._publish(DeleteChanged(number=one.number, state="undone", endpoint_ids=one.endpoint_ids))
        self.changed.emit()

    def _drop(self, one: WaitingDelete) -> None:
        self._finishing.pop(one.number, None)
        if one in self._waiting:
            self._waiting = tuple(other for other in self._waiting if other is not one)
            self._publish(DeleteChanged(number=one.number, state="done"))
            self.changed.emit()

    def _hides_by_id(self, capture_id: str) -> bool:
        return any(one.span is None and one.hides(0, capture_id) for one in self._waiting)

    def _publish(self, event: Event) -> None:
        self._bus.publish(event)

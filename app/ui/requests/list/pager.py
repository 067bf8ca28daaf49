"""Reads stored requests into the model a page at a time, around the user's position, of all times or a time range."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.core.ids import first_id
from app.core.model import PageKey, Summary
from app.core.record import Record
from app.core.store import CaptureRepository
from app.ui.requests.list.model import RequestModel
from app.ui.tasks import Tasks

PAGE = 200
_OLDEST = PageKey(received_at=-1, id="")


class TimeRange(Record, frozen=True):
    """From `start` up to, not including, `end`, in microseconds."""

    start: int
    end: int

    @property
    def top(self) -> PageKey:
        """The requests in the range are older than this key."""
        return PageKey(received_at=self.end, id=first_id(self.end))

    @property
    def bottom(self) -> PageKey:
        """The requests in the range are newer than this key."""
        return PageKey(received_at=self.start, id=first_id(self.start))

    def holds(self, at_us: int) -> bool:
        """Whether the time is in the range."""
        return self.start <= at_us < self.end

    def cut(self, page: Sequence[Summary]) -> list[Summary]:
        """The part of a page that is in the range."""
        return [item for item in page if self.holds(item.received_at)]


class Pager(QObject):
    """Pages of one endpoint's requests, or of all (None). Requests from before the last jump are discarded."""

    loaded = Signal()
    """The newest or the oldest page is in the model, or the two around a request."""
    reached_newest = Signal(int)
    """Paging upwards reached the newest request; carries how many have arrived since that page was requested."""

    def __init__(
        self, model: RequestModel, captures: CaptureRepository, tasks: Tasks, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.endpoint_id: int | None = None
        self.time_range: TimeRange | None = None
        """The time range that is listed; None for all."""
        self.arrived = 0
        """Incremented by the listener for new requests."""
        self.jumping = False
        self._model, self._captures, self._tasks = model, captures, tasks
        self._generation = 0
        self._busy = False

    def give_up(self) -> None:
        """Discard what is being read."""
        self._generation += 1
        self.jumping = False

    def head(self) -> None:
        self._jump(self._read_head, "list: newest requests")

    def tail(self) -> None:
        self._jump(self._read_tail, "list: oldest requests")

    def around(self, key: PageKey) -> None:
        """Read the page that begins with this request and the page of newer ones."""
        self._jump(partial(self._read_around, key), "list: around a request")

    def older(self) -> None:
        """Read the page below the last row, unless that is in progress."""
        key = self._model.oldest_key()
        if not (self._busy or self._model.at_tail or key is None):
            self._busy = True
            self._tasks.start(self._read_older(key, self._generation), "list: older requests")

    def newer(self) -> None:
        """Read the page above the first row, unless that is in progress."""
        key = self._model.newest_key()
        if not (self._busy or self._model.at_head or key is None):
            self._busy = True
            self._tasks.start(self._read_newer(key, self._generation), "list: newer requests")

    def check(self) -> None:
        """Drop rows that are no longer stored."""
        newest, oldest = self._model.newest_key(), self._model.oldest_key()
        if newest is not None and oldest is not None:
            self._tasks.start(self._drop_deleted(newest, oldest, self._generation), "list: what retention left")

    def _jump(self, read: Callable[[int], Coroutine[Any, Any, None]], name: str) -> None:
        self._generation += 1
        self.jumping = True
        self._tasks.start(self._run(read, self._generation), name)

    async def _run(self, read: Callable[[int], Coroutine[Any, Any, None]], generation: int) -> None:
        """After a failed jump the list is empty: new requests still appear, and scrolling loads the older ones."""
        try:
            await read(generation)
        except Exception:
            if generation == self._generation:
                self.jumping = False
                self._model.reset([], at_head=True, at_tail=False)
                self.loaded.emit()
            raise

    async def _read_head(self, generation: int) -> None:
        before = self.time_range.top if self.time_range else None
        page, ended = self._cut(await self._captures.page(self.endpoint_id, before=before, limit=PAGE))
        if generation == self._generation:
            self.jumping = False
            self._show_head(page, ended)
            self.loaded.emit()

    def _cut(self, page: list[Summary]) -> tuple[list[Summary], bool]:
        """The part of a page that is listed, and whether there is no more beyond it."""
        kept = self.time_range.cut(page) if self.time_range else page
        return kept, len(kept) < PAGE

    def _show_head(self, page: list[Summary], ended: bool) -> None:
        """Existing rows stay, so that selection and scroll position stay; only a gap replaces all rows."""
        newest, oldest = self._model.newest_key(), self._model.oldest_key()
        if newest and oldest and self._model.at_head and page and oldest.id <= page[-1].id <= newest.id:
            self._model.add_newer(page)
        else:
            self._model.reset(page, at_head=True, at_tail=ended)

    async def _read_tail(self, generation: int) -> None:
        after = self.time_range.bottom if self.time_range else _OLDEST
        page, ended = self._cut(await self._captures.page(self.endpoint_id, after=after, limit=PAGE))
        if generation == self._generation:
            self.jumping = False
            self._model.reset(page, at_head=ended, at_tail=True)
            self.loaded.emit()

    async def _read_around(self, key: PageKey, generation: int) -> None:
        older, bottom = self._cut(await self._captures.page(self.endpoint_id, before=just_above(key), limit=PAGE))
        newer, top = self._cut(await self._captures.page(self.endpoint_id, after=key, limit=PAGE))
        if generation == self._generation:
            self.jumping = False
            self._model.reset(newer + older, at_head=top, at_tail=bottom)
            self.loaded.emit()

    async def _read_older(self, key: PageKey, generation: int) -> None:
        try:
            page, ended = self._cut(await self._captures.page(self.endpoint_id, before=key, limit=PAGE))
        finally:
            self._busy = False
        if generation == self._generation:
            self._model.at_tail = ended
            self._model.add_older(page)

    async def _read_newer(self, key: PageKey, generation: int) -> None:
        arrived = self.arrived
        try:
            page, ended = self._cut(await self._captures.page(self.endpoint_id, after=key, limit=PAGE))
        finally:
            self._busy = False
        if generation == self._generation:
            self._model.at_head = ended
            self._model.add_newer(page)
            if self._model.at_head:
                self.reached_newest.emit(self.arrived - arrived)

    async def _drop_deleted(self, newest: PageKey, oldest: PageKey, generation: int) -> None:
        above, count = just_above(newest), self._model.rowCount()
        stored = {item.id for item in await self._captures.page(self.endpoint_id, before=above, limit=count)}
        if generation == self._generation:
            self._model.remove(lambda item: oldest.id <= item.id <= newest.id and item.id not in stored)


def just_above(key: PageKey) -> PageKey:
    """A key whose next older row is this one."""
    return PageKey(received_at=key.received_at, id=key.id + "~")

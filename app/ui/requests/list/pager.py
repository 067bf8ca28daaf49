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
from app.ui.tasks import Latest, Tasks, unless_cancelled

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
        self.busy = False
        """Whether the next older or newer page is being read."""
        self._model, self._captures = model, captures
        self._jump = Latest(self, tasks, "list: jump")
        self._next_page = Latest(self, tasks, "list: next page")
        self._check = Latest(self, tasks, "list: what retention left")

    def give_up(self) -> None:
        """Discard what is being read."""
        for reading in (self._jump, self._next_page, self._check):
            reading.stop()
        self.jumping = self.busy = False

    def head(self) -> None:
        self._jump_by(self._read_head)

    def tail(self) -> None:
        self._jump_by(self._read_tail)

    def around(self, key: PageKey) -> None:
        """Read the page that begins with this request and the page of newer ones."""
        self._jump_by(partial(self._read_around, key))

    def older(self) -> None:
        """Read the page below the last row, unless that is in progress."""
        key = self._model.oldest_key()
        if not (self.busy or self._model.at_tail or key is None):
            self.busy = True
            self._next_page.run(partial(self._read_older, key))

    def newer(self) -> None:
        """Read the page above the first row, unless that is in progress."""
        key = self._model.newest_key()
        if not (self.busy or self._model.at_head or key is None):
            self.busy = True
            self._next_page.run(partial(self._read_newer, key))

    def check(self) -> None:
        """Drop rows that are no longer stored."""
        newest, oldest = self._model.newest_key(), self._model.oldest_key()
        if newest is not None and oldest is not None:
            self._check.run(partial(self._drop_deleted, newest, oldest))

    def _jump_by(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.give_up()
        self.jumping = True
        self._jump.run(partial(self._run, read))

    async def _run(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """After a failed jump the list is empty: new requests still appear, and scrolling loads the older ones."""
        try:
            await read()
        except Exception:
            self.jumping = False
            self._model.reset([], at_head=True, at_tail=False)
            self.loaded.emit()
            raise

    async def _read_head(self) -> None:
        before = self.time_range.top if self.time_range else None
        page, ended = self._cut(await self._captures.page(self.endpoint_id, before=before, limit=PAGE))
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

    async def _read_tail(self) -> None:
        after = self.time_range.bottom if self.time_range else _OLDEST
        page, ended = self._cut(await self._captures.page(self.endpoint_id, after=after, limit=PAGE))
        self.jumping = False
        self._model.reset(page, at_head=ended, at_tail=True)
        self.loaded.emit()

    async def _read_around(self, key: PageKey) -> None:
        older, bottom = self._cut(await self._captures.page(self.endpoint_id, before=just_above(key), limit=PAGE))
        newer, top = self._cut(await self._captures.page(self.endpoint_id, after=key, limit=PAGE))
        self.jumping = False
        self._model.reset(newer + older, at_head=top, at_tail=bottom)
        self.loaded.emit()

    async def _read_older(self, key: PageKey) -> None:
        with unless_cancelled(self._page_read):
            page, ended = self._cut(await self._captures.page(self.endpoint_id, before=key, limit=PAGE))
        self._model.at_tail = ended
        self._model.add_older(page)

    async def _read_newer(self, key: PageKey) -> None:
        arrived = self.arrived
        with unless_cancelled(self._page_read):
            page, ended = self._cut(await self._captures.page(self.endpoint_id, after=key, limit=PAGE))
        self._model.at_head = ended
        self._model.add_newer(page)
        if self._model.at_head:
            self.reached_newest.emit(self.arrived - arrived)

    def _page_read(self) -> None:
        self.busy = False

    async def _drop_deleted(self, newest: PageKey, oldest: PageKey) -> None:
        above, count = just_above(newest), self._model.rowCount()
        stored = {item.id for item in await self._captures.page(self.endpoint_id, before=above, limit=count)}
        self._model.remove(lambda item: oldest.id <= item.id <= newest.id and item.id not in stored)


def just_above(key: PageKey) -> PageKey:
    """A key whose next older row is this one."""
    return PageKey(received_at=key.received_at, id=key.id + "~")

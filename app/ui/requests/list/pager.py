"""Reads stored requests, or those a search finds, into the model a page at a time, around the user's position."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.core.ids import first_id, uuid7_ms
from app.core.model import PageKey, Summary
from app.core.record import Record
from app.core.search.query import Choice, Filter, Query, TimePoint, flatten
from app.ui.requests.list.model import MAX_ROWS, RequestModel
from app.ui.tasks import Latest, Tasks, is_temporary, unless_cancelled

if TYPE_CHECKING:
    from app.db.captures import Captures

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


class ListScope(Record, frozen=True):
    """Which requests a list has: of an endpoint (None: all), matching a query, received within a time range."""

    endpoint_id: int | None = None
    query: Query | None = None
    time_range: TimeRange | None = None

    @property
    def whole(self) -> bool:
        """Whether it has all of its endpoint."""
        return self.query is None and self.time_range is None

    def search(self, since: int | None = None) -> Query:
        """The query that finds what is listed of an endpoint, received at `since` (microseconds) or later."""
        own = self.query or Query(text="", terms=())
        return Query(text=own.text, terms=(*own.terms, *_bounds(self.time_range, since)))

    def touches(self, endpoint_ids: Collection[int]) -> bool:
        """Whether it may have requests of one of these endpoints."""
        return self.endpoint_id is None or self.endpoint_id in endpoint_ids


class Pager(QObject):
    """Pages of the requests in `scope`, which has no query. Requests from before the last jump are discarded."""

    loaded = Signal()
    """The newest or the oldest page is in the model, or the two around a request."""
    reached_newest = Signal()
    """Paging upwards reached the newest request."""

    def __init__(self, model: RequestModel, captures: Captures, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.scope = ListScope()
        self.jumping = self.failed = False
        """Whether the last jump has not been read yet; whether that failed and is tried again in a moment."""
        self._reads_next = False
        self._missing: str | None = None
        """The oldest request known to be missing among the rows, until the newest page has been read."""
        self._late: list[Summary] = []
        """What arrived while a page is read, which may have been read without it."""
        self._model, self._captures = model, captures
        self._jump = Latest(self, tasks, "list: jump")
        self._next_page = Latest(self, tasks, "list: next page")

    @property
    def busy(self) -> bool:
        """Whether the next older or newer page is being read."""
        return self._reads_next

    def give_up(self) -> None:
        """Discard what is being read."""
        for reading in (self._jump, self._next_page):
            reading.stop()
        self.jumping = self.failed = self._reads_next = False

    async def ended(self) -> None:
        """Return once what is being read is in the model, or was discarded."""
        for reading in (self._jump, self._next_page):
            await reading.ended()

    def head(self, missing: str | None = None) -> None:
        """Read the newest page. `missing` is the oldest request that is not among the rows where it belongs."""
        self._missing = min((one for one in (missing, self._missing) if one is not None), default=None)
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
            self._read_next(partial(self._read_older, key))

    def newer(self) -> None:
        """Read the page above the first row, unless that is in progress."""
        key = self._model.newest_key()
        if not (self.busy or self._model.at_head or key is None):
            self._read_next(partial(self._read_newer, key))

    def captured(self, newest_first: Iterable[Summary]) -> None:
        """These belong to the page that is being read if they are among its requests."""
        if self.busy or self.jumping:
            self._late.extend(newest_first)

    def _read_next(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._reads_next = True
        self._late.clear()
        self._next_page.run(read)

    def _jump_by(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.give_up()
        self.jumping = True
        self._jump.run(partial(self._run, read))

    async def _run(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """After a failed jump the list is empty until it is made again: new requests still appear, and scrolling loads
        the older ones.
        """
        self._next_page.stop()
        again, self.failed, self._reads_next = self.failed, False, False
        self._late.clear()
        try:
            await read()
        except Exception as error:
            self.jumping = self.failed = is_temporary(error)
            if not again:
                self._model.reset([], at_head=True, at_tail=False)
                self.loaded.emit()
            raise

    async def _read_head(self) -> None:
        times = self.scope.time_range
        page, ended = await self._read(before=times.top if times else None)
        self.jumping = False
        self._show_head(page, ended)
        self.loaded.emit()

    async def _read(self, *, before: PageKey | None = None, after: PageKey | None = None) -> tuple[list[Summary], bool]:
        """The part of a page that is listed, and whether there is no more beyond it."""
        page = await self._captures.page(self.scope.endpoint_id, before=before, after=after, limit=PAGE)
        kept = self.scope.time_range.cut(page) if self.scope.time_range else page
        return kept, len(kept) < PAGE

    def _show_head(self, page: list[Summary], ended: bool) -> None:
        """Existing rows stay, so that selection and scroll position stay; only a gap replaces all rows."""
        newest, oldest = self._model.newest_key(), self._model.oldest_key()
        last = page[-1].id if page else ""
        complete = self._model.at_head and (self._missing is None or last <= self._missing)
        self._missing = None
        if newest and oldest and complete and oldest.id <= last <= newest.id:
            self._model.add_newer(page)
        else:
            self._model.reset(page, at_head=True, at_tail=ended)

    async def _read_tail(self) -> None:
        times = self.scope.time_range
        page, ended = await self._read(after=times.bottom if times else _OLDEST)
        self.jumping = False
        self._model.reset(page, at_head=ended, at_tail=True)
        self._model.take_between(self._late)
        self.loaded.emit()

    async def _read_around(self, key: PageKey) -> None:
        older, bottom = await self._read(before=just_above(key))
        newer, top = await self._read(after=key)
        self.jumping = False
        self._model.reset(newer + older, at_head=top, at_tail=bottom)
        self.loaded.emit()

    async def _read_older(self, key: PageKey) -> None:
        with unless_cancelled(self._page_read):
            page, ended = await self._read(before=key)
        self._model.at_tail = ended
        self._model.add_older(page)
        self._model.take_between(self._late)

    async def _read_newer(self, key: PageKey) -> None:
        with unless_cancelled(self._page_read):
            page, ended = await self._read(after=key)
        self._model.at_head = ended
        self._model.add_newer(page)
        self._model.take_between(self._late)
        if self._model.at_head:
            self.reached_newest.emit()

    def _page_read(self) -> None:
        self._reads_next = False


def just_above(key: PageKey) -> PageKey:
    """A key whose next older row is this one."""
    return PageKey(received_at=key.received_at, id=key.id + "~")


_MARKS = {"read": "read", "starred": "starred", "note": "noted"}
"""How `is:` names what these fields of a summary say."""
STALE_MS = 500
"""Rows of the previous filter stay for this time while nothing is found; otherwise they would flicker."""


def adds_matches(query: Query | None, fields: Mapping[str, object]) -> bool:
    """Whether the query may match a request only since these fields of its summary have changed to these values."""
    if query is None:
        return False
    marks = {(_MARKS[name], value not in (False, None)) for name, value in fields.items() if name in _MARKS}
    if "read" in fields:
        marks.add(("unread", not fields["read"]))
    return not marks.isdisjoint(_marks(query)) or mentions(query, *fields)


def _marks(query: Query) -> Iterator[tuple[str, bool]]:
    """The marks of `is:` filters, and whether requests with the mark are meant, or those without."""
    for leaf in flatten(query.terms):
        term = leaf.term
        if isinstance(term, Filter) and term.name == "is" and isinstance(term.condition, Choice):
            yield term.condition.value, not leaf.negated


class SearchPager(Pager):
    """Of the requests that the scope's query matches. Rows of the previous filter stay until there are others."""

    progressed = Signal()
    """There are more results or more was searched, or the search ended."""
    arrived = Signal(object)
    """Newer requests that match, newest first; empty if nothing new does."""

    def __init__(self, model: RequestModel, captures: Captures, tasks: Tasks, parent: QObject) -> None:
        super().__init__(model, captures, tasks, parent)
        self.searched = self.unexamined = 0
        """How many of the newest requests have been searched, as far as is known, and how many others may match and are
        left out."""
        self.stopped = False
        """Whether the user stopped the search: nothing older is searched."""
        self.stale = QTimer(self, singleShot=True, interval=STALE_MS)
        self.stale.timeout.connect(self._forget)
        """Active while the rows are still those of the previous filter."""
        self._queued = Latest(self, tasks, "search: new requests")
        self._searching_queued = False
        self._oldest_queued: str | None = None
        """The oldest of the requests passed to `queue`: everything newer is searched again."""

    @property
    def busy(self) -> bool:
        """Whether the search is running."""
        return self._reads_next or (self.jumping and not self.failed)

    @property
    def done(self) -> bool:
        """Whether all matches are in the model."""
        return not self.jumping and self._model.at_tail

    def give_up(self) -> None:
        """End the current search."""
        was_busy = self.busy
        super().give_up()
        self._queued.stop()
        self._searching_queued, self._oldest_queued = False, None
        self.stale.stop()
        if was_busy:
            self.progressed.emit()

    async def ended(self) -> None:
        await super().ended()
        await self._queued.ended()

    def stop(self) -> None:
        """Stop the current search at the user's request."""
        if not self.busy:
            return
        if self.stale.isActive():
            self._forget()
        self.stopped = True
        super().give_up()
        self._ended()
        self.search_queued()

    def head(self, missing: str | None = None) -> None:
        """Search from the newest request on, whatever is missing among the rows."""
        super().head()
        self._begin()
        self.stale.start()
        self.progressed.emit()

    def around(self, key: PageKey) -> None:
        """The same as `head`: results are read from the newest on only."""
        self.head()

    def tail(self) -> None:
        """The results so far end here; reading continues from there."""
        self.loaded.emit()
        self.older()

    def older(self) -> None:
        """Continue the search below the last row, unless it is running or the user stopped it."""
        if not (self.failed or self.stopped) and self._model.rowCount() <= MAX_ROWS - PAGE:
            super().older()

    def newer(self) -> None:
        """There is never anything unknown above the first row."""

    def queue(self, ids: Iterable[str]) -> None:
        """These requests are new or changed: `search_queued` checks whether they match."""
        self._oldest_queued = min([*ids, *([self._oldest_queued] if self._oldest_queued else [])], default=None)

    def search_queued(self) -> None:
        """Search the requests passed to `queue`, and report them with `arrived`."""
        if self._oldest_queued is not None and not self._searching_queued and (self.failed or not self.jumping):
            oldest, self._oldest_queued, self._searching_queued = self._oldest_queued, None, True
            self._queued.run(partial(self._search_queued, oldest))

    def _read_next(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super()._read_next(read)
        self.progressed.emit()

    async def _run(self, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._begin()
        with unless_cancelled(self._ended):
            await super()._run(read)

    def _begin(self) -> None:
        self.searched, self.unexamined, self.stopped = 0, 0, False

    def _ended(self) -> None:
        self.stale.stop()
        self.progressed.emit()

    async def _read_head(self) -> None:
        found = 0
        async for rows in self._search(limit=PAGE, counted=True):
            if found:
                self._model.add_older(rows)
            else:
                self._model.reset(rows, at_head=True, at_tail=False)
            found += len(rows)
            self.stale.stop()
            self.progressed.emit()
        if not found:
            self._forget()
        self._model.at_tail = found < PAGE
        self.jumping = False
        self.loaded.emit()

    async def _read_older(self, key: PageKey) -> None:
        found = 0
        self._reads_next = True  # not yet when it is read again after it failed
        with unless_cancelled(self._page_read):
            # What was found before that is in the list.
            async for rows in self._search(before=self._model.oldest_key() or key, limit=PAGE, counted=True):
                self._model.add_older(rows)
                found += len(rows)
                self.progressed.emit()
            self._model.at_tail = found < PAGE

    def _page_read(self) -> None:
        super()._page_read()
        self.progressed.emit()

    async def _search_queued(self, oldest: str) -> None:
        found: list[Summary] = []
        with unless_cancelled(self._queued_searched):
            async for rows in self._search(since=uuid7_ms(oldest) * 1000, limit=PAGE + 1):
                found += [summary for summary in rows if summary.id >= oldest]
        # Also if none was found: the listener then checks the requests noted meanwhile.
        self.arrived.emit(found)

    def _queued_searched(self) -> None:
        self._searching_queued = False

    async def _search(
        self,
        *,
        limit: int,
        before: PageKey | None = None,
        since: int | None = None,
        counted: bool = False,
    ) -> AsyncGenerator[list[Summary], None]:
        found = self._captures.search(
            self.scope.search(since),
            self.scope.endpoint_id,
            before=before,
            limit=limit,
            searched=self._advance if counted else None,
            unexamined=self._leave_out if counted else None,
        )
        async with aclosing(found):
            async for rows in found:
                yield rows

    def _advance(self, searched: int) -> None:
        self.searched = searched
        self.progressed.emit()

    def _leave_out(self, unexamined: int) -> None:
        self.unexamined += unexamined
        self.progressed.emit()

    @Slot()
    def _forget(self) -> None:
        """Drop the rows of the previous filter after a moment."""
        self._model.reset([], at_head=True, at_tail=False)
        self.progressed.emit()


def _bounds(time_range: TimeRange | None, since: int | None) -> list[Filter]:
    """The time range as conditions, at positions that no written term has."""
    starts = [at for at in (since, time_range.start if time_range else None) if at is not None]
    found = [Filter(name="since", source="", condition=TimePoint(at=max(starts)), start=-1, end=-1)] if starts else []
    if time_range is not None:
        found.append(Filter(name="before", source="", condition=TimePoint(at=time_range.end), start=-2, end=-2))
    return found


def mentions(query: Query | None, *names: str) -> bool:
    """Whether the query has a filter of one of these names."""
    leaves = flatten(query.terms) if query is not None else ()
    return any(isinstance(leaf.term, Filter) and leaf.term.name in names for leaf in leaves)

"""Runs a search: batches of summaries, newest first, as they are found."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from app.core.clock import now_us
from app.core.model import PageKey, Summary
from app.core.redaction.secret import HOLE, SecretHeaders
from app.core.search.query import Filter, JsonTest, Leaf, Query, Term, flatten
from app.db.part import Part
from app.db.queries import numbers_of
from app.db.readers import Readers
from app.db.search.index_terms import folded
from app.db.search.scan import NEWEST, ListedRow, ListSection, Scan, place_before
from app.db.search.sql_filter import to_sql_filter

G = TypeVar("G")

STEP_S = 0.02
"""About how long a step should take."""
FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 100, 20, 20_000


class Search(Part):
    """An engine's search has an index of its own, see `_by_index`."""

    step_s = STEP_S

    async def search(
        self,
        query: Query,
        endpoint_id: int | None,
        *,
        before: PageKey | None = None,
        limit: int = 100,
        searched: Callable[[int], None] | None = None,
        unexamined: Callable[[int], None] | None = None,
        secret_headers: SecretHeaders | None = None,
    ) -> AsyncGenerator[list[Summary], None]:
        """The requests that match the query, newest first: at most `limit` summaries in total, older than `before`, in
        batches that are never empty. Closing the generator cancels the search.

        During a long search, `searched` receives how many of the list's newest requests have been examined.
        `unexamined` receives the numbers of requests, as they are found, that may match and are left out: what their
        bodies unpack to is too long. With `secret_headers`, requests are examined without their secrets.
        """
        if endpoint_id is not None and self._request_counts.has_none(endpoint_id):
            return  # a reader would pass each of those that are deleted
        scan = self._scan(query, endpoint_id, secret_headers)
        narrowing = query.terms if secret_headers is None else _indexed_terms(query)
        place = min(before or NEWEST, place_before(scan.sql_filter.before))
        progress = ScanProgress(self._readers, scan, place_before(scan.sql_filter.before), searched)
        try:
            rows, left = FIRST_ROWS, limit
            async for section in self._sections(scan, narrowing, place):
                if section.floor is not None and section.floor >= place:
                    continue  # scanned already, along with requests received after the clock was set back
                nothing = section.rows == [] or section.seqs == frozenset()
                at = section.floor if nothing else place
                while at is not None and at != section.floor:
                    if left <= 0 or at.received_at < scan.sql_filter.since:
                        return
                    begin = time.perf_counter()
                    job = partial(scan.step, section=section, place=at, rows=rows, limit=left)
                    step = await self._readers.run(job, slow=True)
                    rows = _next_rows(rows, self.step_s, time.perf_counter() - begin)
                    at, left = step.reached, left - len(step.found)
                    if step.unexamined and unexamined is not None:
                        unexamined(step.unexamined)
                    await progress.reached(at, found=bool(step.found))
                    if step.found:
                        yield step.found
                if section.floor is None:
                    return
                place = section.floor
                await progress.reached(place)
        finally:
            scan.cancelled.set()

    async def matching(
        self, query: Query, ids: Collection[str], secret_headers: SecretHeaders | None = None
    ) -> set[str]:
        """Which of these requests match the query, at most `FEW`; `secret_headers` as in a search."""
        scan = self._scan(query, None, secret_headers)
        section = ListSection(seqs=await self._readers.run(lambda database: numbers_of(database, ids)))
        found: set[str] = set()
        place: PageKey | None = NEWEST
        try:
            while place is not None and section.seqs:
                job = partial(scan.step, section=section, place=place, rows=MOST_ROWS, limit=len(section.seqs) + 1)
                step = await self._readers.run(job, slow=True)
                found.update(summary.id for summary in step.found)
                place = step.reached
        finally:
            scan.cancelled.set()
        return found

    async def _sections(self, scan: Scan, narrowing: Sequence[Term], place: PageKey) -> AsyncIterator[ListSection]:
        """The list in sections, newest first, to where nothing more can be found. `narrowing` are the terms that the
        index is asked about."""
        rows: list[ListedRow] | None = None
        if scan.sql_filter.sparse_selects:
            rows = await self._readers.run(partial(scan.marked_rows, place=place), slow=True)
        if rows == []:
            return
        if rows is not None:
            place = PageKey(received_at=rows[0][0], id=rows[0][1])
        async for section in self._by_index(narrowing, place, scan.endpoint_id):
            if rows is None:
                yield section
                continue
            floor, seqs = section.floor, section.seqs
            above = len(rows) if floor is None else sum(row[:2] >= (floor.received_at, floor.id) for row in rows)
            inside = [row for row in rows[:above] if seqs is None or row[2] in seqs]
            yield ListSection(floor=floor, rows=inside)
            rows = rows[above:]
            if not rows:
                return

    def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        """Sections with the requests that the index finds in them, the last without a floor. Where nothing is indexed,
        any request of a section may match."""
        raise NotImplementedError

    def _scan(self, query: Query, endpoint_id: int | None, secret_headers: SecretHeaders | None) -> Scan:
        sql_filter = to_sql_filter(query, now_us(), self._tagged, without_secrets=secret_headers is not None)
        return Scan(sql_filter, endpoint_id, secret_headers, self.step_s)

    def _tagged(self, tag: str) -> list[int]:
        """The endpoints with this tag."""
        name = folded(tag)
        return [one.id for one in self._directory.all() if name in map(folded, one.tags)]


def zones(groups: Iterable[tuple[int, int, G]], place: PageKey) -> Iterator[tuple[PageKey | None, list[G]]]:
    """The list below `place` in parts, newest first: where each part ends, and which groups of requests lie in it. The
    last has no end: it goes to the end of the list. Groups are given with when their oldest and newest requests were
    received; those whose times overlap, as after a clock was set back, lie in several parts."""
    falling = sorted(groups, key=lambda group: group[1], reverse=True)
    inside: list[tuple[int, int, G]] = []
    for at, group in enumerate(falling, 1):
        newest = group[1]
        inside = [*(one for one in inside if one[0] <= newest), group]
        floor = falling[at][1] + 1 if at < len(falling) else None
        if floor is None or floor <= min(newest, place.received_at):
            yield None if floor is None else place_before(floor), [one for _, _, one in inside]


def _next_rows(rows: int, step_s: float, seconds: float) -> int:
    """How many rows the next step examines, so that it takes about `step_s`; the last took `seconds`."""
    if seconds > step_s:
        return max(LEAST_ROWS, rows // 2)
    return min(MOST_ROWS, rows * 2) if seconds < step_s / 2 else rows


PROGRESS_S = 0.25


class ScanProgress:
    """Counts the examined requests from `start` on, each once, and passes their number to `searched`."""

    def __init__(self, readers: Readers, scan: Scan, start: PageKey, searched: Callable[[int], None] | None) -> None:
        self._readers, self._scan, self._place, self._searched = readers, scan, start, searched
        self._count = 0
        self._next = time.perf_counter() + PROGRESS_S

    async def reached(self, place: PageKey | None, found: bool = False) -> None:
        """The search has examined everything down to `place`; None: to the end of the list. With something `found`
        there, the count is updated at once."""
        late = time.perf_counter() >= self._next or (found and self._count > 0)
        if self._searched is None or place is None or not late:
            return
        job = partial(self._scan.count_between, place=self._place, bottom=place)
        self._count += await self._readers.run(job, slow=True)
        self._place, self._next = place, time.perf_counter() + PROGRESS_S
        self._searched(self._count)


def _indexed_terms(query: Query) -> tuple[Term, ...]:
    """The terms that the search index, which knows the secrets, may narrow a search by: what matches without the
    secrets matches with them. That is not so of exclusions, and of a text with a hole."""
    if HOLE in query.text:
        return ()
    return tuple(term for term in query.terms if not any(map(_excludes, flatten((term,)))))


def _excludes(leaf: Leaf) -> bool:
    condition = leaf.term.condition if isinstance(leaf.term, Filter) else None
    return leaf.negated or (isinstance(condition, JsonTest) and condition.operator == "!=")

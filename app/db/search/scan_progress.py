"""How far a search has come, counted now and then and only while it goes on for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from app.core.model import PageKey
from app.db.readers import Readers
from app.db.search.scan import Scan

EVERY_S = 0.25


class ScanProgress:
    """Counts the requests of the list from `start` on, each once, and tells their number to `searched`."""

    def __init__(self, readers: Readers, walk: Scan, start: PageKey, searched: Callable[[int], None] | None) -> None:
        self._readers, self._walk, self._place, self._searched = readers, walk, start, searched
        self._count = 0
        self._next = time.perf_counter() + EVERY_S

    async def came_to(self, place: PageKey | None, found: bool = False) -> None:
        """The search has looked at everything down to `place`; None: to the end of the list. What was `found` there is
        counted before it is told of."""
        late = time.perf_counter() >= self._next or (found and self._count > 0)
        if self._searched is None or place is None or not late:
            return
        self._count += await self._readers.run(partial(self._walk.passed, place=self._place, bottom=place))
        self._place, self._next = place, time.perf_counter() + EVERY_S
        self._searched(self._count)

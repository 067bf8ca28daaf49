"""The search in SQLite: the index, a file of its own, tells in steps which requests may match."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial

from app.core.model import PageKey
from app.core.search.query import Term
from app.db.part import Shared
from app.db.search.index.planner import to_index_query
from app.db.search.scan import ListSection, place_before
from app.db.search.search import Search as AnySearch
from app.db.sqlite.search.indexing import Index, oldest_above

UNINDEXED_MAX = 20_000
"""With this many requests not yet indexed, the index is not used."""


class Search(AnySearch):
    def __init__(self, shared: Shared, index: Index) -> None:
        super().__init__(shared)
        self._index = index

    async def _by_index(
        self, narrowing: Sequence[Term], place: PageKey, endpoint_id: int | None
    ) -> AsyncIterator[ListSection]:
        contents, index_query = self._index.contents, to_index_query(narrowing)
        unindexed, oldest = 0, None
        if index_query is not None and contents.spans:
            job = partial(oldest_above, upto=contents.upto, most=UNINDEXED_MAX)
            unindexed, oldest = await self._readers.run(job, slow=True)
        if index_query is None or not contents.spans or unindexed >= UNINDEXED_MAX:
            yield ListSection()
            return
        if oldest is not None and place.received_at >= oldest:
            yield ListSection(floor=place_before(oldest))
        zones = [zone for zone in _zones(contents.spans) if zone[0] is None or place.received_at >= zone[0]]
        while zones:
            found = await self._index.find(index_query, [numbers for _, numbers in zones])
            if found is None:
                yield ListSection()
                return
            for (floor, _), seqs in zip(zones, found, strict=False):
                yield ListSection(floor=None if floor is None else place_before(floor), seqs=frozenset(seqs))
            zones = zones[len(found) :]


def _zones(spans: dict[int, tuple[int, int]]) -> list[tuple[int | None, list[int]]]:
    """Groups of requests as parts of the list, newest first: where each part ends, and which groups lie in it.

    Groups whose times overlap, as after a clock was set back, share a part. The last part goes to the end of the list.
    """
    zones: list[tuple[int, list[int]]] = []
    for number, (oldest, newest) in sorted(spans.items(), key=lambda item: item[1][1], reverse=True):
        if zones and zones[-1][0] <= newest:
            zones[-1] = (min(zones[-1][0], oldest), [*zones[-1][1], number])
        else:
            zones.append((oldest, [number]))
    return [(None if at == len(zones) - 1 else floor, numbers) for at, (floor, numbers) in enumerate(zones)]

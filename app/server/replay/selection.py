"""Which requests a replay sends: their ids, oldest first, in sixteen bytes each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing

from app.core.ids import first_id, uuid7_us
from app.core.model import PageKey
from app.core.replay.spec import ChosenRequests, MatchingRequests, ReplaySource
from app.core.search.parse import parse
from app.core.store import CaptureRepository

_ID_BYTES = 16
_PAGE = 500


class Selection:
    """The ids of requests, newest first while they are added; iterating gives `(id, received_at)`, oldest first."""

    def __init__(self) -> None:
        self._packed = bytearray()

    def add(self, capture_id: str) -> None:
        self._packed += bytes.fromhex(capture_id.replace("-", ""))

    def __len__(self) -> int:
        return len(self._packed) // _ID_BYTES

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for end in range(len(self._packed), 0, -_ID_BYTES):
            text = self._packed[end - _ID_BYTES : end].hex()
            capture_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
            yield capture_id, uuid7_us(capture_id)


async def select(source: ReplaySource, captures: CaptureRepository) -> Selection:
    """Raises StorageUnavailableError, or QueryError if the query is wrong."""
    if isinstance(source, ChosenRequests):
        selection = Selection()
        for capture_id in sorted(set(source.ids), reverse=True):
            selection.add(capture_id)
        return selection
    return await _matching(source, captures)


async def _matching(source: MatchingRequests, captures: CaptureRepository) -> Selection:
    selection, before = Selection(), None
    if source.received_before is not None:
        before = PageKey(received_at=source.received_before, id=first_id(source.received_before))
    after = source.received_after or 0
    query = parse(source.query) if source.query.strip() else None
    if query is not None:
        found = captures.search(query, source.endpoint_id, before=before, limit=2**31)
        async with aclosing(found) as batches:
            async for batch in batches:
                for row in batch:
                    if row.received_at >= after:
                        selection.add(row.id)
        return selection
    while page := await captures.page(source.endpoint_id, before=before, limit=_PAGE):
        for row in page:
            if row.received_at < after:
                return selection
            selection.add(row.id)
        before = PageKey(received_at=page[-1].received_at, id=page[-1].id)
    return selection

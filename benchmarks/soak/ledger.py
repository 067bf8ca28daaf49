"""Which requests were acknowledged and which of them deleted, and so what the store has to hold in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fuzz.stored_requests import StoredRequest, read_stored

BACKDATED = "/backdated"
"""How targets of requests end that were stored before the start."""


@dataclass
class Acknowledged:
    """A request that was answered 2xx. Times are monotonic seconds."""

    slug: str
    body: bytes | None
    """What was sent where it is short; None: only the store's own hash is looked at."""
    began: float
    at: float
    delete_began: float | None = None
    deleted: bool = False


@dataclass
class Ledger:
    """Kept by those who send and delete."""

    requests: dict[str, Acknowledged] = field(default_factory=dict)
    clears: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """For each endpoint when clearing it began and ended; that never ended: infinity."""

    def acknowledged(self, slug: str, capture_id: str, body: bytes | None, began: float) -> None:
        """A 2xx has come."""
        self.requests[capture_id] = Acknowledged(slug, body, began, time.monotonic())

    def delete_begins(self, capture_id: str) -> None:
        """From now on nobody knows whether it is there."""
        self.requests[capture_id].delete_began = time.monotonic()

    def deleted(self, capture_id: str) -> None:
        """From now on it must be gone."""
        self.requests[capture_id].deleted = True

    def clear_begins(self, slug: str) -> None:
        """What is acknowledged from now on may be there or not, …"""
        self.clears.setdefault(slug, []).append((time.monotonic(), float("inf")))

    def cleared(self, slug: str) -> None:
        """… and what is sent from now on must be there."""
        began, _ = self.clears[slug].pop()
        self.clears[slug].append((began, time.monotonic()))

    def must_be_gone(self, request: Acknowledged) -> bool:
        """Whether it was deleted, or its endpoint was cleared after it was acknowledged."""
        clears = self.clears.get(request.slug, ())
        return request.deleted or any(began > request.at and ended < float("inf") for began, ended in clears)

    def must_be_there(self, request: Acknowledged) -> bool:
        """Whether nothing has begun that would delete it."""
        clears = self.clears.get(request.slug, ())
        return request.delete_began is None and all(ended < request.began for _, ended in clears)

    def disagreements(self, folder: Path) -> Iterator[str]:
        """What the store in the data folder holds, or does not, against this."""
        stored = {row.id: row for row in read_stored(folder)}
        for capture_id, request in self.requests.items():
            row = stored.get(capture_id)
            if row is None and self.must_be_there(request):
                yield f"{capture_id} at {request.slug} was acknowledged, never deleted, and is not stored"
            elif row is not None and self.must_be_gone(request):
                yield f"{row.head}: deleted at {request.slug}, and still stored"
            elif row is not None and request.body is not None and row.body != request.body:
                yield f"{row.head}: its body is not the one that was sent"
        yield from (f"{row.head}: {row.damage}" for row in stored.values() if row.damage)
        yield from self._never_acknowledged(list(stored.values()))

    def _never_acknowledged(self, rows: list[StoredRequest]) -> Iterator[str]:
        for row in rows:
            known = row.id in self.requests or row.target.endswith(BACKDATED.encode())
            if row.complete and not known:
                yield f"{row.head}: stored as complete, and never acknowledged"

"""What the server needs from the rest of the program, handed to its constructors."""

from __future__ import annotations

from typing import Protocol

from app.core.model import Capture, Endpoint


class EndpointLookup(Protocol):
    """Finds the endpoint that a request is for; asked once per request, so it answers from memory."""

    def by_slug(self, slug: str) -> Endpoint | None:
        """The endpoint whose slug is exactly `slug`."""
        ...


class CaptureSink(Protocol):
    """Where captured requests go. Writing raises StorageUnavailableError when nothing can be stored now, and
    StorageLimitError when a storage limit leaves no room."""

    def new_seq(self) -> int:
        """The number of the next capture."""
        ...

    def check_room(self, endpoint_id: int, size: int) -> None:
        """StorageLimitError when a body of `size` bytes would not be stored now."""
        ...

    async def add(self, capture: Capture, tail: bytes, tail_part: int = 0, forward_url: str | None = None) -> None:
        """Store `capture`, durable on return. `tail` is body part `tail_part`; `forward_url` queues a delivery."""
        ...

    async def add_part(
        self, seq: int, part: int, data: bytes, *, pieces: int = 0, endpoint_id: int | None = None
    ) -> None:
        """Store one part of a body whose capture comes later: what the first `pieces` pieces hold, then `data`.

        Every part but the tail is PART_SIZE bytes long.
        """
        ...

    async def add_piece(self, seq: int, piece: int, data: bytes, *, endpoint_id: int | None = None) -> None:
        """Store a piece of the part that is being received; the pieces of one part are numbered from 0 on."""
        ...

    async def drop_parts(self, seq: int) -> None:
        """Forget the parts stored so far: the request is not kept after all."""
        ...

    def replied(self, seq: int, ms: float) -> None:
        """Note that the answer has left, `ms` milliseconds after the request's head was read."""
        ...

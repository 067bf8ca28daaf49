"""What mirroring needs from the store."""

from __future__ import annotations

from typing import Protocol

from app.core.model import Capture, Delivery, Endpoint


class EndpointDirectory(Protocol):
    """The endpoints as they are now."""

    def by_id(self, endpoint_id: int) -> Endpoint | None: ...


class CaptureReader(Protocol):
    """Stored requests and their bodies."""

    async def get(self, capture_id: str) -> Capture | None: ...

    async def body(self, capture_id: str, offset: int = 0, length: int | None = None) -> bytes: ...


class DeliveryQueue(Protocol):
    """The queue in the database: what waits to be sent, and where outcomes go."""

    async def pending(self, endpoint_id: int, limit: int = 50) -> list[Delivery]: ...

    async def endpoints_with_pending(self) -> set[int]: ...

    async def finish(self, delivery: Delivery, response_body: bytes) -> None: ...

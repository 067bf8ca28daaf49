"""The sender, loaded with the first delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.core.model import Delivery
from app.core.repositories import CaptureRepository
from app.server.forward.lazy_import import load

if TYPE_CHECKING:
    from app.server.forward.sender import DeliverySender


class LateSender:
    """A `DeliverySender` that is made when it is first needed: see `lazy_import.py`."""

    def __init__(self, captures: CaptureRepository, instance_id: str) -> None:
        self._captures, self._instance_id = captures, instance_id
        self._sender: DeliverySender | None = None

    async def deliver(self, delivery: Delivery, timeout_ms: int) -> tuple[Delivery, bytes]:
        """As `DeliverySender.deliver`."""
        if self._sender is None:
            await load("app.server.forward.sender")
        return await self._loaded().deliver(delivery, timeout_ms)

    async def close(self) -> None:
        """Close what is still open."""
        if self._sender is not None:
            await self._sender.close()

    def _loaded(self) -> DeliverySender:
        from app.server.forward.sender import DeliverySender  # loaded by now, see above

        if self._sender is None:
            self._sender = DeliverySender(self._captures, self._instance_id)
        return self._sender

"""Imports httpx, and the code that sends with it, when there is something to send; makes the sender at the first
delivery.

httpx takes a good part of a start, and most starts send nothing. It also postpones many of its own imports to the first
connection, where they would block the loop for a tenth of a second or more; so all of them are imported on a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from app.core.model import Delivery
from app.core.repositories import CaptureRepository

if TYPE_CHECKING:
    from app.server.forward.sender import DeliverySender

LAZY_IMPORTS = ("httpcore", "httpcore._backends.anyio", "anyio", "anyio._backends._asyncio")
"""What httpx imports only with the first connection. Another version may do without some of them."""


async def load(module: str) -> None:
    """Import one of our modules that send, with everything it depends on."""
    await asyncio.to_thread(_load, module)


def _load(module: str) -> None:
    import_module(module)
    for late in LAZY_IMPORTS:
        with suppress(ImportError):
            import_module(late)


class LazySender:
    """A `DeliverySender` that is made when it is first needed."""

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

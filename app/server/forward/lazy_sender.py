"""Imports what sends, when there is something to send; makes the sender at the first attempt.

httpx, which test requests use, takes a good part of a start, and most starts send nothing. It also postpones many of
its own imports to the first connection, where they would block the loop for a tenth of a second or more; so all of them
are imported on a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from app.core.store import CaptureRepository

if TYPE_CHECKING:
    from app.server.forward.sender import AttemptSender

LAZY_IMPORTS = ("httpcore", "httpcore._backends.anyio", "anyio", "anyio._backends._asyncio")
"""What httpx imports only with the first connection. Another version may do without some of them."""


async def load(module: str, lazy_imports: tuple[str, ...] = LAZY_IMPORTS) -> None:
    """Import one of our modules that send, with everything it depends on, on a thread."""
    await asyncio.to_thread(_load, module, lazy_imports)


def _load(module: str, lazy_imports: tuple[str, ...]) -> None:
    import_module(module)
    for late in lazy_imports:
        with suppress(ImportError):
            import_module(late)


class LazySender:
    """Makes the `AttemptSender` when it is first needed."""

    def __init__(self, captures: CaptureRepository, instance_id: str) -> None:
        self._captures, self._instance_id = captures, instance_id
        self._sender: AttemptSender | None = None

    async def get(self) -> AttemptSender:
        """The sender. Called ahead, it keeps the first attempt from starting late."""
        if self._sender is None:
            await load("app.server.forward.sender", ())
            from app.server.forward.sender import AttemptSender  # loaded by now, see above

            self._sender = self._sender or AttemptSender(self._captures, self._instance_id)
        return self._sender

    async def close(self) -> None:
        """Close what is still open."""
        if self._sender is not None:
            await self._sender.close()

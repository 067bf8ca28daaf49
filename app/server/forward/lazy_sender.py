"""Imports what sends, when there is something to send; makes the sender at the first attempt, and waits for the store
where it needs that.

httpx, which test requests use, takes a good part of a start, and most starts send nothing. It also postpones many of
its own imports to the first connection, where they would block the loop for a tenth of a second or more; so all of them
are imported on a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from app.core.delivery import Attempt, QueuedDelivery, RequestEdit
from app.core.errors import NotAllowedError, StorageUnavailableError
from app.core.events import AttemptsMade, Event
from app.core.target import Target

if TYPE_CHECKING:
    from app.db.store import Store
    from app.server.forward.sender import AttemptSender

T = TypeVar("T")

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


Made = list[tuple[Attempt, bytes]]
"""The attempts made at once, one or two, each with the kept part of the response's body."""
FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 5.0


async def stored(call: Callable[[], Awaitable[T]]) -> T:
    """The result of `call`, repeated while the store is unavailable. Raises NotAllowedError."""
    wait = FIRST_WAIT_S
    while True:
        try:
            return await call()
        except NotAllowedError:
            raise
        except StorageUnavailableError:
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)


GRACE_S = 0.5


async def end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Let them end within half a second, and cancel the others."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=GRACE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


class LazySender:
    """Makes the `AttemptSender` when it is first needed. Publishes AttemptsMade."""

    def __init__(self, store: Store, publish: Callable[[Event], None]) -> None:
        self._store, self._publish = store, publish
        self._sender: AttemptSender | None = None

    async def get(self) -> AttemptSender:
        """The sender. Called ahead, it keeps the first attempt from starting late."""
        if self._sender is None:
            await load("app.server.forward.sender", ())
            from app.server.forward.sender import AttemptSender  # loaded by now, see above

            self._sender = self._sender or AttemptSender(self._store.captures, self._store.account.instance_id)
        return self._sender

    async def attempts(
        self,
        queued: QueuedDelivery,
        target: Target,
        edit: RequestEdit | None = None,
        *,
        cut_off: float | None = None,
        to_hookline: bool = False,
    ) -> Made:
        """As `AttemptSender.attempts`. The first attempt is stored before the request is sent again."""

        async def keep(attempt: Attempt) -> bool:
            return await stored(lambda: self._store.deliveries.add_attempt(queued.delivery, attempt))

        sender = await self.get()
        made = await stored(
            lambda: sender.attempts(queued, target, edit, cut_off=cut_off, to_hookline=to_hookline, before_resend=keep)
        )
        self._publish(AttemptsMade(failures=tuple(attempt.failure or "" for attempt, _ in made)))
        return made

    async def close(self) -> None:
        """Close what is still open."""
        if self._sender is not None:
            await self._sender.close()

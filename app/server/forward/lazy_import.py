"""Loads what it takes to send something over HTTP, when there is something to send.

httpx is a good part of a start, and most starts send nothing. It leaves most of itself to the first connection, where
it would hold up the loop for a tenth of a second and more; so all of it is imported here, on a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module

LATE = ("httpcore", "httpcore._backends.anyio", "anyio", "anyio._backends._asyncio")
"""What httpx imports only with the first connection. A version that does without one of them is as good."""


async def load(module: str) -> None:
    """Import a module of ours that sends, and all that it stands on."""
    await asyncio.to_thread(_load, module)


def _load(module: str) -> None:
    import_module(module)
    for late in LATE:
        with suppress(ImportError):
            import_module(late)

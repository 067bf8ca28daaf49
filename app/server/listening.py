"""Closes an asyncio server without losing connections it has just accepted."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def stop_listening(server: asyncio.Server) -> None:
    """Stop accepting, let accepted connections get their transports, then close the listening sockets.

    asyncio accepts a connection in one turn of the loop and makes its transport in the next. Closing the server in
    between drops the connection and, from Python 3.13 on, prints a TypeError.
    """
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows' proactor has no readers; the gap stays there
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    try:
        await asyncio.sleep(0)
    finally:
        server.close()

"""Ends `hookline serve` with its users: a lease is a connection to a port, and until the first one standard input.

The system closes both when a process ends, however that ends, so nobody has to say that it has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

from app.server.addresses import LOOPBACK

GRANTED = b"\n"
"""Sent on a connection once it is a lease: one that nobody will accept any more may still seem to be open."""


class Leases:
    """Sets `stop` when the last lease ends."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop, self._loop = stop, asyncio.get_running_loop()
        self._count = 0
        self._stdin = False
        """Whether it is a lease."""
        self._server: asyncio.Server | None = None
        self._last: asyncio.StreamWriter | None = None

    def take_stdin(self) -> None:
        """Standard input is a lease while it is open, until there is another. What is written there is ignored."""
        self._stdin = True
        # no loop watches a console or a pipe on every system
        threading.Thread(target=self._read_stdin, name="standard input", daemon=True).start()

    async def listen(self) -> int:
        """Grant leases on a free port, which is returned."""
        self._server = await asyncio.start_server(self._hold, LOOPBACK, 0)
        return int(self._server.sockets[0].getsockname()[1])

    def _read_stdin(self) -> None:
        # os.read: at exit, a thread inside sys.stdin would hold a lock that Python then waits for
        with contextlib.suppress(OSError):
            while os.read(0, 65_536):
                pass
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._end_stdin)

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._stop.is_set():
            writer.close()
            return
        self._count += 1
        self._stdin = False
        writer.write(GRANTED)
        with contextlib.suppress(ConnectionError):
            while await reader.read(65_536):
                pass
        self._last = writer  # closed by the system, when this process has ended: its user may wait for that
        self._count -= 1
        if self._count:
            writer.close()
        else:
            self._end()

    def _end_stdin(self) -> None:
        if self._stdin:
            self._end()

    def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        self._stop.set()

"""Where requests are forwarded to: mostly quick, sometimes slow, failing, or closing without a word."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

from benchmarks.load import LENGTH

SLOW_S = 1.5
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
_FAILED = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfail"


class Target:
    """Listens on a free port; `received` has the last segment of the path of each request that came."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._server: asyncio.Server
        self._stopping = asyncio.Event()
        self._open = 0
        self.received: set[str] = set()

    async def start(self) -> str:
        """Its URL."""
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hooks"

    async def stop(self) -> None:
        """Listen no more, and answer what is in hand."""
        self._server.close()
        await self._server.wait_closed()
        self._stopping.set()
        while self._open:  # noqa: ASYNC110 - streams tell nobody when their handlers end
            await asyncio.sleep(0.01)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            found = LENGTH.search(head)
            length = int(found[1]) if found else 0
            await reader.readexactly(length)
            self.received.add(head.split(b" ", 2)[1].decode("latin-1").rpartition("/")[2])
            kind = self._random.random()
            if kind < 0.05:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SLOW_S):
                        await self._stopping.wait()
            if kind < 0.95:
                writer.write(_FAILED if 0.05 <= kind < 0.1 else _OK)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self._open -= 1
            writer.close()

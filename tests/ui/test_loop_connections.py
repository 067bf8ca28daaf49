"""A server on the Qt-driven loop keeps nothing of the connections it has seen, which would slow it down."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter

import pytest

from tests.ui.stock_qasync import not_on_stock_qasync

pytestmark = pytest.mark.smoke

CONNECTIONS = 2_000

CLIENT = """
import selectors, socket, struct, sys

port, total, abreast = map(int, sys.argv[1:])
request = b"POST /x HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\nContent-Length: 2\\r\\n\\r\\nhi"
reset = struct.pack("ii", 1, 0)  # no TIME_WAIT: the test would run out of ports
selector = selectors.DefaultSelector()

def begin():
    one = socket.create_connection(("127.0.0.1", port), timeout=10)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    one.sendall(request)
    selector.register(one, selectors.EVENT_READ)

begun = done = 0
while done < total:
    while begun < total and begun - done < abreast:
        begin()
        begun += 1
    for key, _ in selector.select(10):
        assert key.fileobj.recv(1000).endswith(b"ok")
        selector.unregister(key.fileobj)
        key.fileobj.close()
        done += 1
"""


class ShortLived(asyncio.Protocol):
    """Answers once and closes; sets a timer of an hour for each connection, as aiohttp does."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._keep_alive = asyncio.get_running_loop().call_later(3600, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep_alive.cancel()


@not_on_stock_qasync("keeps cancelled timers until their deadline")
def test_thousands_of_short_connections_leave_nothing_with_the_loop(run, loop):
    """A loop that keeps cancelled timers until they are due slows down with each of them."""

    async def main():
        server = await loop.create_server(ShortLived, "127.0.0.1", 0, backlog=256)
        port = server.sockets[0].getsockname()[1]
        client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, str(port), str(CONNECTIONS), "16")
        assert await asyncio.wait_for(client.wait(), 50) == 0
        server.close()

    before = kept()
    run(main())
    left = kept() - before
    assert left.total() < CONNECTIONS // 4, left.most_common(5)


def kept() -> Counter[str]:
    """How many things of each kind there are."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects())

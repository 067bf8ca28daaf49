"""Sends one case over a socket of its own, reads what comes back all the while, and tells how the connection ended."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from benchmarks.fuzz.cases import Case, Ending
from benchmarks.fuzz.responses import Responses, read_responses

LIMIT_S = 45.0
"""Longer than any limit of the capture port on a sender that closed its side: a body may pause for 30 s."""
_RESET = struct.pack("ii", 1, 0)


class Finish(Enum):
    """How the connection ended, as the sender saw it."""

    ENDED = "the server closed it"
    RESET = "the server reset it"
    ANSWERED = "the sender had a response to each request, and left"
    LEFT = "the sender left"
    HUNG = "nothing more came, and it was not closed"


@dataclass
class Outcome:
    """What came back. `source` is the sender's address and port, by which its stored requests are known."""

    source: tuple[str, int]
    received: bytes = b""
    finish: Finish = Finish.LEFT
    sending_s: float = 0.0
    """From the connection to the last packet."""
    waited_s: float = 0.0
    """From the last packet to the end."""
    _read: Responses | None = field(default=None, repr=False)

    @property
    def responses(self) -> Responses:
        """What came back, read once the connection has ended."""
        if self._read is None:
            self._read = read_responses(self.received)
        return self._read


class Sender:
    """Sends cases to one port. No two connections of a batch, or of one and the next, have the same source."""

    def __init__(self, address: tuple[str, int], limit_s: float = LIMIT_S) -> None:
        self._address, self._limit_s = address, limit_s
        self._sources: set[tuple[str, int]] = set()
        self._earlier: set[tuple[str, int]] = set()

    def next_batch(self) -> None:
        """Sources of the batch before the one that ends now may come again."""
        self._earlier, self._sources = self._sources, set()

    async def send(self, case: Case, on_connect: Callable[[Outcome], None]) -> Outcome:
        """Send all of it; `on_connect` gets the outcome as it begins. OSError when there is no connection to be had."""
        connection = await self._connect()
        outcome = Outcome(connection.getsockname()[:2])
        try:
            on_connect(outcome)
            enough = len(case.requests) if case.ending is Ending.WAIT else None
            reading = asyncio.create_task(_read(connection, outcome, enough), name="read responses")
            try:
                connected = time.monotonic()
                await self._write(connection, case)
                begun = time.monotonic()
                outcome.sending_s = begun - connected
                if case.ending in (Ending.HALF_CLOSE, Ending.WAIT):
                    await asyncio.wait((reading,), timeout=self._limit_s)
                    outcome.waited_s = time.monotonic() - begun
                    if not reading.done():
                        outcome.finish = Finish.HUNG
                elif case.ending is Ending.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            finally:
                reading.cancel()
                await asyncio.wait((reading,))
        finally:
            self._sources.add(outcome.source)  # it may have been sent in an earlier batch
            connection.close()
        return outcome

    async def _connect(self) -> socket.socket:
        """A connection whose source is new, so that what is stored can be told apart by it."""
        loop = asyncio.get_running_loop()
        while True:
            connection = socket.socket()
            try:
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.sock_connect(connection, self._address)
            except BaseException:
                connection.close()
                raise
            source = connection.getsockname()[:2]
            if source not in self._sources and source not in self._earlier:
                self._sources.add(source)
                return connection
            connection.close()

    async def _write(self, connection: socket.socket, case: Case) -> None:
        """The server may close before all is sent: then the rest stays unsent, and what it answered is read."""
        loop = asyncio.get_running_loop()
        try:
            for packet in case.packets:
                if packet.pause_s:
                    await asyncio.sleep(packet.pause_s)
                async with asyncio.timeout(self._limit_s):
                    await loop.sock_sendall(connection, packet.data)
            if case.ending is Ending.HALF_CLOSE:
                connection.shutdown(socket.SHUT_WR)
        except (OSError, TimeoutError):  # an OSError too when it is not connected any more
            return


async def _read(connection: socket.socket, outcome: Outcome, enough: int | None) -> None:
    """To the connection's end, or until `enough` responses are there."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            data = await loop.sock_recv(connection, 65_536)
        except OSError:
            outcome.finish = Finish.RESET
            return
        outcome.received += data
        if not data:
            outcome.finish = Finish.ENDED
            return
        if enough is not None and len(read_responses(outcome.received).found) >= enough:
            outcome.finish = Finish.ANSWERED
            return

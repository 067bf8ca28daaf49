"""What the capture port allows a sender before it rejects it, and which connection is closed when a new sender needs
its place."""

from __future__ import annotations

import ipaddress
import math
from collections import deque
from collections.abc import Mapping
from enum import IntEnum
from typing import Generic, Protocol, TypeVar

from app.core.record import Record
from app.server.listening import file_limit


class Limits(Record, frozen=True):
    """Limits of the capture port; times are in seconds.

    A request's head must be complete `head_s` after it began, and at most `head_bytes` long. Of all heads received in
    more than one read, at most `head_memory` bytes are kept until their requests are handled. A body may pause for
    `body_idle_s`, and has to arrive at `body_rate` bytes a second overall, with `body_s` to begin with. A connection
    without a request is closed after `keepalive_s`. After the last response, what the sender still sends is discarded
    for `linger_s`, so that it can read the response. All are checked every `sweep_s`.

    At most `body_memory` bytes of unfinished bodies are kept in memory, besides what is read at once of each; above
    that, what comes is stored before more is read (`incoming_body.py`).

    What a sender sends before it has the response to an earlier request is read once (32 KiB), then no more until all
    of it is handled. Of such requests `pipelined` are stored at once, so that other senders hardly wait for them. Of
    long responses that senders do not read, or of many short ones (64 KiB each), at most `response_memory` bytes are
    kept; above that the sender with the most is cut off.

    With `connections` open, a new sender replaces one that is idle or slow, see `ConnectionEviction`.
    """

    connections: int = 512
    head_s: float = 15.0
    head_bytes: int = 256 * 1024
    head_memory: int = 8 * 1024 * 1024
    body_idle_s: float = 30.0
    body_s: float = 60.0
    body_rate: int = 1_000
    body_memory: int = 16 * 1024 * 1024
    pipelined: int = 32
    response_memory: int = 64 * 1024 * 1024
    keepalive_s: float = 75.0
    linger_s: float = 2.0
    sweep_s: float = 1.0


SPARE = 64
"""Connections above the limit that may live as long as it takes to respond, or to store the received part of a body."""


def affordable(connections: int) -> int:
    """This many connections, or half of the files this process may open where that is less."""
    return min(connections, file_limit() // 2)


def kept_descriptors(connections: int) -> int:
    """How many descriptors are kept for so many connections, for those above the limit, and for as many that are
    accepted at once; five eighths of all at most."""
    return min(affordable(connections) + 2 * SPARE, file_limit() * 5 // 8)


FRESH_S = 0.02
"""Slow connections are ranked again after this time: some may be idle by now."""


class EvictionStage(IntEnum):
    """What a connection waits for from its sender. Among one address's connections, those of the lowest stage are
    closed first."""

    IDLE = 0
    """The next request, after a response."""
    ANSWERED = 1
    """The sender to close, after its last response."""
    DELAYED = 2
    """Nothing: its request is stored; the response is sent after the endpoint's delay, or at once when evicted."""
    PIPELINING = 3
    """Nothing: it sent requests before the response to the current one. Evicted, only the current one is handled."""
    HEAD = 4
    """The rest of a request's head, or its first byte."""
    BODY = 5
    """The rest of a body."""
    UNREAD = 6
    """The sender to read its response."""


Waiting = tuple[EvictionStage, float] | None
"""A stage, and a time that orders connections of one stage: the lowest has waited longest. None: it does not wait for
the sender, because its request is being stored or its response sent."""


class Evictable(Protocol):
    def waiting_for(self) -> Waiting: ...


C = TypeVar("C", bound=Evictable)


class ConnectionEviction(Generic[C]):
    """Chooses among open connections: the one idle longest, else the slowest of the address that has the most.

    A sender whose address has `share` connections or more, while other addresses have some too, replaces one of its own
    address only. All connections are ranked (a quarter of a millisecond for 512) only once for many new senders.
    """

    def __init__(self, connections: Mapping[C, str], per_sender: Mapping[str, int], share: int) -> None:
        """`connections`: all that are open, with their addresses; `per_sender`: how many each address has."""
        self._connections, self._per_sender, self._share = connections, per_sender, share
        self._found: dict[str, deque[tuple[EvictionStage, float, C]]] = {}
        self._found_at = -math.inf

    def choose(self, newcomer: str, now: float) -> tuple[EvictionStage, C] | None:
        """The connection to close for a sender from this address, and its stage; None when all must be kept."""
        selected = self._next(newcomer)
        if selected is None or (selected[0] is not EvictionStage.IDLE and now - self._found_at >= FRESH_S):
            self._rank(now)
            selected = self._next(newcomer)
        return selected

    def _rank(self, now: float) -> None:
        found: dict[str, list[tuple[EvictionStage, float, int, C]]] = {}
        for number, (connection, address) in enumerate(self._connections.items()):
            waiting = connection.waiting_for()
            if waiting is not None:
                found.setdefault(address, []).append((*waiting, number, connection))
        self._found = {
            address: deque((stage, since, connection) for stage, since, _, connection in sorted(of_address))
            for address, of_address in found.items()
        }
        self._found_at = now

    def _next(self, newcomer: str) -> tuple[EvictionStage, C] | None:
        own_only = len(self._per_sender) > 1 and self._per_sender.get(newcomer, 0) >= self._share
        while (address := newcomer if own_only else self._address()) in self._found:
            of_address = self._found[address]
            stage, since, connection = of_address.popleft()
            if not of_address:
                del self._found[address]
            if self._connections.get(connection) == address and connection.waiting_for() == (stage, since):
                return stage, connection
        return None

    def _address(self) -> str | None:
        """The address whose connection is next: the one idle longest, else the one with the most connections."""
        firsts = ((of_address[0], address) for address, of_address in self._found.items())
        idle = min(((first[1], address) for first, address in firsts if first[0] is EvictionStage.IDLE), default=None)
        if idle is not None:
            return idle[1]
        return max(self._found, key=lambda address: self._per_sender.get(address, 0), default=None)


def sender_of(address: str) -> str:
    """What counts as one address: for IPv6 the first 64 bits, because one customer has all addresses below them."""
    if ":" not in address:
        return address
    parsed = ipaddress.IPv6Address(address)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))

"""What the capture port allows a sender before it rejects it."""

from __future__ import annotations

from app.core.record import Record
from app.server.descriptors import file_limit


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

    With `connections` open, a new sender replaces one that is idle or slow (`connection.py`).
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

"""A light HTTP/1.1 load generator: keep-alive connections on one selector, each with one request in flight.

`python -m benchmarks.load URL` prints one JSON line. With `--rate` the requests leave at that pace whatever the answers
do, and latency counts from the moment a request was due, so that a server's pause is seen by all who would have met it.
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from urllib.parse import urlsplit

BODY = json.dumps({"event": "order.paid", "id": 123456789, "note": "x" * 400}).encode()[:398] + b'"}'
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
MAX_REQUESTS = 2_000_000
PATIENCE_S = 10.0
PACE_LEAST = 0.9
"""Of the pace asked for: at a lower one other numbers mean nothing."""


@dataclass(frozen=True)
class Result:
    """One round: answered requests, the seconds it took, and latency in milliseconds."""

    requests: int
    seconds: float
    rate: float
    p50_ms: float
    p99_ms: float
    max_ms: float


class BadAnswerError(Exception):
    """The server answered with something other than 200, closed, fell silent, or did not keep the pace."""


class _Connection:
    """One keep-alive connection, and when the request in flight on it began."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.began = 0.0
        self._received = b""

    def send(self, request: bytes, began: float) -> None:
        self.began = began
        self.socket.sendall(request)

    def answered(self) -> bool:
        """Take what has come; true once the whole answer is here. BadAnswerError unless it is a 200."""
        data = self.socket.recv(65536)
        if not data:
            raise BadAnswerError("the server closed a connection")
        self._received = received = self._received + data
        head = received.find(b"\r\n\r\n")
        if head < 0:
            return False
        if not received.startswith(b"HTTP/1.1 200 "):
            raise BadAnswerError(received[:200].decode("latin-1"))
        length = LENGTH.search(received, 0, head)
        if length is None:
            raise BadAnswerError("an answer without Content-Length")
        if len(received) < head + 4 + int(length[1]):
            return False
        self._received = b""
        return True


def post(url: str, body: bytes = BODY) -> bytes:
    """The raw request that posts `body` as JSON to `url`."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"POST {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def load(
    url: str,
    *,
    connections: int = 32,
    seconds: float = 2.0,
    rate: float | None = None,
    requests: int = MAX_REQUESTS,
    enough: Callable[[], bool] = bool,
) -> Result:
    """Post to `url` for so many seconds, or until `enough()` or that many `requests`, at `rate` requests a second or as
    fast as answers come."""
    parts = urlsplit(url)
    address = (parts.hostname or "127.0.0.1", parts.port or 80)
    with selectors.DefaultSelector() as selector:
        free = deque(_Connection(address) for _ in range(connections))
        everyone = tuple(free)
        try:
            for connection in everyone:
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            return _Drive(selector, free, post(url), rate, requests).run(seconds, enough)
        finally:
            for connection in everyone:
                connection.socket.close()


class _Drive:
    """One round on connections that are open and registered."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        free: deque[_Connection],
        request: bytes,
        rate: float | None,
        requests: int,
    ) -> None:
        self._selector, self._free, self._request, self._rate = selector, free, request, rate
        self._requests = requests
        self._connections = len(free)
        self._latencies: list[float] = []
        self._sent = 0
        self._start = 0.0

    def run(self, seconds: float, enough: Callable[[], bool]) -> Result:
        self._start = now = perf_counter()
        while now - self._start < seconds and self._sent < self._requests and not enough():
            self._send_due(now)
            self._receive(self._pause(now))
            now = perf_counter()
        while len(self._free) < self._connections:
            self._receive(PATIENCE_S)
        found = _result(self._latencies, perf_counter() - self._start)
        if self._rate is not None and found.requests and found.rate < self._rate * PACE_LEAST:
            raise BadAnswerError(f"only {found.rate:g} requests a second were answered, of {self._rate:g}")
        return found

    def _due(self, now: float) -> float:
        """When the next request is to leave."""
        return now if self._rate is None else self._start + self._sent / self._rate

    def _send_due(self, now: float) -> None:
        while self._free and self._sent < self._requests and (due := self._due(now)) <= now:
            self._free.popleft().send(self._request, due)
            self._sent += 1

    def _pause(self, now: float) -> float:
        """How long there is nothing to send."""
        return max(0.0, self._due(now) - perf_counter()) if self._free else PATIENCE_S

    def _receive(self, pause: float) -> None:
        ready = self._selector.select(pause)
        if not ready and pause == PATIENCE_S:
            raise BadAnswerError(f"no answer within {PATIENCE_S:.0f} s")
        now = perf_counter()
        for key, _ in ready:
            if key.data.answered():
                self._latencies.append(now - key.data.began)
                self._free.append(key.data)


def _result(latencies: list[float], seconds: float) -> Result:
    latencies.sort()
    count = len(latencies)

    def at(share: float) -> float:
        return round(latencies[min(count - 1, int(share * count))] * 1000, 3)

    if not count:
        return Result(0, round(seconds, 3), 0.0, 0.0, 0.0, 0.0)
    return Result(count, round(seconds, 3), round(count / seconds, 1), at(0.5), at(0.99), at(1.0))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 with a sentence on standard error when the server did not answer 200 to everything."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description="Post JSON to URL and print the pace.")
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=None, help="requests a second; without it, as fast as possible")
    options = parser.parse_args(arguments)
    try:
        result = load(options.url, connections=options.connections, seconds=options.seconds, rate=options.rate)
    except (BadAnswerError, OSError) as error:
        print(f"load failed: {error}", file=sys.stderr)
        return 1
    print(json.dumps(asdict(result)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

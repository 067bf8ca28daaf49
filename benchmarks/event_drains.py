"""Readers of events that only receive: `python -m benchmarks.event_drains API_URL TOKEN --readers 10` prints `reading`
when all have begun, and `complete` once each got as many captured requests as a line of standard input says. Ends when
that is closed."""

from __future__ import annotations

import argparse
import selectors
import socket
import sys
from urllib.parse import urlsplit

CAPTURED = b"event: captured\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.event_drains", description=__doc__)
    parser.add_argument("api_url")
    parser.add_argument("token")
    parser.add_argument("--readers", type=int, default=10)
    options = parser.parse_args()
    place = urlsplit(options.api_url)
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    counts: dict[socket.socket, int] = {}
    tails: dict[socket.socket, bytes] = {}
    expected: int | None = None
    for _ in range(options.readers):
        connection = socket.create_connection((place.hostname or "127.0.0.1", place.port or 80), timeout=10)
        head = f"GET /api/v1/events HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {options.token}\r\n\r\n"
        connection.sendall(head.encode())
        received = b""
        while b"event: position" not in received:
            if not (piece := connection.recv(65536)):
                return 1
            received += piece
        selector.register(connection, selectors.EVENT_READ)
        counts[connection], tails[connection] = received.count(CAPTURED), received[1 - len(CAPTURED) :]
    print("reading", flush=True)
    while True:
        for key, _ in selector.select():
            if not isinstance(key.fileobj, socket.socket):
                if not (line := sys.stdin.readline()):
                    return 0
                expected = int(line)
            elif piece := key.fileobj.recv(1 << 20):
                data = tails[key.fileobj] + piece
                counts[key.fileobj] += data.count(CAPTURED)
                tails[key.fileobj] = data[1 - len(CAPTURED) :]
            else:
                return 1
        if expected is not None and min(counts.values()) >= expected:
            print("complete" if max(counts.values()) == expected else f"{max(counts.values())}", flush=True)
            expected = None


if __name__ == "__main__":
    raise SystemExit(main())

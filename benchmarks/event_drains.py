"""Readers of events that only receive: `python -m benchmarks.event_drains API_URL TOKEN --readers 10` prints `reading`
when all have begun, and goes on until it is ended or its standard input closes."""

from __future__ import annotations

import argparse
import selectors
import socket
import sys
from urllib.parse import urlsplit


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.event_drains", description=__doc__)
    parser.add_argument("api_url")
    parser.add_argument("token")
    parser.add_argument("--readers", type=int, default=10)
    options = parser.parse_args()
    place = urlsplit(options.api_url)
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
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
    print("reading", flush=True)
    buffer = bytearray(1 << 20)
    while True:
        for key, _ in selector.select():
            if not isinstance(key.fileobj, socket.socket):
                return 0
            if not key.fileobj.recv_into(buffer):
                return 1


if __name__ == "__main__":
    raise SystemExit(main())

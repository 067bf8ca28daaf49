"""Senders as tests need them: raw bytes out, whole answers back, over plain sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, taken apart just enough for tests."""

    status: int
    headers: dict[str, str]
    body: bytes


def exchange(port: int, request: bytes, timeout: float = 10.0) -> Answer:
    """Send `request` on a connection of its own and read the answer until the server closes or the body is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request)
        return read_answer(connection)


def read_answer(connection: socket.socket, head_only: bool = False) -> Answer:
    """One answer from `connection`; ConnectionError when it ends before the head does."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    length = 0 if head_only else int(headers.get("content-length", "0"))
    while len(body) < length:
        body += _receive(connection)
    return Answer(int(first.split(" ")[1]), headers, body)


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("the server closed the connection")
    return data


def post(url: str, body: bytes, *headers: str, method: str = "POST") -> Answer:
    """A POST with Content-Length and `headers` lines as given."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", *headers, f"Content-Length: {len(body)}"]
    request = "\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1") + body
    return exchange(parts.port or 80, request)


@dataclass
class Load:
    """Threads that post numbered bodies to `url` on keep-alive connections until the server goes or `stop` is set."""

    url: str
    name: str
    threads: int = 4
    most: int = 100_000
    acknowledged: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._running = [threading.Thread(target=self._send, args=(n,), daemon=True) for n in range(self.threads)]

    def start(self) -> None:
        """Begin sending."""
        for thread in self._running:
            thread.start()

    def wait_acknowledged(self, timeout: float = 20.0) -> None:
        """Wait until a first request was acknowledged: before, a test under load shows nothing."""
        end = time.monotonic() + timeout
        while not self.acknowledged:
            assert time.monotonic() < end, "no request was acknowledged"
            time.sleep(0.01)

    def join(self) -> None:
        """Wait until every sender has ended."""
        for thread in self._running:
            thread.join(20)
            assert not thread.is_alive()

    def _send(self, sender: int) -> None:
        parts = urlsplit(self.url)
        try:
            with socket.create_connection(("127.0.0.1", parts.port or 80), timeout=10) as connection:
                for number in range(self.most):
                    if self.stop.is_set():
                        return
                    token = f"{self.name}-{sender}-{number}"
                    body = json.dumps({"token": token, "filler": "x" * 200}).encode()
                    head = f"POST {parts.path} HTTP/1.1\r\nHost: t\r\nContent-Length: {len(body)}\r\n\r\n"
                    connection.sendall(head.encode() + body)
                    if read_answer(connection).status == 200:
                        self.acknowledged.append(token)
        except OSError:
            return  # the server was killed: what this is for

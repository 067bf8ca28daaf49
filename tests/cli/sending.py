"""Requests to a running program: with just the headers given, or byte for byte."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

from tests.cli.conftest import Program

BODY = b'{"name": "J\xc3\xbcrgen", "total": 12345678901234567890}\n'


def send(program: Program, target: str, body: bytes = BODY, method: str = "POST", **headers: str) -> None:
    """One request with just these headers, besides Host and Content-Length."""
    place = urlsplit(program.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=10)
    connection.putrequest(method, target, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    assert connection.getresponse().status == 200
    connection.close()


def post(
    program: Program,
    target: str,
    body: bytes,
    headers: bytes = b"",
    *,
    announced: int | None = None,
    chunked: bool = False,
    answer: bytes = b"HTTP/1.1 200",
) -> None:
    """Send one request byte for byte; with more announced than sent, break off. A `chunked` body is given in chunks."""
    host, _, port = program.url.removeprefix("http://").partition(":")
    length = len(body) if announced is None else announced
    with socket.create_connection((host, int(port)), timeout=10) as sender:
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {length}"
        head = f"POST {target} HTTP/1.1\r\nHost: x\r\n{framing}\r\n"
        sender.sendall(head.encode() + headers + b"\r\n" + body)
        if announced is None:
            assert sender.recv(65536).startswith(answer)

"""A copied command sends the same request again, byte for byte: curl itself is run against a recording server."""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.curl import INLINE_MAX, curl_command, ready_curl
from app.core.record import Headers
from tests.core.providers.examples import EXAMPLES
from tests.core.test_posix_shell import hostile_bodies
from tests.factories import capture
from tests.shells import posix_only, run_in

needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is needed")
pytestmark = posix_only


class Recorder:
    """Keeps the bytes of one request after the other, answers each and closes. `head` and `body` are the last one's."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.requests: list[tuple[bytes, bytes]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return self.base.partition("://")[2]

    @property
    def head(self) -> bytes:
        return self.requests[-1][0]

    @property
    def body(self) -> bytes:
        return self.requests[-1][1]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536)
                head, _, body = data.partition(b"\r\n\r\n")
                lengths = [
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                ]
                while len(body) < max(lengths, default=0):
                    body += connection.recv(65536)
                if b"\r\ntransfer-encoding: chunked" in head.lower():
                    while not body.endswith(b"0\r\n\r\n"):
                        body += connection.recv(65536)
                    body = without_chunks(body)
                self.requests.append((head, body))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


def headers_of(head: bytes) -> list[tuple[str, str]]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def without_chunks(data: bytes) -> bytes:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body
        body, data = body + data[:length], data[length + 2 :]


def run(command: str) -> None:
    run_in("sh", command.replace("curl ", "curl -sS ", 1))


BODIES = [
    b"",
    b'{"a": "it\'s", "b": 1.10}',
    b"line 1\nline 2\r\n",
    b"@/etc/hostname",
    bytes(range(256)),
    bytes(range(1, 256)),
    "žluťoučký \u202e kůň \U0001f600 $HOME `id` !".encode(),
    b"x" * (INLINE_MAX + 1) + b"\n",
    os.urandom(300_000),
]


@needs_curl
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_the_body_arrives_byte_for_byte(recorder: Recorder, body: bytes) -> None:
    sent = capture(body, headers=(("Host", "hooks.example"), ("Content-Type", "application/json")))
    run(curl_command(sent, body, recorder.base))
    assert recorder.body == body


@needs_curl
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("body", [b"", b"x=1"])
def test_the_method_arrives(recorder: Recorder, method: str, body: bytes) -> None:
    run(curl_command(capture(body, method=method), body, recorder.base))
    assert recorder.head.startswith(method.encode() + b" /catch/sample/orders?x=1 HTTP/1.1\r\n")
    assert recorder.body == body


@needs_curl
@pytest.mark.parametrize(
    "target",
    [
        "/catch/s/a/../b",
        "/catch/s/%2F?q=a%20b+c&x[]=1&{a}",
        "/catch/s/#frag?x",
        "/catch/s/'\"$(id)`",
        "/catch/s/caf\xe9|x",
    ],
)
def test_the_target_arrives_as_it_was_sent(recorder: Recorder, target: str) -> None:
    run(curl_command(capture(b"", target=target), b"", recorder.base))
    assert recorder.head.split(b" ")[1] == target.encode("latin-1")


@needs_curl
def test_headers_arrive_in_order_with_case_and_duplicates_and_nothing_is_added(recorder: Recorder) -> None:
    headers = (
        ("Host", "hooks.example"),
        ("x-dup", "1"),
        ("X-Dup", "2"),
        ("X-Empty", ""),
        ("X-Quote", 'it\'s "$HOME" `id` \\ !'),
        ("X-Latin", "caf\xe9"),
        ("content-length", "3"),
        ("Last", "yes"),
    )
    run(curl_command(capture(b"abc", headers=headers), b"abc", recorder.base))
    arrived = recorder.head.decode("latin-1").split("\r\n")[1:]
    assert arrived.pop(0) == f"Host: {recorder.host}"
    lines = [f"{name}: {value}".rstrip() for name, value in headers[1:]]
    ours = [line.rstrip() for line in arrived if not line.lower().startswith("content-length")]
    assert ours == [line for line in lines if not line.lower().startswith("content-length")]
    assert [line for line in arrived if line.lower().startswith("content-length")] in (
        ["content-length: 3"],
        ["Content-Length: 3"],
    )


PUT_BY_CURL = ("host", "content-length")
"""Headers that curl puts where it likes."""


def kept(headers: Headers | list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in PUT_BY_CURL]


@pytest.mark.slow
@needs_curl
def test_every_sample_is_sent_again_as_it_came(recorder: Recorder) -> None:
    """With its headers, and with nothing that curl would add."""
    bodies = [example.body.encode() for example in EXAMPLES]
    sent = [
        capture(body, headers=(*example.pairs(), ("Content-Length", str(len(body)))))
        for example, body in zip(EXAMPLES, bodies, strict=True)
    ]
    commands = [curl_command(one, body, recorder.base) for one, body in zip(sent, bodies, strict=True)]
    run_in("sh", "\n".join(commands).replace("curl ", "curl -sS "))
    assert [body for _, body in recorder.requests] == bodies
    for one, (head, _) in zip(sent, recorder.requests, strict=True):
        arrived = headers_of(head)
        assert kept(arrived) == kept(one.headers)
        assert [value for name, value in arrived if name == "Host"] == [recorder.host]


@needs_curl
def test_hostile_bodies_arrive_byte_for_byte(recorder: Recorder) -> None:
    bodies = [body for body in hostile_bodies(200)[::10] if body] + hostile_bodies(200)[-3:]
    headers = (("Host", "hooks.example"), ("Content-Type", "application/x-www-form-urlencoded"))
    commands = [curl_command(capture(body, headers=headers), body, recorder.base) for body in bodies]
    run_in("sh", "\n".join(command.replace("curl ", "curl -sS ", 1) for command in commands))
    assert [body for _, body in recorder.requests] == bodies


@needs_curl
@pytest.mark.parametrize("body", [b"", b"x=1", b"\0"])
def test_a_body_that_came_in_chunks_leaves_in_chunks(recorder: Recorder, body: bytes) -> None:
    headers = (("Host", "hooks.example"), ("Transfer-Encoding", "chunked"))
    run(curl_command(capture(body, headers=headers), body, recorder.base))
    assert headers_of(recorder.head) == [("Host", recorder.host), *headers[1:]]
    assert recorder.body == body


@needs_curl
@pytest.mark.parametrize(
    ("announced", "body", "arrives"), [("8", b"half", "4"), ("8", b"", None), ("0", b"", "0"), ("04", b"half", "4")]
)
def test_no_more_is_announced_than_came(recorder: Recorder, announced: str, body: bytes, arrives: str | None) -> None:
    """Of a sender that broke off."""
    headers = (("Host", "hooks.example"), ("Content-Length", announced))
    run(curl_command(capture(body, headers=headers, complete=False), body, recorder.base))
    assert [value for name, value in headers_of(recorder.head) if name == "Content-Length"] == (
        [arrives] if arrives else []
    )
    assert recorder.body == body


@needs_curl
@pytest.mark.parametrize("host", ["q7f3.trycloudflare.com", "127.0.0.1:8787", ""])
@pytest.mark.parametrize("target", ["/catch/s", "/catch/s/a/../b"])
def test_the_host_is_that_of_the_url(recorder: Recorder, host: str, target: str) -> None:
    """Whatever it was called by the sender: with a tunnel's name a local server, and with a local name a tunnel, would
    not know what is meant."""
    sent = capture(b"", target=target, headers=(("host", host), ("X-One", "1")))
    command = curl_command(sent, b"", recorder.base)
    assert "host:" not in command.lower()
    run(command)
    assert [value for name, value in headers_of(recorder.head) if name.lower() == "host"] == [recorder.host]


@needs_curl
def test_the_http_version_arrives(recorder: Recorder) -> None:
    run(curl_command(capture(b"", method="GET", http_version="1.0", headers=()), b"", recorder.base))
    assert recorder.head == b"GET /catch/sample/orders?x=1 HTTP/1.0"


def test_a_body_too_large_to_paste_is_read_from_a_file() -> None:
    sent = capture(b"", size=50_000_000)
    command = curl_command(sent, None, "http://127.0.0.1:8787")
    assert command.endswith(f"--data-binary @- < hookline-{sent.id}.body")


@needs_curl
def test_without_that_file_nothing_is_sent(recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sent = capture(b"too large", size=len(b"too large"))
    command = curl_command(sent, None, recorder.base)
    assert run_in("sh", f"exec 2>/dev/null; {command} || echo refused") == b"refused\n"
    assert recorder.requests == []
    Path(f"hookline-{sent.id}.body").write_bytes(b"too large")
    run(command)
    assert recorder.body == b"too large"


def test_a_ready_command_names_the_url() -> None:
    assert ready_curl("http://127.0.0.1:8787/catch/abc").startswith("curl http://127.0.0.1:8787/catch/abc ")


AGENT = ("User-Agent", "x")
ACCEPT = ("Accept", "*/*")
JSON = ("Content-Type", "application/json")


@pytest.mark.parametrize(
    ("method", "headers", "body", "lines"),
    [
        ("POST", (AGENT, ACCEPT, JSON), b"{}", ["-H 'Content-Type: application/json'", "--data-raw '{}'"]),
        ("POST", (AGENT, ACCEPT), b"{}", ["-H Content-Type:", "--data-raw '{}'"]),
        ("GET", (AGENT, ACCEPT), b"", []),
        ("POST", (AGENT, ACCEPT), b"", ["-X POST"]),
        ("GET", (AGENT, JSON), b"", ["-H 'Content-Type: application/json'", "-H Accept:"]),
        ("GET", (ACCEPT,), b"", ["-H User-Agent:"]),
    ],
)
def test_the_command_says_what_is_needed_and_no_more(
    method: str, headers: Headers, body: bytes, lines: list[str]
) -> None:
    sent = capture(body, method=method, target="/catch/abc", headers=(("Host", "h"), *headers))
    said = re.split(r" \\\n  |(?<=-X \w{4}) ", curl_command(sent, body, "http://127.0.0.1:8787").removeprefix("curl "))
    given = {"-H 'User-Agent: x'", "-H 'Accept: */*'", "http://127.0.0.1:8787/catch/abc"}
    assert [line for line in said if line not in given] == lines

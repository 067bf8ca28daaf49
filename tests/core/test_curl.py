"""A copied command sends the same request again, byte for byte: curl itself is run against a recording server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.curl import INLINE_MAX, curl_command, quote, ready_curl
from tests.factories import capture

BASH = shutil.which("bash")
needs_curl = pytest.mark.skipif(not (shutil.which("curl") and BASH), reason="curl and bash are needed")


class Recorder:
    """Keeps the bytes of one request after the other, answers each and closes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.head, self.body = b"", b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

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
                self.head, self.body = head, body
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


def run(command: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    assert BASH
    done = subprocess.run([BASH], input=command.encode(), env=environment, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr.decode()


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
    assert arrived[0] == "Host: hooks.example"
    lines = [f"{name}: {value}".rstrip() for name, value in headers]
    ours = [line.rstrip() for line in arrived if not line.lower().startswith("content-length")]
    assert ours == [line for line in lines if not line.lower().startswith("content-length")]
    assert [line for line in arrived if line.lower().startswith("content-length")] in (
        ["content-length: 3"],
        ["Content-Length: 3"],
    )


@needs_curl
@given(st.binary(max_size=200).filter(lambda data: b"\0" not in data))
def test_quoting_is_undone_by_the_shell(data: bytes) -> None:
    assert BASH
    done = subprocess.run([BASH, "-c", f"printf %s {quote(data) or chr(39) * 2}"], capture_output=True, check=True)
    assert done.stdout == data


def test_a_body_too_large_to_paste_is_read_from_a_file() -> None:
    sent = capture(b"", size=50_000_000)
    command = curl_command(sent, None, "http://127.0.0.1:8787")
    assert f"--data-binary @hookline-{sent.id}.body" in command


def test_a_ready_command_names_the_url() -> None:
    assert ready_curl("http://127.0.0.1:8787/catch/abc").startswith("curl http://127.0.0.1:8787/catch/abc ")

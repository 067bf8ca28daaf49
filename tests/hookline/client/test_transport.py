"""The blocking client on its sockets: kept connections, many descriptors, and whose error it is."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from hookline.calls import Call, decode_as, nothing
from hookline.errors import ApiError, NoResponseError, UnreachableError
from hookline.running import ApiAddress
from hookline.transport import Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
CALL = Call("GET", "/account", decode_as(dict[str, int]))


class Server:
    """Answers each request with the same bytes; `ends`: and closes the connection then."""

    def __init__(self, response: bytes, *, ends: bool = False) -> None:
        self._response, self._ends = response, ends
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = ApiAddress(f"http://127.0.0.1:{self._listening.getsockname()[1]}", "token")
        self.connections = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while connection.recv(65_536):
                connection.sendall(self._response)
                if self._ends:
                    break


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def served(stack: ExitStack, response: bytes, *, ends: bool = False) -> tuple[Server, Transport]:
    server = stack.enter_context(closing(Server(response, ends=ends)))
    return server, stack.enter_context(closing(Transport(server.address)))


@pytest.mark.parametrize("response", [OK, CHUNKED])
def test_a_connection_is_kept_for_the_next_call(stack: ExitStack, response: bytes) -> None:
    server, transport = served(stack, response)
    assert [transport.send(CALL) for _ in range(3)] == [{}, {}, {}]
    assert server.connections == 1


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_a_response_is_awaited_for_so_long(stack: ExitStack, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """On Windows in steps, between which Ctrl-C is noticed."""
    monkeypatch.setattr("hookline.transport.sys", SimpleNamespace(platform=platform))
    _, transport = served(stack, CHUNKED)
    assert transport.send(CALL) == {}
    _, silent = served(stack, b"")
    with pytest.raises(NoResponseError):
        silent.send(CALL._replace(timeout_s=0.4))


def test_a_caller_can_end_a_call_that_waits(stack: ExitStack) -> None:
    _, silent = served(stack, b"")
    looks = iter(range(2))

    def look() -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt

    silent.while_waiting = look
    with pytest.raises(KeyboardInterrupt):
        silent.send(CALL._replace(timeout_s=None))
    assert silent._idle == []


def test_a_kept_connection_that_was_closed_meanwhile_is_replaced(stack: ExitStack) -> None:
    server, transport = served(stack, OK, ends=True)
    for number in (1, 2, 3):
        assert transport.send(CALL) == {}
        assert server.connections == number
        (kept,) = transport._idle
        assert kept._socket.recv(1, socket.MSG_PEEK) == b""  # until it was closed


@pytest.mark.skipif(sys.platform == "win32", reason="numbers descriptors otherwise")
def test_a_program_with_many_open_files_can_call_too(stack: ExitStack) -> None:
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1_200:
        pytest.skip("the system allows too few files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1_200), hard))
    stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
    for _ in range(1_030):
        stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    _, transport = served(stack, OK)
    assert [transport.send(CALL) for _ in range(2)] == [{}, {}]


def test_an_error_of_the_caller_is_not_taken_for_one_of_the_connection(stack: ExitStack) -> None:
    _, transport = served(stack, OK)

    def write() -> None:
        with transport.stream("/events"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as raised:
        write()
    assert type(raised.value) is OSError


def test_what_is_not_understood_is_said(stack: ExitStack) -> None:
    _, transport = served(stack, OK.replace(b"{}", b"[1"))
    with pytest.raises(ApiError, match="not understood") as raised:
        transport.send(CALL)
    assert not isinstance(raised.value, UnreachableError)


@pytest.mark.parametrize("response", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", b""])
def test_what_is_no_response_is_told_with_the_url(stack: ExitStack, response: bytes) -> None:
    server, transport = served(stack, response, ends=True)
    with pytest.raises(UnreachableError, match=server.address.url):
        transport.send(Call("GET", "/account", nothing))


def test_threads_share_it(stack: ExitStack) -> None:
    _, transport = served(stack, OK)
    failures: list[BaseException] = []

    def call() -> None:
        try:
            for _ in range(20):
                transport.send(CALL)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

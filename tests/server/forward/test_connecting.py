"""Finding a target's addresses and connecting to one of them."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from app.core.delivery import FailureKind
from app.server.forward.request import parse_url
from tests.server.forward.scripted import Desk, scripted


def resolved(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        if not addresses:
            await asyncio.Event().wait()
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


@contextmanager
def unresponsive(host: str, port: int = 0) -> Iterator[int]:
    """A port that does not respond to connections because its queue is full."""
    with socket.socket() as listener:
        listener.bind((host, port))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect(listener.getsockname())
        yield listener.getsockname()[1]
        for one in waiting:
            one.close()


async def test_a_lookup_that_takes_too_long(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved(monkeypatch)
    attempt = await desk.attempt("http://slow.example", timeout_ms=100)
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == "The host name slow.example was not found within 0.1 s: looking it up takes too long."


async def test_lookups_of_one_name_that_hang_hold_up_no_other_target(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, of_the_system = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **fields: Any) -> list[Any]:
        if host == "hangs.example":
            over.wait(10)
        return of_the_system("localhost", *args, **fields)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        async with scripted() as place:
            hanging = [desk.attempt("http://hangs.example", timeout_ms=200) for _ in range(40)]
            other = desk.attempt(f"http://localhost:{place.port}", timeout_ms=200)
            *failed, attempt = await asyncio.gather(*hanging, other)
    finally:
        over.set()
    assert {one.failure for one in failed} == {FailureKind.CONNECTION}
    assert (attempt.failure, attempt.error) == (None, None)


async def test_a_lookup_that_the_system_cannot_make(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))  # EAI_SYSTEM

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    attempt = await desk.attempt("http://busy.example")
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == "busy.example could not be reached: Too many open files."


async def test_a_connection_that_takes_too_long(desk: Desk) -> None:
    with unresponsive("127.0.0.1") as port:
        attempt = await desk.attempt(f"http://127.0.0.1:{port}", timeout_ms=300)
    assert attempt.failure is FailureKind.CONNECTION
    assert attempt.error == f"No connection to 127.0.0.1:{port} within 0.3 s."
    assert (attempt.headers, attempt.size) == ((), 0)


async def test_the_next_address_is_tried_while_one_does_not_respond(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted() as place:
        with unresponsive("127.0.0.2", place.port):
            resolved(monkeypatch, "127.0.0.2", "127.0.0.1")
            attempt = await desk.attempt(f"http://both.example:{place.port}")
    assert (attempt.failure, attempt.error) == (None, None)
    assert place.received[0].all("host") == [f"both.example:{place.port}"]


async def test_an_address_that_refuses_is_passed_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted() as place:
        resolved(monkeypatch, "127.0.0.3", "127.0.0.4", "127.0.0.1")
        attempt = await desk.attempt(f"http://many.example:{place.port}")
    assert attempt.failure is None


@pytest.mark.parametrize(
    ("netloc", "host", "authority"),
    [
        ("[fe80::1%25eth0]:3000", "fe80::1%eth0", "[fe80::1]:3000"),
        ("[FE80::1%eth0]", "fe80::1%eth0", "[fe80::1]"),
        ("[fe80::1%25]", "fe80::1%25", "[fe80::1]"),
        ("[fe80::1]:80", "fe80::1", "[fe80::1]"),
    ],
)
def test_the_interface_of_an_address_is_known_here_alone(netloc: str, host: str, authority: str) -> None:
    url = parse_url(f"http://{netloc}/x")
    assert (url.host, url.authority, url.text) == (host, authority, f"http://{netloc}/x")


async def test_a_host_in_another_script_is_sent_in_ascii(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted() as place:
        resolved(monkeypatch, "127.0.0.1")
        await desk.attempt(f"http://BÜCHER.example:{place.port}")
    assert place.received[0].all("host") == [f"xn--bcher-kva.example:{place.port}"]

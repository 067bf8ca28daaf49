"""A target that leads back to Hookline, by whatever way: refused, or one attempt that says so, and no loop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.e2e.forward_run import RETRY, deliveries, none_queued
from tests.e2e.program import Program, api
from tests.e2e.senders import post

TUNNEL = "https://hooks.example.net"
FIRST, SECOND = "first", "second"
CAME_BACK = "The forwarded request came back to Hookline: the target is one of its own capture URLs."


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("data"), "--base-url", TUNNEL) as started:
        for slug in (FIRST, SECOND):
            assert api(started, "POST", "/endpoints", {"name": slug, "slug": slug})[0] == 201
        yield started


def add_target(program: Program, url: str, **settings: Any) -> tuple[int, Any]:
    retry = {**RETRY, "on": ["connection", "timeout", "tls", "protocol", "3xx", "4xx", "5xx"]}
    draft = {"url": url, "timeout_ms": 5_000, "retry": retry, **settings}
    return api(program, "POST", f"/endpoints/{FIRST}/targets", draft)


@contextmanager
def forwarding_to(program: Program, url: str, **settings: Any) -> Iterator[None]:
    status, target = add_target(program, url, **settings)
    assert status == 201, target
    yield
    assert api(program, "DELETE", f"/endpoints/{FIRST}/targets/{target['id']}")[0] == 204


def only_attempt(program: Program) -> dict[str, Any]:
    """Of a request that is sent now; no other request is captured."""
    assert post(f"{program.base}/catch/{FIRST}", b"{}").status == 200
    program.wait_until(lambda: none_queued(program, FIRST))
    delivery = next(deliveries(program, FIRST))
    (attempt,) = delivery["attempts"]
    assert delivery["state"] == "failed"
    assert api(program, "GET", f"/requests?endpoint={SECOND}")[1]["items"] == []
    found: dict[str, Any] = attempt
    return found


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that calls `serve` with each connection; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def relay_to(port: int) -> Callable[[socket.socket], None]:
    """Hands bytes on, as a tunnel does."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve(connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", port)) as other:
            back = threading.Thread(target=pump, args=(other, connection), daemon=True)
            back.start()
            pump(connection, other)
            back.join()

    return serve


def redirect_to(url: str, status: int) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        with connection:
            while b"\r\n\r\n{}" not in connection.recv(65_536):
                pass
            head = f"HTTP/1.1 {status} x\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())

    return serve


@pytest.mark.parametrize("base", ["{base}", TUNNEL, "http://localhost:{port}", "http://127.1:{port}"])
def test_an_own_url_is_refused(program: Program, base: str) -> None:
    url = base.format(base=program.base, port=program.port)
    status, told = add_target(program, f"{url}/catch/{SECOND}")
    assert status == 422
    assert "url" in str(told["errors"])


@pytest.mark.parametrize("slug", [FIRST, SECOND])
def test_through_a_tunnel_that_is_not_known(program: Program, slug: str) -> None:
    with listening(relay_to(program.port)) as port, forwarding_to(program, f"http://127.0.0.1:{port}/catch/{slug}"):
        attempt = only_attempt(program)
    assert (attempt["failure"], attempt["status"], attempt["error"]) == ("loop", 508, CAME_BACK)


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("slug", [FIRST, SECOND])
def test_through_a_redirect(program: Program, slug: str, status: int) -> None:
    own = f"{program.base}/catch/{slug}"
    with (
        listening(redirect_to(own, status)) as port,
        forwarding_to(program, f"http://127.0.0.1:{port}/", follow_redirects=True),
    ):
        attempt = only_attempt(program)
    assert (attempt["failure"], attempt["status"]) == ("loop", 508)
    assert attempt["error"] == f"{CAME_BACK} Followed redirects: http://127.0.0.1:{port}/ → {own}"

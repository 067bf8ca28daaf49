"""Events as they happen: parsed however they are split, and continued where the connection broke."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import aclosing, closing, suppress
from itertools import islice

import pytest

from hookline.client import AsyncClient, Client, EndpointChange, Gap, NotFoundError, Summary, UnreachableError
from hookline.client.events import EventReader
from hookline.testing import Hookline, Response
from tests.hookline.scripted_server import scripted_server
from tests.hookline.sending import send

STREAM = (
    'retry: 1000\nid: r-0-0\nevent: position\ndata: {"position":"r-0-0"}\n\n'
    ": nothing new\nid: r-3-0\n\n"
    'id: r-4-0\nevent: gap\ndata: {"types":["refused"],"reason":"a\u2028b\x85c"}\n\n'
    "id: r-5-0\nevent: newer\ndata: {}\n\n"
    'id: r-6-0\nevent: endpoint\ndata: {"change":"deleted","slug":"a","url":"","tunnel":null,"name":"A",'
    '"active":true,"new":1}\n\n'
).encode()


@pytest.mark.parametrize("size", [1, 7, len(STREAM)])
def test_a_stream_is_read_however_it_is_split(size: int) -> None:
    reader = EventReader("r-0-0", patience=0)
    pieces = (STREAM[start : start + size] for start in range(0, len(STREAM), size))
    events = [event for piece in pieces for event in reader.feed(piece)]
    assert [(event.id, event.type) for event in events] == [("r-4-0", "gap"), ("r-6-0", "endpoint")]
    assert events[0].data == Gap(types=("refused",), reason="a\u2028b\x85c")
    assert isinstance(events[1].data, EndpointChange)
    assert reader.begin() == {"Last-Event-ID": "r-6-0"}


def test_events_are_given_as_they_happen(hookline: Hookline) -> None:
    client, endpoint = hookline.client, hookline.endpoint()
    with closing(client.events(endpoint.slug, after=client.requests.position())) as events:
        send(f"{endpoint.url}/one")
        first = next(events)
        assert isinstance(first.data, Summary)
        assert (first.type, first.data.path) == ("captured", "/one")
        client.endpoints.update(endpoint.slug, description="new")
        assert next(events).type == "endpoint"
    send(f"{endpoint.url}/two", b"needle")
    send(f"{endpoint.url}/three")
    with closing(client.events(endpoint.slug, q="needle", after=first.id)) as events:
        found = next(events).data
        assert isinstance(found, Summary)
        assert found.path == "/two"


async def test_the_async_client_gives_them_too(hookline: Hookline) -> None:
    endpoint = hookline.endpoint()
    async with AsyncClient(hookline.api_url, hookline.token) as client:
        stream = client.events(endpoint.slug, types=["captured"], after=await client.requests.position())
        send(f"{endpoint.url}/one")
        async with aclosing(stream) as events:
            assert isinstance((await anext(events)).data, Summary)


class FlakyProxy:
    """Passes connections on to a port, and breaks each after so many bytes of the answer."""

    def __init__(self, port: int, limit: int) -> None:
        self._port, self._limit = port, limit
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.connections = 0
        self._other: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        if self._other is not None:
            with suppress(OSError):  # it has ended already
                self._other.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            # the caller may close it first
            with caller, socket.create_connection(("127.0.0.1", self._port)) as other, suppress(OSError):
                self._other = other
                other.sendall(caller.recv(65_536))
                left = self._limit
                while left > 0 and (data := other.recv(left)):
                    caller.sendall(data)
                    left -= len(data)


@pytest.fixture
def proxy(hookline: Hookline) -> Iterator[FlakyProxy]:
    flaky = FlakyProxy(int(hookline.api_url.rpartition(":")[2]), 2_000)
    yield flaky
    flaky.close()


@pytest.mark.slow
def test_a_broken_stream_goes_on_where_it_was(
    hookline: Hookline, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline.client.events.PAUSE_S", 0.0)
    endpoint, after = hookline.endpoint(), hookline.client.requests.position()
    for number in range(30):
        send(f"{endpoint.url}/{number}")
    with Client(proxy.url, hookline.token) as client, closing(client.events(endpoint.slug, after=after)) as events:
        paths = [event.data.path for event in islice(events, 30) if isinstance(event.data, Summary)]
    assert paths == [f"/{number}" for number in range(30)]
    assert proxy.connections > 3


def test_a_stopping_program_and_a_stream_that_ends_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.client.events.PAUSE_S", 0.0)
    stopping = Response(503, json={"title": "Stopping", "type": "urn:hookline:problem:stopping"})
    unknown = Response(404, json={"title": "Not found", "type": "urn:hookline:problem:not-found"})
    responses = [stopping, Response(body=STREAM), stopping, Response(body=STREAM), unknown]
    with scripted_server(responses) as url, Client(url, "x" * 20) as client:
        events = client.events()
        assert [event.type for event in islice(events, 4)] == ["gap", "endpoint"] * 2
        with pytest.raises(NotFoundError, match="Not found"):
            next(events)


async def test_it_gives_up_when_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.client.events.PAUSE_S", 0.01)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url, "x" * 20) as client, pytest.raises(UnreachableError):
            next(client.events(patience=0.05))
        async with AsyncClient(url, "x" * 20) as other:
            with pytest.raises(UnreachableError):
                await anext(other.events(patience=0.05))

"""The client library against a running Hookline."""

from __future__ import annotations

import gzip
import inspect
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hookline.client import (
    ApiError,
    AsyncClient,
    Client,
    NotFoundError,
    ProblemError,
    UnreachableError,
    WaitTimeoutError,
)
from hookline.instance import Instance
from hookline.testing import Hookline, Response
from tests.hookline.scripted_server import scripted_server
from tests.hookline.sending import send


@pytest.fixture
def client(hookline: Hookline) -> Client:
    return hookline.client


def test_an_endpoint_is_created_changed_and_deleted(client: Client) -> None:
    made = client.endpoints.create("Orders", retention_days=3, response={"status": 202, "headers": [("X-A", "1")]})
    try:
        assert (made.name, made.retention_days, made.response.status) == ("Orders", 3, 202)
        assert made.response.headers["x-a"] == "1"
        assert made.created_at.utcoffset() is not None
        changed = client.endpoints.update(made.slug, description="New", response={"status": 500})
        assert (changed.description, changed.response.status, changed.response.headers) == (
            "New",
            500,
            made.response.headers,
        )
        assert client.endpoints.get(made.slug) == changed
        assert made.slug in [endpoint.slug for endpoint in client.endpoints.list()]
    finally:
        client.endpoints.delete(made.slug)
    with pytest.raises(NotFoundError, match="No endpoint has the slug"):
        client.endpoints.get(made.slug)


def test_a_request_is_listed_read_marked_and_deleted(hookline: Hookline, client: Client) -> None:
    endpoint = hookline.endpoint()
    for number in range(3):
        send(f"{endpoint.url}/no-{number}?x=1", b'{"n": %d}' % number, x_id="7")
    newest, *others = client.requests.list(endpoint.slug)
    assert [one.path for one in (newest, *others)] == ["/no-2", "/no-1", "/no-0"]
    assert [one.path for one in client.requests.list(endpoint.slug, q="path:/no-1", count=5)] == ["/no-1"]
    assert len(list(client.requests.list(endpoint.slug, count=2))) == 2
    middle, oldest = others
    between = client.requests.list(endpoint.slug, after=oldest.received_at, before=newest.id)
    assert [one.id for one in between if one.id != oldest.id] == [middle.id]
    request = client.requests.get(newest.id)
    assert (request.json(), request.text, request.headers["X-Id"]) == ({"n": 2}, '{"n": 2}', "7")
    marked = client.requests.mark(newest.id, starred=True, note="twice")
    assert (marked.starred, marked.note) == (True, "twice")
    client.requests.clear(endpoint.slug, keep=["starred"])
    assert [one.id for one in client.requests.list(endpoint.slug)] == [newest.id]
    client.requests.delete(newest.id)
    with pytest.raises(NotFoundError):
        client.requests.get(newest.id)


def test_a_body_is_given_as_sent_and_decoded(hookline: Hookline, client: Client) -> None:
    endpoint = hookline.endpoint()
    packed = gzip.compress(b'{"a": 1}')
    send(endpoint.url, packed, content_encoding="gzip")
    send(endpoint.url, b"no gzip", content_encoding="gzip")
    send(endpoint.url, b"")
    first, second, third = endpoint.requests()
    assert (first.body, first.decoded_body, first.json()) == (packed, b'{"a": 1}', {"a": 1})
    assert (second.body, second.decoded_body, second.text) == (b"no gzip", None, "no gzip")
    assert (third.body, third.decoded_body) == (b"", b"")


@pytest.fixture
def target() -> Iterator[str]:
    """The URL of a server that fails the first request."""
    with scripted_server([Response(500, [("X-B", "c")]), Response(200)]) as url:
        yield url


def test_deliveries_and_replays(hookline: Hookline, client: Client, target: str) -> None:
    other, endpoint = hookline.endpoint(), hookline.endpoint()
    made = client.targets.create(endpoint.slug, target, parallel=2, retry={"retries": 0})
    assert (made.parallel, made.retry.retries) == (2, 0)
    assert client.targets.pause(endpoint.slug, made.id).paused == "user"
    assert client.targets.resume(endpoint.slug, made.id).paused is None
    assert client.targets.update(endpoint.slug, made.id, add_headers=[("X-A", "b")]).add_headers["x-a"] == "b"
    with closing(client.events(endpoint.slug, types=["delivered"], after=client.requests.position())) as events:
        send(f"{endpoint.url}/a")
        delivery = next(event.data for event in events if event.data.state == "failed")
    assert (delivery.endpoint, delivery.target, delivery.status) == (endpoint.slug, made.id, 500)
    (attempt,) = client.deliveries.get(delivery.id).attempts
    assert (attempt.failure, attempt.headers["X-A"], attempt.response_headers["X-B"]) == ("status", "b", "c")
    assert [one.id for one in client.deliveries.list(request=delivery.request)] == [delivery.id]
    assert [one.id for one in client.deliveries.list(endpoint=endpoint.slug, state="failed")] == [delivery.id]
    assert client.deliveries.retry(delivery.id).state in ("queued", "delivered"), "its target may be quick"
    assert client.deliveries.retry_failed(endpoint=other.slug) == 0
    replayed = client.requests.replay(delivery.request, to_endpoint=other.slug, body="again")
    assert (replayed.state, replayed.deliveries[0].status) == ("delivered", 200)
    assert other.wait_for().text == "again"
    replay = client.replays.start(endpoint=endpoint.slug, to_endpoint=other.slug, times=2)
    assert len(other.wait_for(count=3)) == 3
    assert replay.id in [one.id for one in client.replays.list()]
    assert client.replays.get(replay.id).times == 2
    client.targets.delete(endpoint.slug, made.id)
    assert client.endpoints.get(endpoint.slug).targets == ()


def test_an_error_names_what_is_wrong(client: Client) -> None:
    with pytest.raises(ProblemError) as caught:
        client.endpoints.create("")
    error = caught.value
    assert (error.status, error.kind, [one.field for one in error.fields]) == (422, "invalid-fields", ["name"])
    assert str(error) == error.fields[0].message
    with pytest.raises(ProblemError) as caught:
        list(client.requests.list(q="size:>x"))
    assert caught.value.kind == "invalid-query"
    assert caught.value.span is not None


def test_a_status_and_what_was_refused(hookline: Hookline, client: Client) -> None:
    endpoint = hookline.endpoint()
    send(f"{endpoint.url}-typo")
    (refused,) = client.refused(1)
    assert (refused.status, refused.target) == (404, f"/catch/{endpoint.slug}-typo")
    assert client.status().plan == "pro"


def test_a_wait_takes_what_was_stored_since(hookline: Hookline, client: Client) -> None:
    endpoint = hookline.endpoint()
    before = client.requests.position()
    for number in range(3):
        send(f"{endpoint.url}/no-{number}", b"%d" % number)
    first = client.requests.wait(endpoint.slug, after=before)
    second = client.requests.wait(endpoint.slug, after=first.id)
    assert [(one.path, one.body) for one in (first, second)] == [("/no-0", b"0"), ("/no-1", b"1")]
    assert client.requests.wait(q="path:/no-2", after=before).path == "/no-2"
    with pytest.raises(WaitTimeoutError, match=r"within 0\.05 s"):
        client.requests.wait(endpoint.slug, timeout=0.05)
    with pytest.raises(TimeoutError):
        client.requests.wait(endpoint.slug, q="path:/no-9", after=before, timeout=0)


async def test_the_async_client_does_the_same(hookline: Hookline) -> None:
    async with AsyncClient(hookline.api_url, hookline.token) as client:
        made = await client.endpoints.create("Async")
        before = await client.requests.position()
        send(made.url, gzip.compress(b"[1]"), content_encoding="gzip")
        request = await client.requests.wait(made.slug, after=before)
        assert request.json() == [1]
        assert [one.id async for one in client.requests.list(made.slug)] == [request.id]
        assert (await client.requests.get(request.id)).decoded_body == b"[1]"
        assert (await client.requests.mark(request.id, read=True)).read
        assert (await client.status()).plan == "pro"
        await client.endpoints.delete(made.slug)
        with pytest.raises(NotFoundError):
            await client.endpoints.get(made.slug)


GROUPS = ("endpoints", "requests", "deliveries", "replays", "targets", "tunnel")


def test_both_clients_have_the_same_calls() -> None:
    def calls(client: Client | AsyncClient) -> dict[str, list[str]]:
        parts = {"": client, **{name: getattr(client, name) for name in GROUPS}}
        return {
            f"{group}.{name}": list(inspect.signature(getattr(part, name)).parameters)
            for group, part in parts.items()
            for name in dir(part)
            if not name.startswith("_") and callable(getattr(part, name))
        }

    with Client("http://127.0.0.1:1", "token") as client:
        assert calls(client) == calls(AsyncClient("http://127.0.0.1:1", "token"))


def test_the_running_program_is_found_by_its_data_folder(
    hookline_instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client.connect(hookline_instance.data_dir) as client:
        assert client.status().plan == "pro"
    monkeypatch.setenv("HOOKLINE_DATA_DIR", str(hookline_instance.data_dir))
    with Client.connect() as client:
        assert client.status().plan == "pro"
    with pytest.raises(UnreachableError, match="No Hookline runs on the data folder"):
        Client.connect(tmp_path)
    (tmp_path / "runtime.json").mkdir()
    with pytest.raises(UnreachableError, match="cannot be read"):
        Client.connect(tmp_path)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nothing listens on, kept from others."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_who_cannot_be_reached_is_named(hookline: Hookline, closed_port: int) -> None:
    nobody = Client(f"http://127.0.0.1:{closed_port}", "x" * 20)
    with nobody, pytest.raises(UnreachableError, match="cannot be reached"):
        nobody.status()
    with Client(hookline.api_url, "x" * 20) as client, pytest.raises(ApiError, match="Authorization"):
        client.status()
    other = str(hookline.client.status().capture_url)
    with Client(other, "x" * 20) as client, pytest.raises(ProblemError, match="not as Hookline does"):
        client.status()

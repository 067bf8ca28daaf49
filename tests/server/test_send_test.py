"""A test request goes the way its senders go: through the public URL where one is set, and only arriving counts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from app.application import Application
from app.core.errors import HooklineError
from app.core.model import SentTest
from app.core.text import sent_text
from app.server.test_request import HEADER
from app.window_session import services_of
from tests.factories import draft
from tests.server.capture.support import Clock
from tests.support import free_port, until

ANY_PORT = {"port": 0, "api_port": 0}
Answer = Callable[[bytes], Awaitable[bytes]]


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    running = Application(tmp_path, ANY_PORT)
    await running.open()
    await running.listen()
    yield running
    await running.close()


async def sent_on(port: int, request: bytes) -> bytes:
    """The head of what the capture port answers it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return answer


@asynccontextmanager
async def tunnel(answer: Answer) -> AsyncIterator[str]:
    """A public URL: a server of its own that answers with what `answer` makes of the request it got."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))[15:])
        writer.write(await answer(head + await reader.readexactly(length)))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def port_of(application: Application) -> int:
    assert application.addresses.listening is not None
    return application.addresses.listening[1]


def without_body(head: bytes) -> bytes:
    """It says that nothing follows."""
    first, *lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    return b"\r\n".join([first, b"Content-Length: 0", *lines])


def always(data: bytes) -> Answer:
    async def answer(_: bytes) -> bytes:
        return data

    return answer


async def failure(application: Application, base: str, *, active: bool = True) -> str:
    endpoint = await application.store.endpoints.create(draft(active=active))
    application.current_settings.override(base_url=base)
    with pytest.raises(HooklineError) as failed:
        await services_of(application).send_test(endpoint)
    return str(failed.value)


async def test_without_a_public_url_it_goes_to_the_capture_port(application: Application) -> None:
    endpoint = await application.store.endpoints.create(draft(name="Orders"))
    sent = await services_of(application).send_test(endpoint)
    place = f"127.0.0.1:{port_of(application)}"
    assert sent == SentTest(status=200, place=place, public=False)
    assert sent_text(sent, "Orders") == f"Test request for “Orders” sent to {place}: 200."
    (summary,) = await application.store.captures.page(endpoint.id)
    capture = await application.store.captures.get(summary.id)
    assert capture is not None
    assert HEADER in dict(capture.headers)


@pytest.mark.parametrize(("active", "status"), [(True, 200), (False, 503)])
async def test_a_public_url_is_the_way_it_takes(application: Application, active: bool, status: int) -> None:
    came: list[bytes] = []

    async def hand_on(request: bytes) -> bytes:
        came.append(request)
        return without_body(await sent_on(port_of(application), request))

    endpoint = await application.store.endpoints.create(draft(name="Orders", active=active))
    async with tunnel(hand_on) as base:
        application.current_settings.override(base_url=base)
        sent = await services_of(application).send_test(endpoint)
    assert len(came) == 1
    assert sent == SentTest(status=status, place=base, public=True)
    assert sent_text(sent, "Orders") == f"Test request for “Orders” sent through {base}: {status}."


async def test_a_dead_public_url_is_told_with_the_state_of_the_local_port(application: Application) -> None:
    base = f"http://127.0.0.1:{free_port()}"
    message = await failure(application, base)
    assert message.startswith(f"The test request got no response through {base}. Nothing is listening")
    assert message.endswith(f"Hookline itself responds at 127.0.0.1:{port_of(application)}.")
    assert application.refused.total == 0


async def test_tls_is_insisted_on(application: Application) -> None:
    assert "TLS with" in await failure(application, f"https://127.0.0.1:{port_of(application)}")


@pytest.mark.parametrize("status", [200, 502])
async def test_an_answer_that_is_not_ours_is_no_success(
    application: Application, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("app.server.send_test.ARRIVAL_S", 0.1)
    async with tunnel(always(b"HTTP/1.1 %d x\r\nContent-Length: 6\r\n\r\nTunnel" % status)) as base:
        message = await failure(application, base)
    assert message.startswith(f"{base} responded to the test request with {status}, but it did not arrive here.")
    assert "Hookline itself responds" in message


@pytest.mark.parametrize("active", [True, False], ids=["captured", "refused"])
async def test_another_request_of_its_size_is_not_taken_for_it(
    application: Application, monkeypatch: pytest.MonkeyPatch, active: bool
) -> None:
    monkeypatch.setattr("app.server.send_test.ARRIVAL_S", 0.1)

    async def send_another(request: bytes) -> bytes:
        return without_body(
            await sent_on(port_of(application), re.sub(rb"(?i)(X-Hookline-Test: )\w+", rb"\1other", request))
        )

    async with tunnel(send_another) as base:
        assert "but it did not arrive here" in await failure(application, base, active=active)


async def test_an_answer_put_in_place_of_ours_is_told(application: Application) -> None:
    async def spoil(request: bytes) -> bytes:
        await sent_on(port_of(application), request)
        return b"HTTP/1.1 504 x\r\nContent-Length: 0\r\n\r\n"

    async with tunnel(spoil) as base:
        assert "which responded with 504 instead of Hookline's 200" in await failure(application, base)


async def test_a_way_back_that_fails_is_told_apart(application: Application) -> None:
    async def swallow(request: bytes) -> bytes:
        await sent_on(port_of(application), request)
        return b""

    async with tunnel(swallow) as base:
        assert "It did arrive" in await failure(application, base)


async def test_a_slow_response_of_the_endpoint_is_waited_for(application: Application) -> None:
    clock = Clock(asyncio.get_running_loop())
    slow = draft()
    slow = msgspec.structs.replace(slow, response=msgspec.structs.replace(slow.response, delay_ms=30_000))
    endpoint = await application.store.endpoints.create(slow)
    sending = asyncio.create_task(services_of(application).send_test(endpoint), name="send a test")
    await until(lambda: application.store.captures.counts(endpoint.id).total == 1)
    await clock.move_on(20)  # twice what any other response may take
    assert not sending.done()
    await clock.move_on(10)
    assert (await sending).status == 200

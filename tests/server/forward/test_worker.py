"""A worker at the moments that matter: new arrivals while it looks, stops in mid-queue, outcomes that never store."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from app.core.delivery import QueuedDelivery
from app.core.errors import NotAllowedError
from app.db.deliveries.deliveries import Deliveries
from app.server.forward import lazy_sender
from app.server.forward.tls import client_context
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Received, target
from tests.support import until


class Queue:
    """The real queue with something happening after a look at it, or in place of storing an outcome."""

    def __init__(self, stage: Stage) -> None:
        self._real = stage.store.deliveries
        self.after_look: Callable[[], Awaitable[object]] | None = None
        self.broken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def queued(self, *args: Any, **others: Any) -> list[QueuedDelivery]:
        rows = await self._real.queued(*args, **others)
        if self.after_look is not None and not rows:
            happen, self.after_look = self.after_look, None
            await happen()
        return rows

    async def finish(self, *args: Any, **others: Any) -> bool:
        if self.broken:
            self.broken -= 1
            raise ZeroDivisionError
        return await self._real.finish(*args, **others)


@pytest.fixture
def queue(stage: Stage) -> Queue:
    queue = Queue(stage)
    stage.forwarder = stage.new_forwarder(cast(Deliveries, queue))
    return queue


async def test_what_arrives_after_the_last_look_is_not_forgotten(stage: Stage, queue: Queue) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        queue.after_look = lambda: stage.capture(endpoint)
        await stage.capture(endpoint)
        await stage.outcomes(2)
    assert len(place.received) == 2


async def test_what_was_sent_is_never_sent_again_in_one_run(
    stage: Stage, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        queue.broken = 1
        await stage.forwarder.start()
        await stage.capture(endpoint, target="/catch/s/first")
        await stage.outcome(endpoint, target="/catch/s/second")
        await stage.outcome(endpoint, target="/catch/s/third")
        await stage.forwarder.stop()
    assert [received.line.split()[1] for received in place.received] == ["/first", "/second", "/third"]
    assert "ZeroDivisionError" in caplog.text


Refuse = Callable[..., None]


@pytest.fixture
def refuse(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """From now on the role in a team's store does not allow these."""

    async def refused(*_: object, **__: object) -> None:
        raise NotAllowedError("Your role in the team's store may only read.")

    def it(*names: str) -> None:
        for name in names:
            monkeypatch.setattr(stage.store.deliveries, name, refused)

    return it


@pytest.mark.parametrize("parallel", [None, 2])
@pytest.mark.parametrize("refused", [("claim",), ("begin", "finish_all"), ("finish_all",)])
async def test_what_the_role_does_not_allow_is_not_tried_again_and_nothing_is_sent_twice(
    stage: Stage,
    refuse: Refuse,
    monkeypatch: pytest.MonkeyPatch,
    refused: tuple[str, ...],
    parallel: int | None,
) -> None:
    async with target() as place:
        endpoint = await stage.endpoint(place.url, {"parallel": parallel})
        await stage.capture_many(endpoint, 3)
        refuse(*refused)
        await stage.forwarder.start()
        await until(lambda: not stage.forwarder._workers, 5)
        assert len(place.received) == (3 if refused == ("finish_all",) else 0)
        monkeypatch.undo()
        await stage.capture(endpoint, target="/catch/s/3")
        await stage.outcomes(4 - len(place.received))
        await stage.forwarder.stop()
    assert sorted(received.line.split()[1] for received in place.received) == ["/0", "/1", "/2", "/3"]


async def test_what_is_being_sent_when_a_result_is_not_allowed_is_not_sent_again(
    stage: Stage, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = asyncio.Event()

    async def one_hangs(received: Received, writer: asyncio.StreamWriter) -> None:
        if "/1 " in received.line:
            await asyncio.Event().wait()
        await end.wait()
        writer.write(OK)

    async with target(one_hangs) as place:
        endpoint = await stage.endpoint(place.url, {"parallel": 2})
        await stage.capture_many(endpoint, 3)
        await stage.forwarder.start()
        await place.arrival(2)
        refuse("begin", "finish_all")
        end.set()
        await until(lambda: not stage.forwarder._workers, 5)
        monkeypatch.undo()
        await stage.capture(endpoint, target="/catch/s/3")
        await stage.outcomes(2)
        await stage.forwarder.stop()
    assert sorted(received.line.split()[1] for received in place.received) == ["/0", "/1", "/2", "/3"]


async def test_what_was_not_allowed_to_be_stored_is_sent_again_once_it_is_marked_as_interrupted(
    stage: Stage, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a node does that claims the target again when it has its role back."""
    async with target() as place:
        endpoint = await stage.endpoint(place.url)
        refuse("finish_all")
        await stage.forwarder.start()
        await stage.capture(endpoint, target="/catch/s/0")
        await place.arrival()
        await until(lambda: not stage.forwarder._workers, 5)
        monkeypatch.undo()
        await stage.store.deliveries.interrupt(endpoint.targets[0].id)
        await stage.capture(endpoint, target="/catch/s/1")
        await place.arrival(3)
    assert [received.line.split()[1] for received in place.received] == ["/0", "/0", "/1"]


async def test_a_stop_begins_no_further_delivery(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 20.0)

    async def soon(_: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(OK)

    async with target(soon) as place:
        endpoint = await stage.endpoint(place.url)
        for _ in range(10):
            await stage.capture(endpoint)
        await stage.forwarder.start()
        await place.arrival()
        await stage.forwarder.stop()
    assert len(place.received) == 1
    assert len(await stage.queued(endpoint)) == 9


async def test_public_certificates_are_known_without_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    context = await client_context()
    assert context.cert_store_stats()["x509_ca"] > 50
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname

"""Starting and stopping: ports that are taken, requests in hand, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from contextlib import ExitStack, suppress

import pytest

from app.core.errors import HooklineError, PortInUseError
from app.core.model import ResponseSettings
from app.server.capture import CaptureServer, Handler
from app.server.listening import find_holder
from tests.server.capture.support import Rig, in_memory, request
from tests.support import until
from tests.tunnels import listening_at

pytestmark = pytest.mark.smoke


async def test_a_taken_port_is_named_with_its_holder(rig: Rig) -> None:
    host, port = rig.server.address
    other = CaptureServer(Handler(in_memory(rig.directory, rig.sink), rig.refused, rig.settings, listening_at(None)))
    with pytest.raises(PortInUseError) as caught:
        await other.start(host, port)
    assert (caught.value.host, caught.value.port) == (host, port)
    if sys.platform == "linux":
        assert f"(process {os.getpid()})" in str(caught.value)
    await other.stop()
    assert (await rig.post()).status == 200


async def test_an_address_of_another_machine_is_an_error_with_advice(rig: Rig) -> None:
    await rig.server.stop()
    with pytest.raises(HooklineError, match=r"192\.0\.2\.1, port 0: .*--host"):
        await rig.server.start("192.0.2.1", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_holder_of_a_free_port_is_nobody() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        assert find_holder(port) is None  # bound, but not listening
        held.listen()
        assert f"(process {os.getpid()})" in (find_holder(port) or "")


async def test_it_can_be_stopped_twice_and_started_again(rig: Rig) -> None:
    await rig.server.stop()
    await rig.server.stop()
    with pytest.raises(RuntimeError):
        _ = rig.server.address
    await rig.server.start("127.0.0.1", 0)
    assert (await rig.post()).status == 200


async def test_it_listens_on_ipv6(rig: Rig) -> None:
    await rig.server.stop()
    try:
        await rig.server.start("::1", 0)
    except HooklineError:
        pytest.skip("no IPv6 here")
    assert (await rig.post()).status == 200
    assert rig.sink.last.source_address == "::1"


async def test_stopping_with_nothing_in_hand_is_immediate(rig: Rig) -> None:
    senders = [await rig.connect() for _ in range(5)]
    for sender in senders:
        await sender.send(request())
        await sender.response()
    async with asyncio.timeout(20):
        await rig.server.stop(grace_s=1_000)
    for sender in senders:
        assert await sender.rest() == b""


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_being_accepted_is_closed_and_nothing_is_printed(rig: Rig, turns: int) -> None:
    """What a lost connection would print is an unraisable exception, or a warning, which fails the test."""
    with ExitStack() as senders:
        sockets = [senders.enter_context(socket.create_connection(rig.server.address, timeout=5)) for _ in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
        await rig.server.stop(grace_s=1)
        for sender in sockets:
            with suppress(ConnectionError):
                assert await asyncio.to_thread(sender.recv, 1) == b""
    assert not rig.server.connections
    gc.collect()


async def test_what_is_in_hand_is_answered(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    rig.directory.put("slow", response=ResponseSettings(delay_ms=30_000))
    storing, waiting = await rig.connect(), await rig.connect()
    await storing.send(request())
    await waiting.send(request(path="/catch/slow"))
    await until(lambda: rig.sink.writing == 2)
    listening = rig.server._server
    assert listening is not None
    address = rig.server.address
    stopping = asyncio.create_task(rig.server.stop(grace_s=30), name="stop")
    await until(lambda: not listening.sockets)
    with pytest.raises(ConnectionError):
        await asyncio.open_connection(*address)
    rig.sink.hold.set()
    for sender in (storing, waiting):
        answer = await sender.response()
        assert (answer.status, answer.value("Connection")) == (200, "close")
    await asyncio.wait_for(stopping, 20)


async def test_a_body_that_does_not_end_within_the_grace_is_stored_incomplete(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.capture.server._FINAL_GRACE_S", 20.0)
    sender = await rig.connect()
    await sender.send(b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
    await rig.bodies_waited_for()
    stopping = asyncio.create_task(rig.server.stop(grace_s=0.1), name="stop")
    assert (await sender.response()).status == 503
    await sender.close()
    await stopping
    assert (rig.sink.last_body, rig.sink.last.complete) == (b"abc", False)


async def test_a_store_that_hangs_does_not_hold_up_the_stop(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(request())
    await until(lambda: rig.sink.writing)
    await rig.server.stop(grace_s=0.1)
    assert await sender.rest() == b""
    assert not rig.server.connections


async def test_what_is_stored_for_a_sender_that_left_is_waited_for(rig: Rig) -> None:
    rig.sink.hold = asyncio.Event()
    sender = await rig.connect()
    await sender.send(request())
    await until(lambda: rig.sink.writing)
    sender.reset()
    await until(lambda: rig.server.connections[0].transport is None)
    stopping = asyncio.create_task(rig.server.stop(grace_s=30), name="stop")
    await asyncio.sleep(0.05)
    assert not stopping.done()
    rig.sink.hold.set()
    await stopping
    assert rig.sink.captures


async def test_fifty_starts_and_stops_leave_no_task_and_no_socket(rig: Rig) -> None:
    await rig.server.stop()
    tasks, sockets = len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for _ in range(50):
        await rig.server.start("127.0.0.1", 0)
        assert (await rig.post()).status == 200
        await rig.server.stop()
    rig.senders.clear()
    await until(lambda: len(asyncio.all_tasks()) == tasks)
    if sys.platform == "linux":
        await until(lambda: len(os.listdir("/proc/self/fd")) <= sockets)


async def test_a_stop_that_is_cancelled_has_freed_the_port(rig: Rig) -> None:
    address = rig.server.address
    stopping = asyncio.create_task(rig.server.stop(), name="stop")
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)

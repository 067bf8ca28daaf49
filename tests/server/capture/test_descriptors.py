"""Descriptors that are kept back for the capture port: whatever else has all the others, senders get through."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from app.server.api import server as api_server
from app.server.capture import Limits, limits
from app.server.listening import KeptDescriptors, keep_descriptors, raise_file_limit, report_failed_accepts
from tests.server.capture.support import Rig, request

if sys.platform == "win32":
    pytest.skip("Windows has no such limit", allow_module_level=True)
import resource

from tests.support import until

ROOT = Path(__file__).parents[3]
KEPT = 6


@contextmanager
def all_others_taken() -> Iterator[None]:
    """Meanwhile this process has no free descriptor."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/dev/fd"))) + 20, most))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))


@pytest.fixture
async def kept(rig: Rig) -> AsyncIterator[KeptDescriptors]:
    """Those of the started server."""
    kept = KeptDescriptors(KEPT)
    await rig.server.stop()
    await rig.start(descriptors=kept)
    yield kept
    await rig.server.stop()
    kept.close()


async def captured(rig: Rig, sender: socket.socket) -> bool:
    """Whether a request on a new connection is captured; `sender` is a socket that exists already."""
    loop = asyncio.get_running_loop()
    sender.setblocking(False)
    async with asyncio.timeout(20):
        await loop.sock_connect(sender, rig.server.address)
        await loop.sock_sendall(sender, request())
        return (await loop.sock_recv(sender, 65_536)).startswith(b"HTTP/1.1 200 ")


async def test_senders_get_through_while_everything_else_has_all_descriptors(rig: Rig, kept: KeptDescriptors) -> None:
    for _ in range(2):  # also with those that came back from closed connections
        senders = [socket.socket() for _ in range(KEPT)]
        with all_others_taken():
            for sender in senders:
                assert await captured(rig, sender)
        for sender in senders:
            sender.close()
        await until(lambda: not rig.server.connections)
        await asyncio.sleep(0)


async def test_what_cannot_be_accepted_is_told_in_a_sentence_and_accepted_later(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(asyncio.constants, "ACCEPT_RETRY_DELAY", 0.05)
    report_failed_accepts()
    with socket.socket() as sender:
        with all_others_taken():
            capturing = asyncio.create_task(captured(rig, sender))
            await until(lambda: caplog.records)
            assert not capturing.done()
        assert await capturing
    assert not any(record.exc_info for record in caplog.records)
    host, port = rig.server.address
    text = f"A connection to {host}, port {port} cannot be accepted yet: Too many open files."
    assert caplog.messages[0].startswith(text)


async def test_a_connection_too_many_waits_until_another_is_closed(rig: Rig, kept: KeptDescriptors) -> None:
    senders = [await rig.connect() for _ in range(KEPT)]
    for sender in senders:
        await sender.send(request())
        await sender.response()
    late = await rig.connect()
    await late.send(request())
    await senders[0].close()
    assert (await late.response()).status == 200
    assert len(rig.server.connections) == KEPT


async def test_what_was_taken_meanwhile_is_kept_again(rig: Rig, kept: KeptDescriptors) -> None:
    before = len(os.listdir("/dev/fd"))
    senders = [await rig.connect() for _ in range(KEPT)]
    for sender in senders:
        await sender.send(request())
        await sender.response()
    assert len(os.listdir("/dev/fd")) == before + KEPT  # the senders' own
    for sender in senders:
        await sender.close()
    await until(lambda: len(os.listdir("/dev/fd")) == before)
    kept.close()
    assert len(os.listdir("/dev/fd")) == before - KEPT


def test_as_many_are_kept_as_connections_need_but_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, capture, api in ((256, 160, 48), (1_024, 640, 144), (100_000, 640, 656)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert limits.kept_descriptors(Limits().connections) == capture
        assert api_server.kept_descriptors() == api
    monkeypatch.setattr(resource, "getrlimit", lambda _: (128, 128))
    assert keep_descriptors(10) is None


def test_the_limit_on_open_files_is_raised_as_far_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    infinite = resource.RLIM_INFINITY
    for soft, hard, raised in ((256, 1_024, 1_024), (1_024, 100_000, 8_192), (256, infinite, 8_192)):
        told: list[tuple[int, int]] = []
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=(soft, hard): limits)
        monkeypatch.setattr(resource, "setrlimit", lambda _, limits, told=told: told.append(limits))
        raise_file_limit()
        assert told == [(raised, hard)]
    for soft, hard in ((20_000, 20_000), (1_024, 1_024), (infinite, infinite)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=(soft, hard): limits)
        monkeypatch.setattr(resource, "setrlimit", None)
        raise_file_limit()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the size of the table")
def test_a_raised_limit_makes_room_at_once_and_leaves_no_file_open() -> None:
    """Each time that the table has to double while there are threads, a start waits for all processors."""
    count = "import os; print(len(os.listdir('/proc/self/fd')), open('/proc/self/status').read())"
    raised = f"from app.server.listening import raise_file_limit; raise_file_limit(); {count}"
    before, after = (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for code in (f"import app.server.listening; {count}", raised)
    )
    assert before.split()[0] == after.split()[0]
    (size,) = re.findall(r"^FDSize:\s+(\d+)$", after, re.MULTILINE)
    assert int(size) >= min(2_000, int(resource.getrlimit(resource.RLIMIT_NOFILE)[1])) // 2

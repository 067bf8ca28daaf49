"""All that sending needs is there before the loop sends, so that nothing is imported while it turns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SEND = """
import asyncio, sys
import app.application
from app.core.errors import HooklineError
from app.server.forward.lazy_sender import load
assert "httpx" not in sys.modules

async def main():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    await load("app.server.test_request")
    before = set(sys.modules)
    from app.server.test_request import ProbeRequest, send_test_request
    try:
        await send_test_request("http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1], ProbeRequest())
    except HooklineError:
        print(*(set(sys.modules) - before))

asyncio.run(main())
"""


@pytest.mark.slow
def test_the_first_connection_finds_all_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", SEND], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) < 10, done.stdout


ATTEMPT = """
import asyncio, sys
import app.server.forward.lazy_sender
unwanted = {"httpx", "h11", "certifi", "app.server.forward.sender"} & set(sys.modules)
assert not unwanted, unwanted

async def main():
    from app.server.forward.lazy_sender import LazySender, load
    from tests import factories
    from types import SimpleNamespace
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    sender = LazySender(SimpleNamespace(captures=None, account=SimpleNamespace(instance_id="me")), lambda _: None)
    target = factories.target("http://localhost:%d/" % server.sockets[0].getsockname()[1])
    await load("app.server.forward.sender", ())
    before = set(sys.modules)
    await (await sender.get()).attempts(factories.queued(), target)
    assert "httpx" not in sys.modules
    print(*(set(sys.modules) - before))

asyncio.run(main())
"""


def test_an_attempt_imports_nothing_on_the_loop() -> None:
    done = subprocess.run([sys.executable, "-c", ATTEMPT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) < 3, done.stdout

"""Three thousand valid and mutated requests on the real store: whatever is sent, what must hold does."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from app.core.events import Bus
from app.db.sqlite.store import Store
from app.server.capture import CaptureServer, Handler
from app.server.capture.limits import Limits
from app.server.refused import RefusedLog
from benchmarks.fuzz.run import Fuzz
from benchmarks.fuzz.valid_requests import ENDPOINTS
from tests.support import current_settings
from tests.tunnels import listening_at

pytestmark = pytest.mark.long

SEED, REQUESTS = 20261122, 3_000
LIMITS = Limits(body_idle_s=3.0, linger_s=0.5, sweep_s=0.05)
LIMIT_S = 15.0


async def test_no_request_breaks_what_must_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure names the case: `make fuzz ARGS="--seed 20261122 --only CASE"` sends it alone."""
    monkeypatch.setattr("benchmarks.fuzz.run.ALIVE_S", LIMIT_S)  # the machine runs other tests, too
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    bus = Bus()
    store = await Store.open(tmp_path, bus.publish)
    for draft in ENDPOINTS:
        await store.endpoints.create(draft)
    refused = RefusedLog(bus.publish)
    server = CaptureServer(
        Handler(store, refused, current_settings(body_limit=100 * 1024 * 1024), listening_at(None), limits=LIMITS)
    )
    await server.start("127.0.0.1", 0)
    try:
        fuzz = Fuzz(SEED, tmp_path, server.address, limit_s=LIMIT_S)
        found = await fuzz.batch(REQUESTS) + await fuzz.settle(LIMIT_S)
        assert [str(violation) for violation in found] == []
        assert not server.connections or await _closed(server)
    finally:
        await server.stop()
        await store.close()
    assert fuzz.totals.requests >= REQUESTS
    assert fuzz.totals.acknowledged > REQUESTS // 3
    assert refused.total > REQUESTS // 10
    assert not failures
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def _closed(server: CaptureServer) -> bool:
    """Whether every connection ends soon after its sender's did."""
    async with asyncio.timeout(LIMIT_S):
        while server.connections:  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.02)
    return True

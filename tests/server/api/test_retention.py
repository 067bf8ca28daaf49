"""Retention over the local API: whether it waits for the clock, and resuming it."""

from __future__ import annotations

from pathlib import Path

from app.core.clock import DAY_US, now_us
from tests.db.helpers import last_seen
from tests.server.api.conftest import Desk
from tests.support import until

RUNNING = {"state": "running", "reason": None, "resumes_in_seconds": None}


async def test_the_status_says_what_retention_waits_for_and_a_call_resumes_it(desk: Desk, tmp_path: Path) -> None:
    endpoint = await desk.endpoint()
    await desk.capture(endpoint, received_at=now_us() - 45 * DAY_US)
    assert (await desk.client.get("/status")).json()["retention"] == RUNNING
    last_seen(tmp_path, now_us() - 45 * DAY_US)
    desk.store.retention.start()
    await until(lambda: desk.store.retention.problem is not None)
    told = (await desk.client.get("/status")).json()["retention"]
    assert told["state"] == "waiting"
    assert told["reason"].startswith("The clock is 45 days ahead of the last time Hookline ran. ")
    assert "resume deleting: 1 request is past its retention." in told["reason"]
    assert told["resumes_in_seconds"] == 86_400
    assert desk.store.captures.counts(endpoint.id).total == 1
    for _ in range(2):
        response = await desk.client.post("/retention/resume")
        assert (response.status_code, response.json()) == (200, RUNNING)
    await until(lambda: desk.store.captures.counts(endpoint.id).total == 0)
    assert (await desk.client.get("/status")).json()["retention"] == RUNNING

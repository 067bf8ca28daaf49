"""What Prometheus reads: every number is there, and nothing that names an endpoint or a target."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.delivery import FailureKind
from app.core.errors import StorageUnavailableError
from app.core.events import AttemptsMade, Bus, Captured, StorageTrouble
from app.core.model import Refusal
from tests import factories
from tests.server.api.conftest import Desk

ROOT = Path(__file__).parents[3]


async def metrics(desk: Desk) -> dict[str, float]:
    """The values by name and labels."""
    response = await desk.client.get("http://{}:{}/metrics".format(*desk.server.address), headers={"Authorization": ""})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain; version=")
    lines = [line.rpartition(" ") for line in response.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


async def test_all_begin_at_zero_and_the_process_is_there(desk: Desk) -> None:
    told = await metrics(desk)
    assert told['hookline_info{version="1.2.3"}'] == 1
    assert told['hookline_captured_requests_total{status="2xx"}'] == 0
    assert told['hookline_refused_requests_total{status="4xx"}'] == 0
    assert told['hookline_delivery_attempts_total{result="success"}'] == 0
    assert told['hookline_delivery_attempts_total{result="timeout"}'] == 0
    assert told["hookline_commit_requests_count"] == 0
    assert told["hookline_storage_trouble"] == told["hookline_queued_deliveries"] == 0
    assert told["hookline_nodes"] == 1
    if sys.platform == "linux":
        assert told["process_resident_memory_bytes"] > 0
    assert not [name for name in told if not name.startswith(("hookline_", "process_"))]


async def test_what_is_captured_refused_and_sent_is_counted(desk: Desk, bus: Bus) -> None:
    endpoint = await desk.endpoint(name="Secret name", slug="secret-slug", forward_url="http://127.0.0.1:9/secret")
    for status in (200, 204, 500):
        await desk.capture(endpoint, b"12345", response_status=status)
    await asyncio.gather(*(desk.capture(endpoint, b"") for _ in range(3)))  # in one commit
    desk.refused.add(Refusal(at=1, source_address="127.0.0.1", source_port=1, status=413, reason="Too large."))
    bus.publish(AttemptsMade(failures=(FailureKind.CONNECTION, "")))
    told = await metrics(desk)
    assert told['hookline_captured_requests_total{status="2xx"}'] == 5
    assert told['hookline_captured_requests_total{status="5xx"}'] == 1
    assert told["hookline_captured_body_bytes_total"] == 15
    assert told['hookline_refused_requests_total{status="4xx"}'] == 1
    assert told['hookline_delivery_attempts_total{result="success"}'] == 1
    assert told['hookline_delivery_attempts_total{result="connection"}'] == 1
    assert told['hookline_commit_requests_bucket{le="1.0"}'] == 3
    assert told['hookline_commit_requests_bucket{le="4.0"}'] == 4
    assert told['hookline_commit_requests_bucket{le="+Inf"}'] == told["hookline_commit_requests_count"] == 4
    assert told["hookline_commit_requests_sum"] == told["hookline_stored_requests"] == 6
    assert told['hookline_commit_seconds_bucket{le="10.0"}'] == told["hookline_commit_seconds_count"] == 4
    assert 0 < told["hookline_commit_seconds_sum"] < 10
    assert told["hookline_endpoints"] == 1
    assert told["hookline_stored_bytes"] > 0
    assert not [name for name in told if "secret" in name.lower()]


async def test_what_other_nodes_captured_is_theirs_to_count(desk: Desk, bus: Bus) -> None:
    rows = tuple(factories.capture(b"0123456789").summary(seq) for seq in (1, 2, 3))
    bus.publish(Captured(summaries=rows))
    bus.publish(Captured(summaries=rows, own=1))
    told = await metrics(desk)
    assert told['hookline_captured_requests_total{status="2xx"}'] == 1
    assert told["hookline_captured_body_bytes_total"] == 10


async def test_what_cannot_be_read_is_left_out(desk: Desk, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise StorageUnavailableError("The server is gone.")

    monkeypatch.setattr(desk.store.deliveries, "target_counts", fail)
    bus.publish(StorageTrouble(reason="The server is gone."))
    told = await metrics(desk)
    assert told["hookline_storage_trouble"] == 1
    assert "hookline_queued_deliveries" not in told
    assert told["hookline_nodes"] == 1


async def test_who_follows_events_is_counted(desk: Desk) -> None:
    async with desk.client.stream("GET", "/events"):
        assert (await metrics(desk))["hookline_event_readers"] == 1


async def test_each_is_described_by_one_sentence(desk: Desk) -> None:
    response = await desk.client.get("http://{}:{}/metrics".format(*desk.server.address))
    texts = re.findall(r"^# HELP hookline_\S+ (.*)$", response.text, re.MULTILINE)
    assert len(texts) > 10
    assert not [text for text in texts if not text.endswith(".") or "., " in text]


async def test_without_the_library_it_says_what_to_install(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("app.server.api.exposition", raising=False)
    monkeypatch.delitem(sys.modules, "app.server.api.exposition", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    response = await desk.client.get("http://{}:{}/metrics".format(*desk.server.address))
    assert response.status_code == 501
    assert response.text == "Metrics need prometheus-client. Install it: pip install 'hookline[team]'\n"


def test_a_start_does_not_load_the_library() -> None:
    code = "import sys, app.serve; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

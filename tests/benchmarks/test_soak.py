"""The soak itself: what was acknowledged and deleted is held against the store, and growth is told from noise."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from app.core.model import Endpoint
from app.db.sqlite.store import Store
from benchmarks.process_stats import quarters, trend, troubles_in
from benchmarks.soak.__main__ import main
from benchmarks.soak.ledger import Ledger
from tests.factories import capture, draft

pytestmark = pytest.mark.long

A, B, C = (f"01a20236-6000-7049-b00d-00000000000{number}" for number in range(3))


async def fill(folder: Path, *ids: str) -> None:
    """Store requests of these ids."""
    store = await Store.open(folder, lambda event: None)
    endpoint: Endpoint = await store.endpoints.create(draft())
    for capture_id in ids:
        await store.captures.add(capture(b"body", id=capture_id, endpoint_id=endpoint.id), b"body")
    await store.close()


def disagreements(ledger: Ledger, folder: Path, *ids: str) -> list[str]:
    asyncio.run(fill(folder, *ids))
    return list(ledger.disagreements(folder))


def test_what_is_there_as_it_should_be_is_not_told(tmp_path: Path) -> None:
    ledger = Ledger()
    for capture_id in (A, B):
        ledger.acknowledged("x", capture_id, b"body", began=0.0)
    ledger.delete_begins(B)
    ledger.deleted(B)
    assert disagreements(ledger, tmp_path, A) == []


def test_what_is_missing_still_there_or_unknown_is_told(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.acknowledged("x", A, b"body", began=0.0)
    ledger.acknowledged("x", B, b"other", began=0.0)
    ledger.delete_begins(B)
    ledger.deleted(B)
    missing, still, unknown = disagreements(ledger, tmp_path, B, C)
    assert missing == f"{A} at x was acknowledged, never deleted, and is not stored"
    assert still.startswith(B)
    assert still.endswith("deleted at x, and still stored")
    assert unknown.startswith(C)
    assert unknown.endswith("stored as complete, and never acknowledged")


def test_a_body_that_was_not_sent_is_told(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.acknowledged("x", A, b"other", began=0.0)
    (told,) = disagreements(ledger, tmp_path, A)
    assert told.endswith("its body is not the one that was sent")


def test_what_was_sent_while_its_endpoint_was_cleared_may_be_there_or_not(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.clear_begins("x")
    ledger.acknowledged("x", A, None, began=0.0)
    ledger.acknowledged("x", B, None, began=0.0)
    ledger.cleared("x")
    assert disagreements(ledger, tmp_path, A) == []


def test_what_was_acknowledged_before_its_endpoint_was_cleared_has_to_be_gone(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.acknowledged("x", A, None, began=0.0)
    ledger.clear_begins("x")
    assert not ledger.must_be_there(ledger.requests[A])
    assert not ledger.must_be_gone(ledger.requests[A])
    ledger.cleared("x")
    (told,) = disagreements(ledger, tmp_path, A)
    assert told.endswith("deleted at x, and still stored")


@pytest.mark.parametrize(
    ("values", "flat"),
    [
        ([100.0] * 40, True),
        ([100.0 + 3 * (number % 2) for number in range(40)], True),
        ([100.0] * 20 + [100.0 + number for number in range(20)], False),
        ([100.0 - number for number in range(40)], True),
        ([200.0 if number < 10 else 100.0 for number in range(40)], True),
    ],
)
def test_growth_is_told_from_noise(values: list[float], flat: bool) -> None:
    for grown in (
        quarters("memory", values, "MiB", share=0.05, spare=2),
        trend("x", values, "MiB", share=0.05, spare=2),
    ):
        assert grown.accepted is flat
        assert ("flat" if flat else "GROWS") in str(grown)


def test_an_exception_in_what_a_program_prints_is_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "listening on http://127.0.0.1:1\nTraceback (most recent call last):\nValueError: 1\nTask was destroyed\n"
    )
    assert len(troubles_in(log)) == 3
    log.write_text("listening on http://127.0.0.1:1\n")
    assert troubles_in(log) == []


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors of a process are read from /proc")
def test_a_short_run_finds_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.04"]) == 0
    out = capsys.readouterr().out
    assert "nothing is wrong" in out
    assert "too short to judge growth" in out
    assert all(f"{name} " in out for name in ("capture", "delete", "clear", "search", "purge", "change", "mark"))

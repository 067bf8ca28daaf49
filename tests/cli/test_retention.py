"""`hookline retention` while no program runs; `tests/e2e/test_clock.py` has it beside one that does."""

from __future__ import annotations

from pathlib import Path

from app.core.clock import DAY_US, now_us
from tests.cli.conftest import Run
from tests.db.helpers import last_seen, query

DELETING = "Requests are deleted at the end of their endpoint's retention.\n"


def test_it_says_that_it_waits_and_resumes(run: Run, folder: Path) -> None:
    assert run("endpoint", "add", "Orders").code == 0
    assert run("retention", "status").out == DELETING
    last_seen(folder, now_us() - 45 * DAY_US)
    waiting = run("retention", "status")
    assert waiting.code == 0
    assert waiting.out.startswith("Waiting: The clock is 45 days ahead of the last time Hookline ran. ")
    assert run("retention", "status", "--json").json["state"] == "waiting"
    assert run("retention", "resume").out == DELETING
    assert query(folder, "SELECT problem FROM clock") == [(None,)]
    assert run("retention", "status", "--json").json == {
        "state": "running",
        "reason": None,
        "resumes_in_seconds": None,
    }

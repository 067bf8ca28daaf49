"""The program on a machine whose clock is not what its data folder last saw."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.core.clock import DAY_US, now_us
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, last_seen, query
from tests.e2e.program import Program, hookline

pytestmark = pytest.mark.slow

YEAR = 365 * DAY_US


def test_it_waits_says_so_once_and_resumes_when_told(tmp_path: Path) -> None:
    async def make() -> None:
        store = await Store.open(tmp_path, lambda _: None)
        endpoint = await store.endpoints.create(factories.draft())
        await add(store, endpoint.id, received_at=now_us() - 10 * YEAR)
        await store.close()

    def requests() -> int:
        return int(query(tmp_path, "SELECT count(*) FROM capture")[0][0])

    asyncio.run(make())
    last_seen(tmp_path, now_us() - 10 * YEAR)
    with Program(tmp_path) as program:
        waiting = json.loads(hookline(tmp_path, "retention", "status", "--json").stdout)
        assert waiting["state"] == "waiting"
        assert "The clock is 10 years ahead of the last time Hookline ran." in waiting["reason"]
        assert requests() == 1
        assert (
            hookline(tmp_path, "retention", "resume").stdout
            == "Requests are deleted at the end of their endpoint's retention.\n"
        )
        program.wait_until(lambda: requests() == 0)
    (line,) = [line for line in program.errors if "waits" in line]
    assert "10 years ahead of the last time" in line

"""Requests that were stored long ago, and the retention that deletes a part of them at each step."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from app.core.clock import DAY_US
from app.core.model import EndpointDraft
from benchmarks.retention import fill

SLUG = "soak-expiring"
DRAFT = EndpointDraft(name="Expiring", slug=SLUG, retention_days=90)
STEPS = 8
ROWS = 400
"""Of each age."""
LIMIT_S = 30.0


def _age_days(step: int) -> int:
    """Of the requests that the step deletes: 85 days for the first, 15 for the last."""
    return 85 - 10 * step


async def prepare(data: Path) -> None:
    """Store what is to expire, before the program starts."""
    for step in range(STEPS):
        await fill(data, SLUG, ROWS, _age_days(step) * DAY_US)


def retention_of(step: int) -> int:
    """The days after which the step has requests deleted."""
    return _age_days(step) - 5


def held(data: Path) -> int:
    """How many of them are stored."""
    with closing(sqlite3.connect(f"file:{data / 'hookline.db'}?mode=ro", uri=True, timeout=10)) as database:
        query = "SELECT count(*) FROM capture WHERE endpoint_id = (SELECT id FROM endpoint WHERE slug = ?)"
        return int(database.execute(query, (SLUG,)).fetchone()[0])


async def purged(data: Path, step: int) -> str:
    """Wait until the step has deleted what it should; what is wrong with that, or nothing."""
    expected = (STEPS - 1 - step) * ROWS
    end = asyncio.get_running_loop().time() + LIMIT_S
    while (now := await asyncio.to_thread(held, data)) > expected:
        if asyncio.get_running_loop().time() > end:
            return f"{now - expected} requests past their retention are stored {LIMIT_S:.0f} s after it was changed"
        await asyncio.sleep(0.1)
    return "" if now == expected else f"retention deleted {expected - now} requests before their time"
